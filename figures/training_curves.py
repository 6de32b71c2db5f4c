"""A training as curves over its steps, and what was measured of its snapshots as lines."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from figures.chart import BLUE, GREY, ORANGE, PURPLE, layout

PANELS = (("learning rate", (0.72, 1.0)), ("loss", (0.36, 0.64)), ("gradient", (0.0, 0.28)))  # top to bottom
COLOURS = (BLUE, ORANGE, PURPLE, "#009E73")
MOST_NAMED = len(COLOURS)  # lines that get a colour and a name of their own


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


def snapshot_lines(
    steps: Sequence[int],
    lines: Mapping[str, Sequence[float]],
    named: Sequence[str],
    axis: tuple[str, float],
    at: int,
    level: float | None = None,
) -> go.Figure:
    """A line for each of some quantities over the snapshots, which stand side by side, whatever the steps between them.

    Args: lines: (N) by name; named: those drawn in a colour, at most MOST_NAMED; the others are grey
          axis: what is drawn, and the upper end of its scale; at: index of the snapshot that is marked
          level: where a line runs across
    """
    places = list(range(len(steps)))
    traces = [
        go.Scatter(
            x=places,
            y=list(values),
            name=name,
            mode="lines+markers",
            opacity=1 if name in named else 0.5,
            line={"color": COLOURS[list(named).index(name)] if name in named else GREY, "width": 2},
            marker={"size": 5},
            hovertemplate="%{y:.2f}<extra>" + name + "</extra>",
        )
        for name, values in lines.items()
    ]
    x = {"title": "step of the snapshot", "tickvals": places, "ticktext": [f"{step:,}" for step in steps]}
    y = {"title": axis[0], "range": [0, axis[1]]}
    shapes = [_upright(at)] + ([] if level is None else [_across(level)])
    return go.Figure(traces, layout(360, x, y, bottom=76, shapes=shapes))  # on a phone the steps stand upright


_DOTTED = {"color": GREY, "width": 1, "dash": "dot"}


def _upright(at: float) -> dict[str, Any]:
    return {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": _DOTTED}


def _across(at: float) -> dict[str, Any]:
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": at, "y1": at, "line": _DOTTED}
