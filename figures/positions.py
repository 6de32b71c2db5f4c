"""Numbers and figures about positions: rules that fail as an encoding, the pairs of dimensions as clock hands."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from figures.chart import BLUE, GREY, ORANGE, layout

Array = NDArray[np.floating]

# P(t+1) from P(t), t and a constant: numbers that might have stood for positions.
RULES: dict[str, Callable[[float, int, float], float]] = {
    "P(t) + c": lambda p, t, c: p + c,
    "P(t) · c": lambda p, t, c: p * c,
    "e^(P(t) · c)": lambda p, t, c: float(np.exp(p * c)),
    "P(t) · t · c": lambda p, t, c: p * t * c,
}


def candidate(rule: str, constant: float, length: int) -> Array:
    """P(1)…P(length) of one of RULES, starting from P(1) = 1; infinite where it outgrows a 64-bit number.

    Raises: KeyError
    """
    values = [1.0]
    with np.errstate(over="ignore"):
        for t in range(1, length):
            values.append(RULES[rule](np.float64(values[-1]), t, constant))
    return np.array(values)


def closest(values: Array) -> float:
    """The smallest distance between two rows of values (T,D) or (T); 0 if two are the same, both infinite too."""
    rows = values.reshape(len(values), -1).astype(np.float64)
    finite = np.isfinite(rows).all(1)
    if (~finite).sum() > 1:
        return 0.0
    rows = rows[finite]
    if rows.shape[1] == 1:
        return float(np.diff(np.sort(rows[:, 0])).min())
    sizes = (rows**2).sum(1)
    squares = sizes[:, None] + sizes - 2 * rows @ rows.T
    return float(np.sqrt(max(0.0, squares[np.triu_indices(len(rows), 1)].min())))


def rule_figure(values: Array, names: Sequence[str], limit: float) -> go.Figure:
    """Curves (T,N) over positions 1…T, drawn from −limit to limit; what leaves this range leaves the picture.

    names: of the N curves; one curve has no legend
    """
    colours, dashes = (BLUE, ORANGE, GREY), ("solid", "dash", "dot")
    y = {"range": [-limit * 1.05, limit * 1.05], "title": "P(t)", "zeroline": True}
    return go.Figure(
        [
            go.Scatter(
                x=np.arange(1, len(values) + 1),
                y=np.where(np.isfinite(column), np.clip(column, -1e6, 1e6), np.nan),
                name=name,
                mode="lines+markers",
                marker_size=5,
                line={"color": colours[n % 3], "dash": dashes[n % 3], "width": 2},
                hovertemplate="position %{x}: %{y:.4g}<extra></extra>",
            )
            for n, (column, name) in enumerate(zip(values.T, names, strict=True))
        ],
        layout(280, {"title": "position t"}, y, legend=len(names) > 1),
    )


def encoding_heatmap(encoding: Array) -> go.Figure:
    """Encodings (T,D) as colours from −1 to 1; positions downwards from 0, dimensions to the right from 1."""
    return go.Figure(
        go.Heatmap(
            z=np.round(encoding, 3).astype(np.float32),
            x0=1,
            zmin=-1,
            zmax=1,
            # Transparent in the middle, so that it fits a light and a dark page.
            colorscale=[[0, BLUE], [0.5, "rgba(128,138,150,0.05)"], [1, ORANGE]],
            colorbar={"thickness": 10, "tickvals": [-1, 0, 1]},
            hovertemplate="position %{y}, dimension %{x}: %{z:.3f}<extra></extra>",
        ),
        layout(360, {"title": "dimension"}, {"autorange": "reversed", "title": "position"}, legend=False),
    )


def angles(positions: Array, pairs: Sequence[int], d_model: int) -> Array:
    """By how much (radians) each pair i of dimensions 2i, 2i+1 has turned at each position: (T, pairs)."""
    return np.asarray(positions, float)[:, None] / 10000 ** (2 * np.asarray(pairs, float) / d_model)


def clock_figure(turned: Array, chosen: int, titles: Sequence[str]) -> go.Figure:
    """One clock a pair of dimensions: the hand of the chosen position bold, those of the others faint.

    turned: (T, N) angles in radians, of T positions and N pairs; at 0 a hand points up, and it turns clockwise, so
            that across is the sine and up the cosine
    """
    columns, wide, high = 4, 2.3, 2.8  # from one clock to the next
    across, down = np.arange(len(titles)) % columns, np.arange(len(titles)) // columns
    middles = np.stack([across * wide, -down * high], 1)  # (N,2)
    tips = np.stack([np.sin(turned), np.cos(turned)], -1)  # (T,N,2)

    def lines(*points: Array) -> dict[str, Array]:
        """A line through points (…,2) of each clock, counted from its middle; a gap lies between two lines."""
        on = np.broadcast_arrays(*(middles + point for point in points))
        x, y = np.moveaxis(np.stack([*on, np.full_like(on[0], np.nan)], -2), -1, 0)
        return {"x": x.ravel(), "y": y.ravel()}

    round_ = np.linspace(0, 2 * np.pi, 73)
    circle = [np.array([np.sin(angle), np.cos(angle)]) for angle in round_]
    thin = {"color": GREY, "width": 1}
    # All clocks share one pair of axes: plotly takes many times as long for a pair each.
    x_axis = {"visible": False, "range": [-1.1, wide * across.max() + 1.1]}
    y_axis = {"visible": False, "range": [-1.1 - high * down[-1], 1.6], "scaleanchor": "x"}
    return go.Figure(
        [
            go.Scatter(**lines(*circle), mode="lines", line=thin, hoverinfo="skip"),
            go.Scatter(**lines(np.zeros(2), tips), mode="lines", line=thin, opacity=0.5, hoverinfo="skip"),
            go.Scatter(
                **lines(np.zeros(2), tips[chosen]), mode="lines", line={"color": BLUE, "width": 4}, hoverinfo="skip"
            ),
            go.Scatter(
                x=(middles + tips[chosen])[:, 0],
                y=(middles + tips[chosen])[:, 1],
                customdata=tips[chosen],
                mode="markers",
                marker={"size": 9, "color": BLUE},
                hovertemplate="sine %{customdata[0]:.4f}, cosine %{customdata[1]:.4f}<extra></extra>",
            ),
        ],
        layout(
            150 * (int(down[-1]) + 1),
            x_axis,
            y_axis,
            legend=False,
            left=12,
            bottom=8,
            annotations=[
                {"x": x, "y": y + 1.1, "yanchor": "bottom", "text": title, "showarrow": False, "font": {"size": 12}}
                for (x, y), title in zip(middles, titles, strict=True)
            ],
        ),
    )
