"""What a norm does to the rows, and what Add & Norm does to gradients, as figures."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

Array = NDArray[np.floating]

BLUE, ORANGE, GREY, PURPLE = "#0072B2", "#E69F00", "#808a96", "#CC79A7"


def mean_and_deviation(rows: Array) -> Array:
    """(N,2): the mean and the standard deviation of each row of (N,D), in float64; the deviation divides by D."""
    exact = rows.astype(np.float64)
    return np.stack([exact.mean(1), exact.std(1)], axis=1)


def spread_figure(labels: Sequence[str], series: Mapping[str, Array]) -> go.Figure:
    """For each of N rows its mean as a dot and one standard deviation up and down as a bar; several series abreast.

    Args: labels: HTML-safe (Plotly reads some tags), one a row, repeats allowed; series: (N,2) from mean_and_deviation
    """
    places = np.arange(len(labels))
    styles = ((BLUE, "circle"), (ORANGE, "square"), (GREY, "diamond"))
    traces = [
        go.Scatter(
            x=places + 0.24 * (n - (len(series) - 1) / 2),
            y=numbers[:, 0],
            error_y={"type": "data", "array": numbers[:, 1], "thickness": 3, "width": 4, "color": colour},
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 7},
            name=name,
            text=list(labels),
            customdata=numbers[:, 1],
            hovertemplate="%{text}: mean %{y:.4f}, deviation %{customdata:.4f}<extra>" + name + "</extra>",
        )
        for n, ((name, numbers), (colour, symbol)) in enumerate(zip(series.items(), styles, strict=False))
    ]
    x = {"tickvals": places, "ticktext": list(labels), "fixedrange": True, "zeroline": False}
    return go.Figure(traces, _calm(300, x, {"title": "mean ± standard deviation", "fixedrange": True}))


def gradient_lines(sizes: Mapping[str, Sequence[float]]) -> go.Figure:
    """The size of the gradient at the input of each layer and, last, at the output, for several stacks; log scale.

    The scale is the same for every depth, so that depths can be compared.
    """
    styles = ((BLUE, "solid", "circle"), (GREY, "dot", "diamond"), (ORANGE, "dash", "square"), (PURPLE, "dashdot", "x"))
    traces = [
        go.Scatter(
            x=list(range(1, len(values) + 1)),
            y=list(values),
            name=name,
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2},
            marker={"symbol": symbol, "size": 6},
            hovertemplate="layer %{x}: %{y:.3g}<extra>" + name + "</extra>",
        )
        for (name, values), (colour, dash, symbol) in zip(sizes.items(), styles, strict=False)
    ]
    powers = range(-8, 11, 2)
    x = {"title": "input of layer (the last is the output)", "fixedrange": True, "zeroline": False}
    y = {
        "type": "log",
        "range": [-8.5, 10],
        "tickvals": [10.0**n for n in powers],
        "ticktext": ["1" if n == 0 else f"10<sup>{n}</sup>".replace("-", "−") for n in powers],
        "title": "size of the gradient",
        "fixedrange": True,
        "zeroline": False,
    }
    return go.Figure(traces, _calm(340, x, y))


def _calm(height: int, x: dict[str, object], y: dict[str, object]) -> dict[str, object]:
    """A layout. Given whole to a new figure it costs a tenth of what the same changes cost afterwards."""
    return {
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 36, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "legend": {"orientation": "h", "y": 1.16, "x": 0},
        "dragmode": False,
        "xaxis": x,
        "yaxis": y,
    }
