"""The position-wise feed-forward network (Vaswani et al. 2017, §3.3)."""

from torch import Tensor, nn

from model.anatomy.describe import Scribe, describe
from model.parts.base_module import Part
from model.parts.fp16_matmul import Linear
from model.tap import Tap, no_tap


class FeedForward(Part):
    """ReLU(xW₁ + b₁)W₂ + b₂, for each position by itself; another activation may stand in for ReLU.

    Args:    x (B,T,d_model)
    Returns: (B,T,d_model)
    Taps:    pre_activation, hidden (B,T,d_ff); output (B,T,d_model)
    Source:  Vaswani et al. 2017, §3.3, Eq. 2. Differs: none
    """

    def __init__(self, d_model: int, d_ff: int, activation: nn.Module | None = None) -> None:
        super().__init__()
        self.w_1 = Linear(d_model, d_ff)
        self.activation = activation or nn.ReLU()
        self.w_2 = Linear(d_ff, d_model)

    def forward(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        pre_activation = tap("pre_activation", self.w_1(x))  # (B,T,d_ff)
        hidden = tap("hidden", self.activation(pre_activation))
        return tap("output", self.w_2(hidden))  # (B,T,d_model)


class GatedFeedForward(Part):
    """(Swish(xW₁) ⊙ xV)W₂, for each position by itself: SwiGLU. With GELU in place of Swish it is GEGLU.

    Args:    x (B,T,d_model)
    Returns: (B,T,d_model)
    Taps:    pre_activation, gate, value, hidden (B,T,d_ff); output (B,T,d_model)
    Source:  Shazeer 2020, Eq. 6. Differs: none
    """

    def __init__(self, d_model: int, d_ff: int, activation: nn.Module | None = None) -> None:
        super().__init__()
        self.w_1 = Linear(d_model, d_ff, bias=False)
        self.v = Linear(d_model, d_ff, bias=False)
        self.activation = activation or nn.SiLU()
        self.w_2 = Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        pre_activation = tap("pre_activation", self.w_1(x))  # (B,T,d_ff)
        gate = tap("gate", self.activation(pre_activation))
        value = tap("value", self.v(x))
        hidden = tap("hidden", gate * value)
        return tap("output", self.w_2(hidden))  # (B,T,d_model)


@describe.register
def _(module: FeedForward, scribe: Scribe, x: str) -> str:
    units = scribe.tokens, "d_ff"
    before = scribe.made("pre_activation", "linear", x, weights=("w_1.weight", "w_1.bias"), axes=units)
    hidden = describe(module.activation, scribe.of_part("activation", "hidden"), before)
    scribe.units[hidden] = module.w_1.out_features
    return scribe.made("output", "linear", hidden, weights=("w_2.weight", "w_2.bias"))


@describe.register
def _(module: GatedFeedForward, scribe: Scribe, x: str) -> str:
    units = scribe.tokens, "d_ff"
    before = scribe.made("pre_activation", "linear", x, weights=("w_1.weight",), axes=units)
    gate = describe(module.activation, scribe.of_part("activation", "gate"), before)
    value = scribe.made("value", "linear", x, weights=("v.weight",), axes=units)
    hidden = scribe.made("hidden", "multiply", gate, value, axes=units)
    scribe.units[hidden] = module.w_1.out_features
    return scribe.made("output", "linear", hidden, weights=("w_2.weight",))


# torch's activations


@describe.register
def _(module: nn.ReLU, scribe: Scribe, x: str) -> str:
    return scribe.made(scribe.writes, "relu", x, axes=scribe.axes(x))


@describe.register
def _(module: nn.GELU, scribe: Scribe, x: str) -> str:
    operation = "gelu_tanh" if module.approximate == "tanh" else "gelu"
    return scribe.made(scribe.writes, operation, x, axes=scribe.axes(x))


@describe.register
def _(module: nn.SiLU, scribe: Scribe, x: str) -> str:
    return scribe.made(scribe.writes, "silu", x, axes=scribe.axes(x))
