"""What a norm does to the rows, and what Add & Norm does to gradients, as figures."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from figures.chart import BLUE, GREY, ORANGE, PURPLE, layout

Array = NDArray[np.floating]


def mean_and_deviation(rows: Array) -> Array:
    """(N,2): the mean and the standard deviation of each row of (N,D), in float64; the deviation divides by D."""
    exact = rows.astype(np.float64)
    return np.stack([exact.mean(1), exact.std(1)], axis=1)


def gradient_lines(sizes: Mapping[str, Sequence[float]]) -> go.Figure:
    """The size of the gradient at the input of each layer and, last, at the output, for several stacks; log scale.

    The scale is the same for every depth, so that depths can be compared.
    """
    powers = range(-8, 11, 2)
    x = {"title": "input of layer (the last is the output)", "zeroline": False}
    y = {
        "type": "log",
        "range": [-8.5, 10],
        "tickvals": [10.0**n for n in powers],
        "ticktext": ["1" if n == 0 else f"10<sup>{n}</sup>".replace("-", "−") for n in powers],
        "title": "size of the gradient",
        "zeroline": False,
    }
    return go.Figure(_lines(sizes), layout(340, x, y))


def layer_lines(sizes: Mapping[str, Sequence[float]]) -> go.Figure:
    """The length of the gradient of each layer's matrices, for several stacks, from 0."""
    x = {"title": "layer", "zeroline": False}
    y = {"title": "length of the gradient", "rangemode": "tozero"}
    return go.Figure(_lines(sizes), layout(320, x, y))


def _lines(sizes: Mapping[str, Sequence[float]]) -> list[go.Scatter]:
    """A line for each stack over its layers, from 1."""
    styles = ((BLUE, "solid", "circle"), (GREY, "dot", "diamond"), (ORANGE, "dash", "square"), (PURPLE, "dashdot", "x"))
    return [
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
