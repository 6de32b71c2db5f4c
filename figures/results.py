"""What papers report, as pictures: quality against the price of training, and sizes in the order of time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from figures.chart import BLUE, GREEN, GREY, ORANGE, PURPLE, layout

# Groups of the first picture: colour, sign and size of a point, so that colour is not all.
LOOKS = {
    "one model": (GREY, "circle", 9),
    "ensemble of several": (GREY, "circle-open", 10),
    "Transformer": (BLUE, "diamond", 13),
}
# Kinds of the second one; a lesson opens from filled signs alone.
KINDS = {
    "LSTM": (GREY, "x"),
    "encoder-decoder": (GREEN, "diamond"),
    "encoder": (ORANGE, "square"),
    "decoder": (BLUE, "circle"),
}

APART = "\u00a0%{text}\u00a0"  # a label does not touch its sign
HEIGHT = 440  # of the first picture: labels one above the other must not touch on a phone
ROW = 24  # pixels of a model in the second picture


@dataclass(frozen=True)
class Scored:
    """A point of the first picture. group: a name in LOOKS; label: what stands beside it, on which side"""

    name: str
    group: str
    flops: float
    bleu: float
    label: str = ""
    side: str = "middle right"


def quality_against_compute(points: Sequence[Scored], ticks: Sequence[int]) -> go.Figure:
    """BLEU against the FLOPs of the training, which have a log axis. All points are of one test set.

    Args: ticks: of BLEU, the ends of the axis first and last
    """
    traces = []
    for group, (colour, symbol, size) in LOOKS.items():
        mine = [point for point in points if point.group == group]
        if mine:
            traces.append(
                go.Scatter(
                    x=[point.flops for point in mine],
                    y=[point.bleu for point in mine],
                    name=group,
                    mode="markers+text",
                    text=[point.label for point in mine],
                    texttemplate=APART,
                    textposition=[point.side for point in mine],
                    marker={"color": colour, "symbol": symbol, "size": size, "line": {"width": 1.5, "color": colour}},
                    customdata=[f"{point.name}: {point.bleu:g} BLEU" for point in mine],
                    hovertemplate="%{customdata}<extra></extra>",
                    cliponaxis=False,
                )
            )
    powers = [math.log10(point.flops) for point in points]
    x = {
        "type": "log", "title": "FLOPs of the training, a power of ten each", "exponentformat": "power", "dtick": 1,
        "range": [min(powers) - 0.5, max(powers) + 0.7],
    }  # fmt: skip
    y = {"title": "BLEU", "tickvals": list(ticks), "ticktext": list(map(str, ticks)), "range": [ticks[0], ticks[-1]]}
    return go.Figure(traces, layout(HEIGHT, x, y, margin={"l": 56, "r": 12, "t": 56, "b": 48}))


@dataclass(frozen=True)
class Sized:
    """A row of the second picture. kind: a name in KINDS; says: its parameters in words; opens: whether a click does"""

    name: str
    kind: str
    parameters: float
    says: str
    opens: bool


def sizes_by_time(models: Sequence[Sized], own: tuple[str, float]) -> go.Figure:
    """Parameters on a log axis, a row for each model, the oldest above. A click on a point gives its number from 0.

    Args: own: name and parameters of this app's model, as a dotted line
    """
    traces = []
    for kind, (colour, symbol) in KINDS.items():
        mine = [n for n, model in enumerate(models) if model.kind == kind]
        traces.append(
            go.Scatter(
                x=[models[n].parameters for n in mine],
                y=[models[n].name for n in mine],
                name=kind,
                mode="markers+text",
                text=[models[n].says for n in mine],
                texttemplate=APART,
                textposition=["middle left" if models[n].parameters > 5e9 else "middle right" for n in mine],
                marker={
                    "color": colour, "size": 12, "line": {"width": 1.5, "color": colour},
                    "symbol": [symbol if models[n].opens else f"{symbol}-open" for n in mine],
                },
                customdata=mine,
                hovertemplate="%{y}: %{text} parameters<extra>" + kind + "</extra>",
                cliponaxis=False,
            )
        )  # fmt: skip
    name, parameters = own
    x = {"type": "log", "title": "parameters", "exponentformat": "power", "dtick": 1, "range": [6.5, 12.2]}
    y = {
        "type": "category", "categoryorder": "array", "categoryarray": [model.name for model in models],
        "range": [len(models) - 0.5, -0.5], "showgrid": True,
    }  # fmt: skip
    line = {
        "type": "line", "x0": parameters, "x1": parameters, "yref": "paper", "y0": 0, "y1": 1,
        "line": {"color": PURPLE, "width": 1.5, "dash": "dot"},
    }  # fmt: skip
    note = {
        "x": math.log10(parameters), "yref": "paper", "y": 0, "text": name, "showarrow": False,
        "xanchor": "left", "yanchor": "bottom", "xshift": 4,
    }  # fmt: skip
    height = ROW * len(models) + 120
    margin = {"l": 150, "r": 12, "t": 64, "b": 48}
    return go.Figure(traces, layout(height, x, y, shapes=[line], annotations=[note], margin=margin))
