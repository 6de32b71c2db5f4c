"""From ids to vectors (Vaswani et al. 2017, §3.4 and §3.5)."""

import math

from torch import Tensor, nn

from model.anatomy.describe import Scribe, describe
from model.parts.base_module import Dropout, Part
from model.parts.positions import Positions
from model.tap import Tap, no_tap


class TokenEmbedding(Part):
    """Row ids[b, t] of the embedding matrix, times √d_model, plus whatever the position scheme adds.

    Args:    ids (B,T) integer, the first of them at position `start`
    Returns: (B,T,d_model)
    Taps:    tokens, scaled (B,T,d_model); those of positions; output (B,T,d_model)
    Source:  Vaswani et al. 2017, §3.4, §3.5 and §5.4 (dropout). Differs: none
    """

    def __init__(self, matrix: nn.Embedding, positions: Positions, dropout: float) -> None:
        super().__init__()
        self.matrix = matrix
        self.positions = positions
        self.dropout = Dropout(dropout)

    def forward(self, ids: Tensor, tap: Tap = no_tap, start: int = 0) -> Tensor:
        tokens = tap("tokens", self.matrix(ids))  # (B,T,d_model)
        scaled = tap("scaled", tokens * math.sqrt(tokens.size(-1)))
        return self.dropout(tap("output", self.positions.embed(scaled, start, tap)))


class UnscaledEmbedding(Part):
    """Row ids[b, t] of the embedding matrix, plus whatever the position scheme adds.

    Args:    ids (B,T) integer, the first of them at position `start`
    Returns: (B,T,d_model)
    Taps:    tokens (B,T,d_model); those of positions; output (B,T,d_model)
    Source:  Radford et al. 2018 (GPT), §3.1, Eq. 2, the line of h₀. Differs: none
    """

    def __init__(self, matrix: nn.Embedding, positions: Positions, dropout: float) -> None:
        super().__init__()
        self.matrix = matrix
        self.positions = positions
        self.dropout = Dropout(dropout)

    def forward(self, ids: Tensor, tap: Tap = no_tap, start: int = 0) -> Tensor:
        tokens = tap("tokens", self.matrix(ids))  # (B,T,d_model)
        return self.dropout(tap("output", self.positions.embed(tokens, start, tap)))


class SegmentEmbedding(Part):
    """Rows of three tables, added: one for the token, one for the text it stands in, one for its position; then a norm.

    Args:    ids (B,S) integer; segment_ids (B,S): 0 in the first text, 1 in the second
    Returns: (B,S,d_model)
    Taps:    tokens, segments, with_segments (B,S,d_model); those of positions; sum, output (B,S,d_model)
    Source:  Devlin et al. 2018 (BERT), §3, Figure 2; the norm is that of their published code. Differs: none
    """

    def __init__(
        self, matrix: nn.Embedding, segments: nn.Embedding, positions: Positions, norm: nn.Module, dropout: float
    ) -> None:
        super().__init__()
        self.matrix = matrix
        self.segments = segments
        self.positions = positions
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, ids: Tensor, segment_ids: Tensor, tap: Tap = no_tap) -> Tensor:
        tokens = tap("tokens", self.matrix(ids))  # (B,S,d_model)
        segments = tap("segments", self.segments(segment_ids))
        with_segments = tap("with_segments", tokens + segments)
        total = tap("sum", self.positions.embed(with_segments, 0, tap))
        return self.dropout(tap("output", self.norm(total)))


@describe.register
def _(module: TokenEmbedding, scribe: Scribe) -> str:
    tokens = scribe.made("tokens", "look_up", weights=("matrix.weight",))
    scaled = scribe.made("scaled", "times_sqrt_d_model", tokens)
    return describe_sum(module.positions, scribe, "output", "add_positions", scaled)


@describe.register
def _(module: UnscaledEmbedding, scribe: Scribe) -> str:
    tokens = scribe.made("tokens", "look_up", weights=("matrix.weight",))
    return describe_sum(module.positions, scribe, "output", "add_embeddings", tokens)


@describe.register
def _(module: SegmentEmbedding, scribe: Scribe) -> str:
    tokens = scribe.made("tokens", "look_up", weights=("matrix.weight",))
    segments = scribe.made("segments", "look_up", weights=("segments.weight",))
    both = scribe.made("with_segments", "add_embeddings", tokens, segments)
    total = describe_sum(module.positions, scribe, "sum", "add_embeddings", both)
    return describe(module.norm, scribe.of_part("norm", "output"), total)


def describe_sum(positions: Positions, scribe: Scribe, writes: str, operation: str, x: str) -> str:
    """Embeddings x with what the position scheme adds to them, which may be nothing."""
    added = describe(positions, scribe.of_part("positions", "positions"), x)
    return scribe.made(writes, operation, x, added) if added != x else scribe.made(writes, "copy", x)
