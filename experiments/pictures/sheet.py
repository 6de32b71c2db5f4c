"""From what a visitor draws or photographs to a picture as the readers know it: ink in the middle of a small sheet.

MNIST's digits were made so: scaled to a box of 20 × 20, its centre of mass put into the middle of 28 × 28 (LeCun et al.
1998, §III.A).
"""

from collections.abc import Sequence

import numpy as np

from model.files.loaded_model import Array

SIDE, BOX = 28, 20  # pixels: of the picture, and of the box that the ink is scaled to
PEN = 1.3  # pixels from the middle of a stroke to its edge
AT_ONCE = 200  # pieces of strokes: all of a scribble would take half a gigabyte
FAINTEST = 0.35  # of the darkest ink: what is fainter, in a photo, is the paper's

Stroke = Sequence[tuple[float, float]]  # points (x, y), from left to right and from top to bottom


def drawn(strokes: Sequence[Stroke]) -> Array:
    """Strokes as a picture (28,28) from 0 (paper) to 1 (ink); without any the picture is empty."""
    if not any(strokes):
        return np.zeros((SIDE, SIDE), np.float32)
    points = np.array([point for stroke in strokes for point in stroke], dtype=np.float64)
    low, high = points.min(0), points.max(0)
    scale = (BOX - 2 * PEN) / max(*(high - low), 1e-9)
    if (high - low).max() < 1e-6:
        scale = 1.0  # a dot stays a dot
    middle = (low + high) / 2
    starts, ends = [], []
    for stroke in strokes:
        if len(stroke):
            path = (np.array(stroke, dtype=np.float64) - middle) * scale + (SIDE - 1) / 2
            starts.append(path[:-1] if len(path) > 1 else path)
            ends.append(path[1:] if len(path) > 1 else path)
    return centred(_inked(np.concatenate(starts), np.concatenate(ends)))


def _inked(starts: np.ndarray, ends: np.ndarray) -> Array:
    """Straight pieces of a stroke, from starts to ends (N,2), as ink (28,28): full where a pixel lies under the pen."""
    columns, rows = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
    pixels = np.stack([columns, rows], -1).reshape(-1, 1, 2)  # (784,1,2)
    distance = np.full(len(pixels), np.inf)
    for n in range(0, len(starts), AT_ONCE):
        start, along = starts[n : n + AT_ONCE], (ends - starts)[n : n + AT_ONCE]
        share = ((pixels - start) * along).sum(-1) / np.maximum((along**2).sum(-1), 1e-12)
        nearest = start + np.clip(share, 0, 1)[..., None] * along
        distance = np.minimum(distance, np.sqrt(((pixels - nearest) ** 2).sum(-1)).min(1))
    return np.clip(PEN + 0.5 - distance, 0, 1).reshape(SIDE, SIDE).astype(np.float32)


def ink_of_photo(grey: Array) -> Array:
    """Ink from 0 to 1 on a photo (h,w) of brightness from 0 (black) to 1. The border is taken for paper, be it light or
    dark; what differs little from it is paper, too.
    """
    border = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
    apart = np.abs(grey - np.median(border))
    most = np.quantile(apart, 0.999)  # a few bright pixels are no ink; a thin stroke has more
    if most < 0.1:
        return np.zeros_like(grey)
    ink = np.clip(apart / most, 0, 1)
    return np.where(ink < FAINTEST, 0, ink).astype(np.float32)


def box_of(ink: Array) -> tuple[slice, slice] | None:
    """The rows and columns that hold ink, or None if nothing does."""
    rows, columns = ((ink > 0).any(axis) for axis in (1, 0))
    if not rows.any():
        return None
    (top, bottom), (left, right) = (np.flatnonzero(some)[[0, -1]] for some in (rows, columns))
    return slice(int(top), int(bottom) + 1), slice(int(left), int(right) + 1)


def in_box(ink: Array) -> Array:
    """Ink (h,w) scaled to the box, in the middle of a picture (28,28). A new pixel is the mean of those it covers."""
    box = box_of(ink)
    if box is None:
        return np.zeros((SIDE, SIDE), np.float32)
    cut = ink[box]
    height, width = (max(1, round(BOX * side / max(cut.shape))) for side in cut.shape)
    small = _shares(height, cut.shape[0]) @ cut @ _shares(width, cut.shape[1]).T
    sheet = np.zeros((SIDE, SIDE), np.float32)
    top, left = (SIDE - height) // 2, (SIDE - width) // 2
    sheet[top : top + height, left : left + width] = small
    return centred(sheet / np.float32(small.max()))


def _shares(n: int, of: int) -> np.ndarray:
    """What each of n pixels covers of each of so many others (n,of); a row adds up to 1."""
    edges = np.linspace(0, of, n + 1)
    at = np.arange(of)
    covered = np.clip(np.minimum(edges[1:, None], at + 1) - np.maximum(edges[:-1, None], at), 0, None)
    return np.asarray(covered / covered.sum(1, keepdims=True))


def centred(sheet: Array) -> Array:
    """The picture moved by whole pixels so that its centre of mass lies in the middle; no ink leaves it."""
    box = box_of(sheet)
    if box is None:
        return sheet
    moved = sheet
    for axis, of in enumerate(box):
        mass = sheet.sum(1 - axis)
        wanted = round((SIDE - 1) / 2 - float(mass @ np.arange(SIDE)) / float(mass.sum()))
        moved = np.roll(moved, min(max(wanted, -of.start), SIDE - of.stop), axis)
    return moved
