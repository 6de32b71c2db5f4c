"""A training as curves over its steps."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from figures.chart import BLUE, GREY, ORANGE, layout

PANELS = (("learning rate", (0.72, 1.0)), ("loss", (0.36, 0.64)), ("gradient", (0.0, 0.28)))  # top to bottom


def training_curves(
    steps: Sequence[int],
    curves: Sequence[Sequence[float]],
    validation: tuple[Sequence[int], Sequence[float]],
    ends: Sequence[int],
) -> go.Figure:
    """Learning rate, loss and length of the gradient (`curves`, N each) over `steps` (N), one above the other.

    Args: validation: steps and losses, as dots beside the loss; ends: steps at which a phase ends, as dotted lines
    """
    traces = [
        go.Scatter(
            x=list(steps),
            y=list(values),
            name=name,
            mode="lines",
            line={"color": BLUE, "width": 1.5},
            yaxis=_axis(n),
            hovertemplate="step %{x:,}: %{y:.4g}<extra>" + name + "</extra>",
        )
        for n, ((name, _), values) in enumerate(zip(PANELS, curves, strict=True))
    ]
    traces.append(
        go.Scatter(
            x=list(validation[0]),
            y=list(validation[1]),
            name="validation loss",
            mode="markers",
            marker={"color": ORANGE, "size": 7, "symbol": "diamond"},
            yaxis=_axis(1),
            hovertemplate="step %{x:,}: %{y:.4g}<extra>validation loss</extra>",
        )
    )
    axes = {
        f"yaxis{n + 1 if n else ''}": {"domain": list(domain), "title": name, "rangemode": "tozero", "fixedrange": True}
        for n, (name, domain) in enumerate(PANELS)
    }
    y = axes.pop("yaxis")
    x = {"title": "step", "tickformat": ",", "range": [0, 1.02 * steps[-1]], "anchor": _axis(len(PANELS) - 1)}
    made = layout(520, x, y, legend=False, shapes=[_upright(end) for end in ends])
    return go.Figure(traces, made | axes)


def _axis(n: int) -> str:
    return f"y{n + 1 if n else ''}"


_DOTTED = {"color": GREY, "width": 1, "dash": "dot"}


def _upright(at: float) -> dict[str, Any]:
    return {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": _DOTTED}
