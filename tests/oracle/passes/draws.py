"""What a seed draws: torch's random numbers, which nobody can compute on paper, over the oracle's own probabilities."""

from collections.abc import Callable

import numpy as np
import torch

from tests.oracle.passes.decode import LONGEST, Ids
from tests.oracle.passes.forward import EOS


def sampled(shares: Callable[[Ids], np.ndarray], seed: int, prefix: Ids = (), most: int = LONGEST) -> Ids:
    """A text drawn piece by piece. shares: of every entry (V), after what is written so far; most: pieces in all"""
    generator, ids = torch.Generator().manual_seed(seed), prefix
    while ids[-1:] != (EOS,) and len(ids) < most:
        ids = (*ids, int(torch.multinomial(torch.from_numpy(shares(ids)).float(), 1, generator=generator)))
    return ids


class Dice:
    """Throws again and again from a seed, each time with other chances (n)."""

    def __init__(self, seed: int) -> None:
        self.random = torch.Generator().manual_seed(seed)

    def throw(self, chances: np.ndarray) -> int:
        return int(torch.multinomial(torch.from_numpy(chances)[None].float(), 1, generator=self.random))


class Dropout:
    """Sets each number of what it is called with to 0 with a chance of `rate`; the others are divided by 1 − rate."""

    def __init__(self, seed: int, rate: float) -> None:
        self.random, self.rate = torch.Generator().manual_seed(seed), rate

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        kept = torch.empty(1, *rows.shape).bernoulli_(1 - self.rate, generator=self.random)[0].numpy()
        return rows * kept / (1 - self.rate)


def regression(sigma: float, x_size: float, beta_size: float, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """512 tasks of 41 pairs with five numbers in each x: x (512,41,5), y (512,41) = xᵀβ + ε, one β a task."""
    return tasks(512, sigma, x_size, beta_size, draw)[:2]


def tasks(
    n: int, sigma: float, x_size: float, beta_size: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x (n,41,5), y (n,41), β (n,5)"""
    generator = torch.Generator().manual_seed(seed)
    beta = beta_size * torch.randn(n, 5, 1, generator=generator) / 5**0.5
    x = x_size * torch.randn(n, 41, 5, generator=generator)
    y = (x @ beta)[..., 0] + sigma * torch.randn(n, 41, generator=generator)
    return x.double().numpy(), y.double().numpy(), beta[..., 0].double().numpy()
