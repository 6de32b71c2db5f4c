"""How a sub-layer's result joins the stream that runs past it (Vaswani et al. 2017, §3.1)."""

from torch import Tensor, nn

from model.tap import Tap, no_tap


class PostNorm(nn.Module):
    """Add & Norm: LayerNorm(x + Dropout(Sublayer(x))).

    Args:    x, sublayer_output (B,T,d_model)
    Returns: (B,T,d_model): each row with mean 0 and standard deviation 1, then times γ plus β
    Taps:    sum, output (B,T,d_model)
    Source:  Vaswani et al. 2017, §3.1 and §5.4; Ba et al. 2016 for the norm. Differs: none
    """

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, sublayer_output: Tensor, tap: Tap = no_tap) -> Tensor:
        total = tap("sum", x + self.dropout(sublayer_output))
        return tap("output", self.norm(total))
