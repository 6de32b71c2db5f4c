"""From ids to vectors (Vaswani et al. 2017, §3.4 and §3.5)."""

import math

from torch import Tensor, nn

from model.positions import Positions
from model.tap import Tap, no_tap


class TokenEmbedding(nn.Module):
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
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor, tap: Tap = no_tap, start: int = 0) -> Tensor:
        tokens = tap("tokens", self.matrix(ids))  # (B,T,d_model)
        scaled = tap("scaled", tokens * math.sqrt(tokens.size(-1)))
        return self.dropout(tap("output", self.positions.embed(scaled, start, tap)))
