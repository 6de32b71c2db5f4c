"""Why Add & Norm: how large the gradient is at every layer of a deep stack of encoder layers with random weights."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from model.parts.attention import MultiHeadAttention
from model.parts.feed_forward import FeedForward
from model.parts.layers import EncoderLayer
from model.parts.residual import PostNorm, SubLayer
from model.tap import Tap, no_tap

D_MODEL, N_HEADS, D_FF = 32, 4, 128  # narrow, so that the deepest stack runs while one waits
LENGTH = 8  # rows of the input
MAX_DEPTH = 24


class NormOnly(nn.Module):
    """Norm without Add: LayerNorm(Sublayer(x)). What came in does not run past the sub-layer."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, sublayer: SubLayer, tap: Tap = no_tap) -> Tensor:
        return tap("output", self.norm(sublayer(x)))


class AddOnly(nn.Module):
    """Add without Norm: x + Sublayer(x)."""

    def forward(self, x: Tensor, sublayer: SubLayer, tap: Tap = no_tap) -> Tensor:
        return tap("output", x + sublayer(x))


class Neither(nn.Module):
    """Sublayer(x) alone."""

    def forward(self, x: Tensor, sublayer: SubLayer, tap: Tap = no_tap) -> Tensor:
        return tap("output", sublayer(x))


# How a sub-layer's result may be joined to what came in, and what makes one such part of a layer.
JOINTS: dict[str, Callable[[], nn.Module]] = {
    "Add & Norm": lambda: PostNorm(nn.LayerNorm(D_MODEL)),
    "Norm alone": lambda: NormOnly(D_MODEL),
    "Add alone": AddOnly,
    "neither": Neither,
}


@functools.lru_cache(maxsize=8)
def deep_stack(joint: str, seed: int) -> Sequence[EncoderLayer]:
    """MAX_DEPTH layers, the same random weights for every joint (Glorot and Bengio 2010, uniform; biases 0).

    Raises: KeyError
    """
    random = torch.Generator().manual_seed(seed)
    layers = []
    for _ in range(MAX_DEPTH):
        attention, feed_forward = MultiHeadAttention(D_MODEL, N_HEADS), FeedForward(D_MODEL, D_FF)
        layer = EncoderLayer(attention, JOINTS[joint](), feed_forward, JOINTS[joint]())
        for name, parameter in layer.named_parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter, generator=random)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)
        # Where rows only grow, single precision would be off by a tenth at the bottom of the stack.
        layers.append(layer.double().requires_grad_(False))
    return tuple(layers)


@dataclass(frozen=True)
class DeepRun:
    """What comes of one input in a stack of N layers.

    gradients: the length of the loss's gradient with respect to the input of layer 1 … N and to the output (N+1),
               divided by the last: a stack that passes on everything has 1 throughout
    alike:     the mean cosine between two rows of the same N+1; 1 if all rows point the same way
    """

    gradients: tuple[float, ...]
    alike: tuple[float, ...]


@functools.lru_cache(maxsize=512)
def deep_run(joint: str, depth: int, seed: int = 0) -> DeepRun:
    """Random rows through the first `depth` layers of a stack, and the gradient back down; the loss is their product
    with other random rows at the top.

    Args: joint: one of JOINTS; depth: from 1 to MAX_DEPTH
    """
    x, goal = torch.randn(2, 1, LENGTH, D_MODEL, generator=torch.Generator().manual_seed(seed)).double()
    mask = torch.ones(1, 1, 1, LENGTH, dtype=torch.bool)  # all positions see all positions
    rows = [x.requires_grad_()]
    for layer in deep_stack(joint, seed)[:depth]:
        rows.append(layer(rows[-1], mask))
    loss = (rows[-1] * goal).sum()
    sizes = [float(gradient.norm()) for gradient in torch.autograd.grad(loss, rows)]
    return DeepRun(tuple(size / sizes[-1] for size in sizes), tuple(_alike(r.detach()[0]) for r in rows))


def _alike(rows: Tensor) -> float:
    """The mean cosine between two different rows (T,D)."""
    units = nn.functional.normalize(rows, dim=-1)
    count = len(rows)
    return float(((units @ units.T).sum() - count) / (count * (count - 1)))
