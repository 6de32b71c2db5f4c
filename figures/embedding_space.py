"""The learned space of the vocabulary: distances, angles, neighbours, and a map of it in two dimensions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from figures.chart import BLUE, layout

Array = NDArray[np.floating]


def cosines(rows: Array, others: Array | None = None) -> NDArray[np.float64]:
    """Cosine of the angle between each of `rows` (N,D) and each of `others` (M,D), by default itself: (N,M).

    A row of zeros points nowhere; its cosines are given as 0.
    """
    left, right = _unit(rows), _unit(rows if others is None else others)
    return np.clip(left @ right.T, -1.0, 1.0)


def _unit(rows: Array) -> NDArray[np.float64]:
    wide = np.asarray(rows, dtype=np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    return wide / np.where(lengths > 0, lengths, 1.0)


def nearest(matrix: Array, row: int, count: int) -> tuple[list[int], list[float]]:
    """The `count` other rows of matrix (V,D) with the largest cosine to this one, nearest first, and their cosines."""
    found = cosines(matrix[[row]], matrix)[0]
    found[row] = -np.inf
    best = np.argsort(-found, kind="stable")[: min(count, len(matrix) - 1)]
    return [int(i) for i in best], [float(found[i]) for i in best]


def one_hot(row: int, size: int) -> NDArray[np.float32]:
    """`size` zeros with a one at `row`."""
    vector = np.zeros(size, dtype=np.float32)
    vector[row] = 1.0
    return vector


def distance(left: Array, right: Array) -> float:
    """Length of the straight line between two points."""
    return float(np.linalg.norm(np.asarray(left, dtype=np.float64) - np.asarray(right, dtype=np.float64)))


def largest_difference(left: Array, right: Array) -> float:
    return float(np.abs(np.asarray(left, dtype=np.float64) - np.asarray(right, dtype=np.float64)).max())


@dataclass(frozen=True)
class Projection:
    """Rows seen from the two directions in which they differ most.

    points: (V,2); shares: of the whole variance, what each direction keeps
    """

    points: NDArray[np.float64]
    shares: tuple[float, float]


def principal_projection(matrix: Array) -> Projection:
    """Principal component analysis of rows (V,D), two components; the largest part of each direction is positive.

    Source: Pearson 1901
    """
    centred = np.asarray(matrix, dtype=np.float64) - np.asarray(matrix, dtype=np.float64).mean(0)
    # The covariance is small (D,D); its eigenvectors are the directions, its eigenvalues the variances.
    variances, directions = np.linalg.eigh(centred.T @ centred)
    best = directions[:, [-1, -2]]
    best = best * np.sign(best[np.abs(best).argmax(0), [0, 1]])
    shares = variances[[-1, -2]] / variances.sum()
    return Projection(centred @ best, (float(shares[0]), float(shares[1])))


def space_map(projection: Projection, names: Sequence[str], lit: Sequence[int]) -> go.Figure:
    """All rows as small points, those in `lit` large and named.

    Args: names of all rows, shown on hover: any text
    """
    points = projection.points.astype(np.float32)
    safe = np.array([plain(name) for name in names], dtype=object)  # of a list plotly would check every entry
    chosen = list(lit)
    dots = go.Scattergl(
        x=points[:, 0],
        y=points[:, 1],
        mode="markers",
        marker={"size": 3, "color": "rgba(128,138,150,0.35)"},
        text=safe,
        hovertemplate="%{text}<extra></extra>",
        name="vocabulary",
    )
    named = go.Scattergl(
        x=points[chosen, 0],
        y=points[chosen, 1],
        mode="markers",
        marker={"size": 12, "color": BLUE, "line": {"width": 1, "color": "#ffffff"}},
        text=safe[chosen],
        hovertemplate="%{text}<extra></extra>",
    )
    # Names on plates of their own: dots cannot run through them, and they read the same on a white and a dark page.
    plates = [
        {
            "x": x, "y": y, "text": name, "showarrow": False, "bgcolor": BLUE, "borderpad": 2,
            "font": {"size": 13, "color": "#ffffff"},
            **dict(zip(("xanchor", "yanchor", "xshift", "yshift"), _SIDES[side], strict=True)),
        }
        for (x, y), name, side in zip(points[chosen], safe[chosen], _free_sides(projection.points[chosen]), strict=True)
    ]  # fmt: skip
    x_axis, y_axis = (
        {"title": {"text": f"{name} direction ({share:.1%} of the variance)"}, "zeroline": False}
        for name, share in zip(("First", "Second"), projection.shares, strict=True)
    )
    return go.Figure(
        [dots, named],
        layout(460, x_axis, y_axis, legend=False, zoom=True, annotations=plates),
    )


_SIDES = {
    "above": ("center", "bottom", 0, 8),
    "below": ("center", "top", 0, -8),
    "right": ("left", "middle", 9, 0),
    "left": ("right", "middle", -9, 0),
}


def _free_sides(points: NDArray[np.float64]) -> list[str]:
    """For each point the side that faces away from the others, the near ones above all."""
    gaps = points[:, None] - points
    pushes = (gaps / np.maximum((gaps**2).sum(-1, keepdims=True), 1e-6)).sum(1)
    return [("right" if x > 0 else "left") if abs(x) > abs(y) else ("above" if y >= 0 else "below") for x, y in pushes]


def plain(text: str) -> str:
    """Text that plotly shows as it is: no tags, no formula."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")
