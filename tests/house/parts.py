"""Parts that the app does not ship, each with its description and its rules of Check: nothing else knows of them."""

import math

import torch
from torch import Tensor, nn

from explain.core import Cell, WorkedStep, subscript, tex
from model.anatomy.describe import Scribe, describe
from model.config import ModelConfig
from model.parts.attention import MultiHeadAttention, describe_joined, describe_projections
from model.parts.base_module import Part
from model.parts.fp16_matmul import Linear
from model.parts.positions import Positions
from model.tap import Tap, no_tap

N_EXPERTS = 2


class SmallScoreAttention(MultiHeadAttention):
    """Attention whose products are divided by d_k, not by its root.

    Taps: those of MultiHeadAttention
    """

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, tap: Tap) -> Tensor:
        scaled = tap("scaled", tap("products", q @ k.transpose(-2, -1)) / self.d_k)
        scores = tap("scores", scaled if mask is None else torch.where(mask, scaled, -math.inf))
        return tap("heads", tap("weights", scores.softmax(-1)) @ v)


@describe.register
def _(module: SmallScoreAttention, scribe: Scribe, x: str, memory: str, mask: str = "") -> str:
    q, k, v = describe_projections(module, scribe, x, memory)
    grid = ("head", scribe.tokens, scribe.axes(memory)[0])
    products = scribe.made("products", "dot", q, k, axes=grid)
    scaled = scribe.made("scaled", "divide_by_d_k", products, axes=grid, part="scale", constants=(float(module.d_k),))
    scores = scribe.made("scores", "mask", scaled, axes=grid)
    weights = scribe.made("weights", "softmax", scores, axes=grid)
    scribe.attends(x, memory, mask, module.n_heads, module.d_k)
    return describe_joined(scribe, scribe.made("heads", "weighted_sum", weights, v, axes=(*grid[:2], "d_k")))


class SquaredReLU(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.relu().square()


@describe.register
def _(module: SquaredReLU, scribe: Scribe, x: str) -> str:
    return scribe.made(scribe.writes, "squared_relu", x, axes=scribe.axes(x))


class TwoExperts(Part):
    """Two feed-forward networks side by side; a router shares each row out among them (Jacobs et al. 1991).

    Taps: router, shares (B,T,E); pre_activation, activated, hidden (B,T,E·d_ff); output (B,T,d_model)
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.router, self.activation = Linear(d_model, N_EXPERTS), SquaredReLU()
        self.w_1, self.w_2 = Linear(d_model, N_EXPERTS * d_ff), Linear(N_EXPERTS * d_ff, d_model)

    def forward(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        shares = tap("shares", tap("router", self.router(x)).softmax(-1))
        activated = tap("activated", self.activation(tap("pre_activation", self.w_1(x))))
        of_experts = activated.unflatten(-1, (N_EXPERTS, -1))
        return tap("output", self.w_2(tap("hidden", (shares[..., None] * of_experts).flatten(-2))))


@describe.register
def _(module: TwoExperts, scribe: Scribe, x: str) -> str:
    experts, units = (scribe.tokens, "experts"), (scribe.tokens, "d_ff")
    router = scribe.made("router", "linear", x, weights=("router.weight", "router.bias"), axes=experts)
    shares = scribe.made("shares", "share_out", router, axes=experts)
    before = scribe.made("pre_activation", "linear", x, weights=("w_1.weight", "w_1.bias"), axes=units)
    activated = describe(module.activation, scribe.of_part("activation", "activated"), before)
    hidden = scribe.made("hidden", "weigh_expert", activated, shares, axes=units)
    scribe.units[hidden] = module.w_1.out_features
    return scribe.made("output", "linear", hidden, weights=("w_2.weight", "w_2.bias"))


def _step(cell: Cell, snippet: str) -> WorkedStep:
    return WorkedStep("A toy.", rf"\ldots = {tex(cell.value)}", cell.value, snippet, cell.made.reads)


def _divided(cell: Cell) -> WorkedStep:
    return _step(cell, f't["{cell.made.reads[0]}"]{subscript(cell.index)} / {cell.made.constants[0]}')


def _weighed(cell: Cell) -> WorkedStep:
    (row, unit), (activated, shares) = cell.index, cell.made.reads
    expert = unit * N_EXPERTS // cell.numbers[activated].shape[-1]
    return _step(cell, f't["{activated}"]{subscript(cell.index)} * t["{shares}"]{subscript((row, expert))}')


def _share(cell: Cell) -> WorkedStep:
    (row, expert), (router,) = cell.index, cell.made.reads
    return _step(cell, f'e = np.exp(t["{router}"][{row}])\ne[{expert}] / e.sum()')


def _squared(cell: Cell) -> WorkedStep:
    return _step(cell, f'max(0, t["{cell.made.reads[0]}"]{subscript(cell.index)}) ** 2')


def small_scores(config: ModelConfig, positions: Positions, causal: bool = False) -> SmallScoreAttention:
    return SmallScoreAttention(config.d_model, config.n_heads, positions)


def two_experts(config: ModelConfig) -> TwoExperts:
    return TwoExperts(config.d_model, config.d_ff)


RULES = {"divide_by_d_k": _divided, "weigh_expert": _weighed, "share_out": _share, "squared_relu": _squared}
ATTENTION, FEED_FORWARD = "small_scores", "two_experts"
