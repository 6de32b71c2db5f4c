"""Attention of one query, computed tile by tile: no row of scores is held whole, and the result is exact."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from model.files.loaded_model import Array


@dataclass(frozen=True)
class Running:
    """All that is kept after a tile.

    largest (m): of the scores read; total (ℓ): of e^(score − m); output (d_k): what softmax over the scores read gives
    correction: e^(m before − m now), by which what was kept of the tiles before has shrunk; 0 at the first tile
    """

    largest: float
    total: float
    output: Array
    correction: float


def attention_in_tiles(scores: Array, values: Array, size: int) -> Iterator[Running]:
    """softmax(scores) · values, one tile after the other; the last state holds it.

    Args:   scores (S), the first finite; values (S,d_k); size: positions of a tile
    Raises: ValueError if a tile holds nothing
    Source: Dao et al. 2022, Algorithm 1, lines 10 to 13, for one query; the running sum: Milakov & Gimelshein 2018,
            Algorithm 3. Differs: none
    """
    if size < 1:
        raise ValueError(f"a tile of {size} positions holds nothing")
    largest, total, output = -np.inf, 0.0, np.zeros(values.shape[-1])
    for start in range(0, len(scores), size):
        tile, rows = scores[start : start + size], values[start : start + size]
        now = max(largest, float(tile.max()))
        correction = float(np.exp(largest - now))
        powers = np.exp(tile - now)
        before, largest = total * correction, now
        total = before + float(powers.sum())
        output = (before * output + powers @ rows) / total
        yield Running(largest, total, output, correction)
