"""Where a norm stands, in a deep stack with random weights: the gradient of each layer, and what one step does."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from experiments.blocks.deep_stack import D_FF, D_MODEL, LENGTH, MAX_DEPTH, N_HEADS
from model.build import PLACES
from model.kept import kept
from model.parts.attention import MultiHeadAttention
from model.parts.feed_forward import FeedForward
from model.parts.layers import EncoderLayer
from model.parts.residual import DeepNormConstants


def encoder_constants(depth: int) -> DeepNormConstants:
    """DeepNorm's α and β for a stack without a decoder (Wang et al. 2022, Figure 2)."""
    return DeepNormConstants((2 * depth) ** (1 / 4), (8 * depth) ** (-1 / 4))


class Stack(nn.Module):
    """Encoder layers with their norms at one place; where layers do not end in a norm, a last one follows.

    Args: place: a name in `model.build.PLACES`; the weights are the same for every place (Glorot and Bengio 2010,
          uniform; biases 0), but for DeepNorm's factor
    """

    def __init__(self, place: str, depth: int, seed: int) -> None:
        super().__init__()
        made, (alpha, beta) = PLACES[place], encoder_constants(depth)
        random = torch.Generator().manual_seed(seed)
        self.layers = nn.ModuleList()
        for _ in range(depth):
            one, two = (made.residual(lambda: nn.LayerNorm(D_MODEL), alpha, 0.0) for _ in range(2))
            layer = EncoderLayer(MultiHeadAttention(D_MODEL, N_HEADS), one, FeedForward(D_MODEL, D_FF), two)
            for name, parameter in layer.named_parameters():
                if parameter.dim() > 1:
                    nn.init.xavier_uniform_(parameter, generator=random)
                    is_scaled = made.is_deep and name.split(".")[-2] in ("w_v", "w_o", "w_1", "w_2")
                    parameter.data *= beta if is_scaled else 1
                elif name.endswith("bias"):
                    nn.init.zeros_(parameter)
            self.layers.append(layer)
        self.norm = nn.Identity() if made.ends_in_norm else nn.LayerNorm(D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        return self.outputs(x)[-1]

    def outputs(self, x: Tensor) -> list[Tensor]:
        """What comes out of each layer, and at last of the stack."""
        mask, rows = torch.ones(1, 1, 1, x.size(1), dtype=torch.bool), []
        for layer in self.layers:
            x = layer(x, mask)
            rows.append(x)
        return [*rows, torch.as_tensor(self.norm(x))]

    def matrices(self) -> list[list[nn.Parameter]]:
        """The matrices of each layer."""
        return [[p for p in layer.parameters() if p.dim() > 1] for layer in self.layers]


@dataclass(frozen=True)
class PlaceRun:
    """What comes of a stack of N layers before any training.

    gradients: for each layer (N), the length of the loss's gradient with respect to its matrices
    moved:     how far one step of plain gradient descent moves the output, as a share of its length
    swayed:    the same for what comes out of each layer (N)
    """

    gradients: tuple[float, ...]
    moved: float
    swayed: tuple[float, ...]


@kept
def place_run(place: str, depth: int, step: float, seed: int = 0) -> PlaceRun:
    """Random rows through a stack; the loss is the product of its output with other random rows.

    Args: place: a name in `model.build.PLACES`; depth: from 1 to MAX_DEPTH; step: the learning rate
    """
    if not 1 <= depth <= MAX_DEPTH:
        raise ValueError(f"depth={depth} is not between 1 and {MAX_DEPTH}")
    x, goal = torch.randn(2, 1, LENGTH, D_MODEL, generator=torch.Generator().manual_seed(seed)).double()
    stack = Stack(place, depth, seed).double()
    layers, outputs = stack.matrices(), stack.outputs(x)
    flat = [matrix for matrices in layers for matrix in matrices]
    gradients = torch.autograd.grad((outputs[-1] * goal).sum(), flat)
    size = len(layers[0])
    lengths = [torch.stack([g.norm() for g in gradients[n : n + size]]).norm() for n in range(0, len(flat), size)]
    with torch.no_grad():
        for matrix, gradient in zip(flat, gradients, strict=True):
            matrix.sub_(step * gradient)
        pairs = zip(outputs, stack.outputs(x), strict=True)
        *swayed, moved = (float((later - before).norm() / before.norm()) for before, later in pairs)
    return PlaceRun(tuple(map(float, lengths)), moved, tuple(swayed))
