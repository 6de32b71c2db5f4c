"""How alike two attention heads are: heads of one model or of two, on one sentence or on two."""

import math

import numpy as np
from numpy.typing import NDArray

from hub.attention import AttentionMaps
from model.kept import kept

MAX_CELLS = 2**32  # that are compared: some seconds; a stranger's model may have thousands of heads
Array = NDArray[np.floating]

PLACES = (
    "itself",
    "the previous",
    "the next",
    "the first",
    "the last",
    "anything further left",
    "anything further right",
)


def places(maps: AttentionMaps) -> Array:
    """What share of its weight each head gives to which place, averaged over the rows: (L,H,7), adding up to 1.

    A place counts once, under the first name in PLACES that fits. In encoder-decoder attention "itself" is the place
    as far into the source as the row is into the target, whatever is written there.
    """
    n_rows, n_columns = len(maps.rows), len(maps.columns)
    scale = 1.0 if maps.kind != "cross" else (n_columns - 1) / max(1, n_rows - 1)
    masks = np.zeros((len(PLACES), n_rows, n_columns))
    for row in range(n_rows):
        own = round(row * scale)
        for column in range(n_columns):
            fits = (
                column == own, column == own - 1, column == own + 1, column == 0, column == n_columns - 1,
                column < own, True,
            )  # fmt: skip
            masks[fits.index(True), row, column] = 1
    return np.asarray(np.einsum("lhts,pts->lhp", maps.weights.astype(np.float64), masks) / n_rows)


@kept
def similarity(one: AttentionMaps, two: AttentionMaps) -> tuple[Array, bool]:
    """How alike each pair of heads is, 0 to 1, and whether they were compared cell by cell: (L₁,H₁,L₂,H₂) and a bool.

    If both have the same rows and columns, they are compared cell by cell, else, or if that are more than MAX_CELLS,
    by `places`. The last results are remembered: two models of 144 heads take a second.
    """
    same = one.rows == two.rows and one.columns == two.columns
    same = same and one.weights.size * math.prod(two.weights.shape[:2]) <= MAX_CELLS
    left, right = (m.weights.astype(np.float64) if same else places(m)[:, :, None] for m in (one, two))
    result = np.empty((*left.shape[:2], *right.shape[:2]))
    for layer, head in np.ndindex(left.shape[:2]):
        # Both heads share out a weight of 1: add up what they give to the same places.
        result[layer, head] = np.minimum(left[layer, head], right).sum(-1).mean(-1)
    return result, same
