"""Tensors as pictures of a few pixels: arrays in, bytes out. What is left out is left out evenly, and said."""

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

ROWS, COLUMNS = 20, 16  # of values, at most
SIDE = 32  # of attention weights, at most
HIDDEN = 255  # the byte of a masked cell


@dataclass(frozen=True)
class Thumbnail:
    """One picture.

    pixels:  (height, width) bytes. Weights: 0 to 254 for 0 to 1, `HIDDEN` where masked. Values: 0, 127 and 254 for
             −limit, 0 and limit
    limit:   the largest size among the values shown
    every:   (row, column): how many rows and columns of the tensor one of the picture stands for
    """

    pixels: Bytes
    limit: float
    every: tuple[int, int]


def value_thumbnail(values: NDArray[np.floating], rows: int = ROWS, columns: int = COLUMNS) -> Thumbnail:
    """Values (T,D) of any sign: every so many rows and columns, so that each pixel is one value of the tensor."""
    # An odd step meets the sines and the cosines of the positions alike: they take turns.
    every = ceil(values.shape[0] / rows), ceil(values.shape[1] / columns) | 1
    shown = np.nan_to_num(values[:: every[0], :: every[1]].astype(np.float64), posinf=0.0, neginf=0.0)
    return _signed(shown, every)


def peak_thumbnail(values: NDArray[np.floating], rows: int = ROWS, columns: int = COLUMNS) -> Thumbnail:
    """Values (T,V) of a vocabulary: of every group of neighbouring columns the largest; every so many rows."""
    every = ceil(values.shape[0] / rows), ceil(values.shape[1] / columns)
    starts = np.arange(0, values.shape[1], every[1])
    peaks = np.maximum.reduceat(values[:: every[0]], starts, axis=1).astype(np.float64)
    return _signed(np.nan_to_num(peaks, posinf=0.0, neginf=0.0), every)


def _signed(shown: NDArray[np.float64], every: tuple[int, int]) -> Thumbnail:
    limit = float(np.abs(shown).max())
    return Thumbnail(np.rint(127 + 127 * shown / (limit or 1.0)).astype(np.uint8), limit, every)


def weight_thumbnail(
    weights: NDArray[np.floating], hidden: NDArray[np.bool_] | None = None, side: int = SIDE
) -> Thumbnail:
    """Attention weights (H,T,S): the mean over the heads, and where cells are joined the largest of them.

    Args:    hidden (T,S), True = masked; a joined cell counts as masked if all its cells are
    """
    mean = np.nan_to_num(weights.astype(np.float64)).mean(0)
    every = ceil(mean.shape[0] / side), ceil(mean.shape[1] / side)
    pixels = np.rint(254 * np.clip(_joined(mean, every, np.maximum), 0, 1)).astype(np.uint8)
    if hidden is not None:
        pixels[_joined(hidden, every, np.logical_and)] = HIDDEN
    return Thumbnail(pixels, 1.0, every)


def _joined(cells: NDArray[Any], every: tuple[int, int], join: np.ufunc) -> NDArray[Any]:
    """Every so many neighbouring rows and columns joined into one."""
    for axis, n in enumerate(every):
        cells = join.reduceat(cells, np.arange(0, cells.shape[axis], n), axis=axis)
    return cells


def bar_thumbnail(shares: NDArray[np.floating]) -> Thumbnail:
    """Shares (T) between 0 and 1 as the heights of T bars."""
    pixels = np.rint(254 * np.clip(np.nan_to_num(np.asarray(shares, dtype=np.float64)), 0, 1)).astype(np.uint8)
    return Thumbnail(pixels[None], 1.0, (1, 1))
