"""The learned space of the vocabulary: distances, angles, neighbours, and a picture of one neighbourhood."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from figures.chart import BLUE, GREY, layout

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


def centred(matrix: Array) -> NDArray[np.float64]:
    """Rows (V,D) without their mean row: what they have in common is gone."""
    wide = np.asarray(matrix, dtype=np.float64)
    return wide - wide.mean(0)


def mean_cosine(matrix: Array) -> float:
    """The mean cosine of all pairs of different rows (V,D), rows of zeros left out."""
    unit = _unit(matrix)
    # All pairs at once: the squared length of the sum of unit vectors is the sum of all their products.
    count = int((np.linalg.norm(unit, axis=1) > 0.5).sum())
    total = unit.sum(0)
    return float((total @ total - count) / (count * (count - 1)))


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


def circle_order(rows: Array) -> list[int]:
    """An order of rows (N,D) around a circle in which rows that point alike tend to stand side by side.

    Their order by angle, seen from the two directions in which they differ most (Pearson 1901).
    """
    unit = centred(_unit(rows))
    _, directions = np.linalg.eigh(unit.T @ unit)
    best = directions[:, [-1, -2]]
    best = best * np.sign(best[np.abs(best).argmax(0), [0, 1]])
    across, up = (unit @ best).T
    return [int(i) for i in np.argsort(np.arctan2(across, up), kind="stable")]


def neighbour_ring(middle: str, names: Sequence[str], values: Sequence[float]) -> go.Figure:
    """An entry in the middle, others around it: the larger the cosine (values), the nearer.

    Args: names: of the others in their order around the circle, from the top clockwise: any text
    """
    angles = 2 * np.pi * np.arange(len(names)) / max(len(names), 1)
    distances = 1 - np.asarray(values, dtype=float)
    end = max(float(distances.max(initial=0)), 0.5)
    rings = [at for at in (0.2, 0.4, 0.6, 0.8) if at < end + 0.1]
    x, y = distances * np.sin(angles), distances * np.cos(angles)
    circle = np.linspace(0, 2 * np.pi, 73)
    drawn = [
        go.Scatter(
            x=ring * np.sin(circle), y=ring * np.cos(circle), mode="lines", opacity=0.6, hoverinfo="skip",
            line={"color": GREY, "width": 1, "dash": "dot"},
        )
        for ring in rings
    ]  # fmt: skip
    around = go.Scatter(
        x=x,
        y=y,
        mode="markers+text",
        marker={"size": 8, "color": BLUE},
        text=[plain(name) for name in names],
        textposition=["middle right" if np.sin(a) >= 0 else "middle left" for a in angles],
        textfont={"size": 13},
        customdata=[f"{value:.4f}".replace("-", "−") for value in values],
        hovertemplate="%{text}: centred cosine %{customdata}<extra></extra>",
        cliponaxis=False,
    )
    plate = {
        "x": 0, "y": 0, "text": plain(middle), "showarrow": False, "bgcolor": BLUE, "borderpad": 3,
        "font": {"size": 14, "color": "#ffffff"},
    }  # fmt: skip
    labels = [
        {
            "x": 0, "y": -ring, "text": f"{1 - ring:.1f}", "showarrow": False, "yanchor": "top",
            "font": {"size": 11, "color": GREY},
        }
        for ring in rings
    ]  # fmt: skip
    axis = {"visible": False, "range": [-end * 1.12, end * 1.12]}
    return go.Figure(
        [*drawn, around],
        layout(
            560,
            axis | {"range": [-end * 1.45, end * 1.45]},
            axis | {"scaleanchor": "x"},  # circles stay circles, so that distances are true
            legend=False,
            left=8,
            bottom=8,
            annotations=[*labels, plate],
        ),
    )


def plain(text: str) -> str:
    """Text that plotly shows as it is: no tags, no formula."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")
