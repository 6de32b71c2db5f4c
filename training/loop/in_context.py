"""Prompts of in-context regression, and what else can guess their last y: ridge, least squares, neighbours, zero."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Regression:
    """How a prompt is drawn: β ~ N(0, I/d), x ~ N(0, I), y = xᵀβ + ε with ε ~ N(0, σ²).

    d: numbers in each x; n_pairs: pairs in a prompt; sigma: σ
    x_size, beta_size: how many times as long every x and β is drawn: 1 in training
    Source: Garg et al. 2022, §3, with noise as in §4. Differs: β is drawn shorter by √d, so that xᵀβ has variance 1
    """

    d: int = 5
    n_pairs: int = 41
    sigma: float = 0.5
    x_size: float = 1.0
    beta_size: float = 1.0

    def rules(self, n: int, generator: torch.Generator) -> Tensor:
        """Returns: β (n,d), those of the prompts that the same generator draws from its start"""
        return self.beta_size * torch.randn(n, self.d, generator=generator) / self.d**0.5

    def prompts(self, n: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Returns: x (n,N,d), y (n,N)"""
        beta = self.rules(n, generator)[..., None]
        x = self.x_size * torch.randn(n, self.n_pairs, self.d, generator=generator)
        noise = torch.randn(n, self.n_pairs, generator=generator)
        return {"x": x, "y": (x @ beta)[..., 0] + self.sigma * noise}

    def ridge(self, x: Array, y: Array, asked: Array) -> Array:
        """What Bayes' rule expects, given how prompts are drawn: ridge regression with λ = σ²d, β being of size 1."""
        return _solve(x, y, asked, self.penalty)

    @property
    def penalty(self) -> float:
        """λ: the variance of the noise over that of a number of β."""
        return self.sigma**2 * self.d / self.beta_size**2


def _solve(x: Array, y: Array, asked: Array, penalty: float) -> Array:
    """askedᵀ(XᵀX + λI)⁻¹Xᵀy for x (B,n,d), y (B,n), asked (B,d); without a penalty the shortest β that fits."""
    squares = x.mT @ x + penalty * np.eye(x.shape[-1])
    inverse = np.linalg.solve(squares, x.mT) if penalty else np.linalg.pinv(x)
    return (asked[:, None] @ (inverse @ y[..., None]))[:, 0, 0]


def least_squares(x: Array, y: Array, asked: Array) -> Array:
    """The β of least squared error; the shortest of them where there are fewer pairs than numbers in x."""
    return _solve(x, y, asked, 0.0)


def nearest_neighbours(x: Array, y: Array, asked: Array, n: int = 3) -> Array:
    """The mean y of the n pairs whose x is nearest."""
    if x.shape[1] == 0:
        return np.zeros(len(asked))
    nearest = np.argsort(np.linalg.norm(x - asked[:, None], axis=-1), axis=1)[:, :n]
    return np.take_along_axis(y, nearest, axis=1).mean(1)


def zero(x: Array, y: Array, asked: Array) -> Array:
    """0, whatever the pairs are: what one expects without any."""
    return np.zeros(len(asked))
