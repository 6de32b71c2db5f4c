"""Numbers and figures about positions: rules that fail as an encoding, the pairs of dimensions as clock hands."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from figures.chart import BLUE, GREY, ORANGE, layout

Array = NDArray[np.floating]


def candidate(rule: Callable[[Any, int], Any], length: int) -> Array:
    """P(1)…P(length) as a column (T,1): P(1) = 1, and P(t + 1) = rule(P(t), t); infinite where it outgrows 64 bits."""
    values = np.ones((length, 1))
    with np.errstate(over="ignore"):
        for t in range(1, length):
            values[t] = rule(values[t - 1], t)
    return values


def closest(values: Array) -> float:
    """The smallest distance between two rows of values (T,D); 0 if two are the same, both infinite too."""
    rows = values[np.isfinite(values).all(1)].astype(np.float64)
    if len(values) - len(rows) > 1:
        return 0.0
    with np.errstate(over="ignore"):
        return min(float(np.linalg.norm(rows[:t] - rows[t], axis=1).min()) for t in range(1, len(rows)))


def rule_figure(values: Array, names: Sequence[str], limit: float) -> go.Figure:
    """Curves (T,N) over positions 1…T, drawn from −limit to limit; what leaves this range leaves the picture.

    names: of the N curves; one curve has no legend
    """
    drawn = np.where(np.isfinite(values), np.clip(values, -1e6, 1e6), np.nan)
    looks = zip(drawn.T, names, (BLUE, ORANGE, GREY), ("solid", "dash", "dot"), strict=False)
    lines = [
        go.Scatter(
            x=np.arange(1, len(values) + 1), y=column, name=name, mode="lines+markers", marker_size=5,
            line={"color": colour, "dash": dash, "width": 2}, hovertemplate="position %{x}: %{y:.4g}<extra></extra>",
        )
        for column, name, colour, dash in looks
    ]  # fmt: skip
    y = {"range": [-limit * 1.05, limit * 1.05], "title": "P(t)", "zeroline": True}
    return go.Figure(lines, layout(280, {"title": "position t"}, y, legend=len(names) > 1))


def encoding_heatmap(encoding: Array) -> go.Figure:
    """Encodings (T,D) as colours from −1 to 1; positions downwards from 0, dimensions to the right from 1."""
    heatmap = go.Heatmap(
        z=np.round(encoding, 3).astype(np.float32), x0=1, zmin=-1, zmax=1,
        # Transparent in the middle, so that it fits a light and a dark page.
        colorscale=[[0, BLUE], [0.5, "rgba(128,138,150,0.05)"], [1, ORANGE]],
        colorbar={"thickness": 10, "tickvals": [-1, 0, 1]},
        hovertemplate="position %{y}, dimension %{x}: %{z:.3f}<extra></extra>",
    )  # fmt: skip
    y = {"autorange": "reversed", "title": "position"}
    return go.Figure(heatmap, layout(360, {"title": "dimension"}, y, legend=False))


def clock_figure(angles: Array, chosen: int, titles: Sequence[str]) -> go.Figure:
    """One clock a pair of dimensions: the hand of the chosen position bold, those of the others faint.

    angles: (T, N) radians of T positions and N pairs; at 0 a hand points up, and it turns clockwise, so that across is
            the sine and up the cosine
    """
    # A point is a complex number: across and, times i, up. All clocks share one pair of axes: plotly takes many times
    # as long for a pair each.
    down, across = np.divmod(np.arange(len(titles)), 4)
    middles = 2.3 * across - 2.8j * down
    tips, rim = (1j * np.exp(-1j * turned) for turned in (angles, np.linspace(0, 2 * np.pi, 73)))
    hands, ends = tips[chosen], middles + tips[chosen]

    def lines(*points: Any, **look: Any) -> go.Scatter:
        """A line in each clock, through points counted from its middle; a gap lies between two lines."""
        on = np.stack(np.broadcast_arrays(*(middles + point for point in points), complex(np.nan, np.nan)), -1).ravel()
        return go.Scatter(x=on.real, y=on.imag, mode="lines", hoverinfo="skip", **look)

    names = [
        {"x": at.real, "y": at.imag + 1.1, "yanchor": "bottom", "text": title, "showarrow": False, "font": {"size": 12}}
        for at, title in zip(middles, titles, strict=True)
    ]
    x = {"visible": False, "range": [-1.1, middles.real.max() + 1.1]}
    y = {"visible": False, "range": [middles.imag.min() - 1.1, 1.6], "scaleanchor": "x"}
    thin = {"color": GREY, "width": 1}
    tip = go.Scatter(
        x=ends.real, y=ends.imag, customdata=np.stack([hands.real, hands.imag], 1),
        mode="markers", marker={"size": 9, "color": BLUE},
        hovertemplate="sine %{customdata[0]:.4f}, cosine %{customdata[1]:.4f}<extra></extra>",
    )  # fmt: skip
    return go.Figure(
        [lines(*rim, line=thin), lines(0, tips, line=thin, opacity=0.5),
         lines(0, hands, line={"color": BLUE, "width": 4}), tip],
        layout(150 * (int(down[-1]) + 1), x, y, legend=False, left=12, bottom=8, annotations=names),
    )  # fmt: skip
