"""Which hidden units of a feed-forward network, and which dimensions, a figure shows."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def strongest_units(hidden: Array, count: int) -> list[int]:
    """The strongest units of each row of hidden (T,d_ff), row by row: about `count` in all, at least one a row.

    No unit comes twice, and none that rests; a row may therefore add fewer than its share, or none.
    """
    share = max(1, count // len(hidden))
    found: dict[int, None] = {}
    for row in hidden:
        best = np.argsort(-row, kind="stable")[:share]
        found.update(dict.fromkeys(int(unit) for unit in best if row[unit] > 0))
    return list(found)


def most_changed(before: Array, after: Array, count: int) -> list[int]:
    """The columns of two matrices (T,D) that differ most anywhere, in their own order."""
    change = np.abs(after - before).max(0)
    return sorted(int(column) for column in np.argsort(-change, kind="stable")[:count])
