"""Numbers and figures about positions: rules that fail as an encoding, the pairs of dimensions as clock hands."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

Array = NDArray[np.floating]

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#808a96"

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
    figure = go.Figure(
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
        ]
    )
    figure.update_yaxes(range=[-limit * 1.05, limit * 1.05], title="P(t)", zeroline=True)
    figure.update_xaxes(title="position t")
    return _calm(figure, 280, legend=len(names) > 1)


def encoding_heatmap(encoding: Array) -> go.Figure:
    """Encodings (T,D) as colours from −1 to 1; positions downwards, dimensions to the right, both from 0."""
    figure = go.Figure(
        go.Heatmap(
            z=np.round(encoding, 3).astype(np.float32),
            zmin=-1,
            zmax=1,
            # Transparent in the middle, so that it fits a light and a dark page.
            colorscale=[[0, BLUE], [0.5, "rgba(128,138,150,0.05)"], [1, ORANGE]],
            colorbar={"thickness": 10, "tickvals": [-1, 0, 1]},
            hovertemplate="position %{y}, dimension %{x}: %{z:.3f}<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed", title="position")
    figure.update_xaxes(title="dimension")
    return _calm(figure, 360)


def angles(positions: Array, pairs: Sequence[int], d_model: int) -> Array:
    """By how much (radians) each pair i of dimensions 2i, 2i+1 has turned at each position: (T, pairs)."""
    return np.asarray(positions, float)[:, None] / 10000 ** (2 * np.asarray(pairs, float) / d_model)


def clock_figure(turned: Array, chosen: int, titles: Sequence[str]) -> go.Figure:
    """One clock a pair of dimensions: the hand of the chosen position bold, those of the others faint.

    turned: (T, N) angles in radians, of T positions and N pairs; at 0 a hand points up, and it turns clockwise, so
            that across is the sine and up the cosine
    """
    columns = 4
    rows = -(-len(titles) // columns)
    figure = make_subplots(rows, columns, subplot_titles=titles, horizontal_spacing=0.03, vertical_spacing=0.16)
    circle = np.linspace(0, 2 * np.pi, 73)
    for n, angle in enumerate(turned.T):
        where = {"row": n // columns + 1, "col": n % columns + 1}
        across, up = np.sin(angle), np.cos(angle)
        figure.add_scatter(
            x=np.sin(circle),
            y=np.cos(circle),
            mode="lines",
            line={"color": GREY, "width": 1},
            hoverinfo="skip",
            **where,
        )
        figure.add_scatter(
            x=np.stack([0 * across, across, np.full_like(across, np.nan)], 1).ravel(),
            y=np.stack([0 * up, up, np.full_like(up, np.nan)], 1).ravel(),
            mode="lines",
            line={"color": GREY, "width": 1},
            opacity=0.5,
            hoverinfo="skip",
            **where,
        )
        figure.add_scatter(
            x=[0, across[chosen]],
            y=[0, up[chosen]],
            mode="lines+markers",
            line={"color": BLUE, "width": 4},
            marker={"size": [0, 9], "color": BLUE},
            hovertemplate="sine %{x:.4f}, cosine %{y:.4f}<extra></extra>",
            **where,
        )
    figure.update_xaxes(visible=False, range=[-1.15, 1.15], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-1.15, 1.15], fixedrange=True)
    for n in range(len(titles)):
        name = "" if n == 0 else str(n + 1)
        figure.layout[f"yaxis{name}"].update(scaleanchor=f"x{name}")
    figure.update_annotations(font_size=12)
    return _calm(figure, 170 * rows)


def _calm(figure: go.Figure, height: int, legend: bool = False) -> go.Figure:
    return figure.update_layout(
        height=height,
        showlegend=legend,
        margin={"l": 8, "r": 8, "t": 44 if legend else 28, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "y": 1.2, "x": 0},
        dragmode=False,
    )
