"""How a sub-layer's result joins the stream that runs past it (Vaswani et al. 2017, §3.1)."""

from collections.abc import Callable

from torch import Tensor, nn

from model.tap import Tap, no_tap

SubLayer = Callable[[Tensor], Tensor]  # (B,T,d_model) → (B,T,d_model)


class PostNorm(nn.Module):
    """Add & Norm: Norm(x + Dropout(Sublayer(x))).

    Args:    x (B,T,d_model); sublayer: a function of x
    Returns: (B,T,d_model): with layer norm each row has mean 0 and standard deviation 1, then times γ plus β
    Taps:    sum, output (B,T,d_model)
    Source:  Vaswani et al. 2017, §3.1 and §5.4; Ba et al. 2016 for the norm. Differs: none
    """

    def __init__(self, norm: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: SubLayer, tap: Tap = no_tap) -> Tensor:
        total = tap("sum", x + self.dropout(sublayer(x)))
        return tap("output", self.norm(total))


class PreNorm(nn.Module):
    """Norm first: x + Dropout(Sublayer(Norm(x))). The stream itself is never normalised.

    Args:    x (B,T,d_model); sublayer: a function of the normed x
    Returns: (B,T,d_model)
    Taps:    normed, output (B,T,d_model)
    Source:  Xiong et al. 2020, §3.1, Table 1. Differs: none
    """

    def __init__(self, norm: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: SubLayer, tap: Tap = no_tap) -> Tensor:
        normed = tap("normed", self.norm(x))
        return tap("output", x + self.dropout(sublayer(normed)))


class SandwichNorm(nn.Module):
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
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: SubLayer, tap: Tap = no_tap) -> Tensor:
        normed = tap("normed", self.norm(x))
        renormed = tap("renormed", self.norm_after(sublayer(normed)))
        return tap("output", x + self.dropout(renormed))
