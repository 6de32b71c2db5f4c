"""How a sub-layer's result joins the stream that runs past it (Vaswani et al. 2017, §3.1)."""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn

from model.anatomy.describe import Scribe, describe
from model.parts.base_module import Dropout, Part
from model.tap import Tap, no_tap

SubLayer = Callable[[Tensor], Tensor]  # (B,T,d_model) → (B,T,d_model)
DescribedSubLayer = Callable[[str], str]  # from the name of what goes in to that of what comes out


class PostNorm(Part):
    """Add & Norm: Norm(x + Dropout(Sublayer(x))).

    Args:    x (B,T,d_model); sublayer: a function of x
    Returns: (B,T,d_model): with layer norm each row has mean 0 and standard deviation 1, then times γ plus β
    Taps:    sum, output (B,T,d_model)
    Source:  Vaswani et al. 2017, §3.1 and §5.4; Ba et al. 2016 for the norm. Differs: none
    """

    def __init__(self, norm: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: SubLayer, tap: Tap = no_tap) -> Tensor:
        total = tap("sum", x + self.dropout(sublayer(x)))
        return tap("output", self.norm(total))


class PreNorm(Part):
    """Norm first: x + Dropout(Sublayer(Norm(x))). The stream itself is never normalised.

    Args:    x (B,T,d_model); sublayer: a function of the normed x
    Returns: (B,T,d_model)
    Taps:    normed, output (B,T,d_model)
    Source:  Xiong et al. 2020, §3.1, Table 1. Differs: none
    """

    def __init__(self, norm: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: SubLayer, tap: Tap = no_tap) -> Tensor:
        normed = tap("normed", self.norm(x))
        return tap("output", x + self.dropout(sublayer(normed)))


class SandwichNorm(Part):
    """Norm before and after: x + Dropout(Norm(Sublayer(Norm(x)))).

    Args:    x (B,T,d_model); sublayer: a function of the normed x
    Returns: (B,T,d_model)
    Taps:    normed, renormed, output (B,T,d_model)
    Source:  Ding et al. 2021 (CogView), §2.4. Differs: none
    """

    def __init__(self, norm: nn.Module, norm_after: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.norm_after = norm_after
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: SubLayer, tap: Tap = no_tap) -> Tensor:
        normed = tap("normed", self.norm(x))
        renormed = tap("renormed", self.norm_after(sublayer(normed)))
        return tap("output", x + self.dropout(renormed))


class DeepNorm(Part):
    """Add & Norm for very deep stacks: Norm(α·x + Dropout(Sublayer(x))), with α above 1 the stream weighs more.

    Args:    x (B,T,d_model); sublayer: a function of x
    Returns: (B,T,d_model)
    Taps:    sum, output (B,T,d_model)
    Source:  Wang et al. 2022 (DeepNet), §4.1 and Figure 2; see `deep_norm_constants`. Differs: none
    """

    def __init__(self, norm: nn.Module, alpha: float, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.alpha = alpha
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: SubLayer, tap: Tap = no_tap) -> Tensor:
        total = tap("sum", self.alpha * x + self.dropout(sublayer(x)))
        return tap("output", self.norm(total))


class DeepNormConstants(NamedTuple):
    """α weighs the stream; β scales the matrices W^V, W^O, W₁ and W₂ when they are drawn."""

    alpha: float
    beta: float


def deep_norm_constants(n_encoder: int, n_decoder: int) -> tuple[DeepNormConstants, DeepNormConstants]:
    """What Wang et al. 2022 (DeepNet), Figure 2, give for encoder and decoder, by their numbers of layers N and M."""
    depth = (n_encoder**4 * n_decoder) ** (1 / 16)
    encoder = DeepNormConstants(0.81 * depth, 0.87 / depth)
    decoder = DeepNormConstants((3 * n_decoder) ** (1 / 4), (12 * n_decoder) ** (-1 / 4))
    return encoder, decoder


def single_stack_constants(n_layers: int) -> DeepNormConstants:
    """What they give for an encoder alone, and for a decoder alone, with this number of layers N."""
    return DeepNormConstants((2 * n_layers) ** (1 / 4), (8 * n_layers) ** (-1 / 4))


@describe.register
def _(module: PostNorm, scribe: Scribe, x: str, sublayer: DescribedSubLayer) -> str:
    total = scribe.made("sum", "add_residual", x, sublayer(x))
    return describe(module.norm, scribe.of_part("norm", "output"), total)


@describe.register
def _(module: PreNorm, scribe: Scribe, x: str, sublayer: DescribedSubLayer) -> str:
    normed = describe(module.norm, scribe.of_part("norm", "normed"), x)
    return scribe.made("output", "add_residual", x, sublayer(normed))


@describe.register
def _(module: SandwichNorm, scribe: Scribe, x: str, sublayer: DescribedSubLayer) -> str:
    normed = describe(module.norm, scribe.of_part("norm", "normed"), x)
    renormed = describe(module.norm_after, scribe.of_part("norm_after", "renormed"), sublayer(normed))
    return scribe.made("output", "add_residual", x, renormed)


@describe.register
def _(module: DeepNorm, scribe: Scribe, x: str, sublayer: DescribedSubLayer) -> str:
    total = scribe.made("sum", "add_weighted_residual", x, sublayer(x), constants=(module.alpha,))
    return describe(module.norm, scribe.of_part("norm", "output"), total)
