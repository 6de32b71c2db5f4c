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


class Dropout:
    """Sets each number of what it is called with to 0 with a chance of `rate`; the others are divided by 1 − rate."""

    def __init__(self, seed: int, rate: float) -> None:
        self.random, self.rate = torch.Generator().manual_seed(seed), rate

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        kept = torch.empty(1, *rows.shape).bernoulli_(1 - self.rate, generator=self.random)[0].numpy()
        return rows * kept / (1 - self.rate)


def regression(sigma: float, x_size: float, beta_size: float, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """64 tasks of 41 pairs with five numbers in each x: x (64,41,5), y (64,41) = xᵀβ + ε, one β a task."""
    generator = torch.Generator().manual_seed(draw)
    beta = beta_size * torch.randn(64, 5, 1, generator=generator) / 5**0.5
    x = x_size * torch.randn(64, 41, 5, generator=generator)
    y = (x @ beta)[..., 0] + sigma * torch.randn(64, 41, generator=generator)
    return x.double().numpy(), y.double().numpy()
