"""A decoder that reads numbers in place of tokens, and learns from the examples before it (Garg et al. 2022)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from model.anatomy.describe import Scribe, describe
from model.parts.embedding import describe_sum
from model.parts.masks import causal_mask
from model.parts.positions import Positions
from model.parts.stacks import Encoder
from model.tap import Tap, no_tap, under


@dataclass(frozen=True)
class InContextConfig:
    """Sizes of a model of in-context regression.

    d_in: numbers in each x; n_pairs: most pairs (x, y) in a prompt, the last of which may lack its y
    """

    d_in: int = 5
    n_pairs: int = 41
    d_model: int = 64
    n_heads: int = 4
    n_layers: int = 4
    d_ff: int = 256


class InContext(nn.Module):
    """x₁, y₁, x₂, y₂ … in; for each x a guess of its y out, made from the pairs before it.

    Args:    x (B,N,d_in); y (B,N): the last one is not read
    Returns: (B,N)
    Taps:    rows (B,2N,d_in); read_in (B,2N,d_model); those of positions; embedded (B,2N,d_model); decoder.*;
             guesses (B,N)
    Source:  Garg et al. 2022, §2 and §A.1. Differs: none but the size
    """

    def __init__(self, d_in: int, positions: Positions, decoder: Encoder, d_model: int) -> None:
        super().__init__()
        self.read_in = nn.Linear(d_in, d_model)
        self.positions = positions
        self.decoder = decoder
        self.read_out = nn.Linear(d_model, 1)

    def forward(self, x: Tensor, y: Tensor, tap: Tap = no_tap) -> Tensor:
        y_as_x = nn.functional.pad(y[..., None], (0, x.size(-1) - 1))  # y in the first place, then zeros
        rows = tap("rows", torch.stack([x, y_as_x], dim=2).flatten(1, 2))  # (B,2N,d_in): x₁, y₁, x₂, y₂ …
        rows = tap("embedded", self.positions.embed(tap("read_in", self.read_in(rows)), 0, tap))
        rows = self.decoder(rows, causal_mask(rows.size(1), rows.device), tap=under("decoder", tap))
        return tap("guesses", self.read_out(rows[:, 0::2])[..., 0])


@describe.register
def _(module: InContext, scribe: Scribe) -> str:
    decoder = scribe.of_stack("decoder", "tgt")
    rows = scribe.made("rows", "given", axes=("tgt", "d_in"))
    x = scribe.made("read_in", "linear", rows, weights=("read_in.weight", "read_in.bias"))
    x = describe_sum(module.positions, scribe, "embedded", "add_embeddings", x)
    return describe(module.decoder, decoder, x, decoder.made("mask", "causal_mask", axes=("one", "tgt", "tgt")))
