"""Norms: each row is brought to one size, whatever it was before."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from model.anatomy.describe import Scribe, describe
from model.parts.base_module import Part


class LayerNorm(Part, nn.LayerNorm):
    """γ · (x − μ) / √(σ² + ε) + β: torch's own, in one step, which takes half as long as written out.

    Args:    x (…,d_model)
    Returns: (…,d_model): with γ = 1 and β = 0 each row has mean 0 and standard deviation 1
    Source:  Ba et al. 2016, §3, Eq. 4. Differs: ε, so that a row of equal numbers is no division by 0
    """

    def forward(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Part):
    """γ · x / √(mean(x²) + ε): a row is divided by its root mean square; no mean is taken off, and no β is added.

    Args:    x (…,d_model)
    Returns: (…,d_model): with γ = 1 the mean of the squares of each row is 1
    Source:  Zhang and Sennrich 2019, §4, Eq. 4. Differs: ε, so that a row of zeros is no division by 0
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))  # γ
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        mean_square = x.square().mean(-1, keepdim=True)  # (…,1)
        return x * torch.rsqrt(mean_square + self.eps) * self.weight


@describe.register
def _(module: RMSNorm, scribe: Scribe, x: str) -> str:
    return scribe.made(scribe.writes, "rms_norm", x, weights=("weight",), constants=(module.eps,))


@describe.register
def _(module: LayerNorm, scribe: Scribe, x: str) -> str:
    return scribe.made(scribe.writes, "layer_norm", x, weights=("weight", "bias"), constants=(module.eps,))
