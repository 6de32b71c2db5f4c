"""Lines over an axis: a picture and words around it. It is there at once, where a chart takes a fifth of a second."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import streamlit as st

from figures.chart import GREY, ORANGE
from ui.text import in_html
from ui.views.charts.column_chart import ticks

_SIDE = 1000  # the picture's own width and height, which a browser stretches to the room there is
_FLAT = 40  # letters that may stand side by side below the axis: what a phone has room for

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Line:
    """A line through points (x, y). Dotted: with a dot at each point; pale: one of many that have no colour."""

    name: str
    points: Points
    colour: str = GREY
    dashed: bool = False
    dotted: bool = False
    pale: bool = False


@dataclass(frozen=True)
class Axis:
    """What runs along it, between which ends; where words stand, by default at round numbers."""

    title: str
    low: float
    high: float
    words: Sequence[tuple[float, str]] = ()

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)


def curves(
    lines: Sequence[Line],
    x: Axis,
    y: Axis,
    *,
    alt: str,
    strokes: Sequence[tuple[float, float, float]] = (),
    upright: float | None = None,
    across: float | None = None,
    square: bool = False,
) -> None:
    """Draw the lines, with their names above them.

    Args: alt: what the figure is, for a screen reader; strokes: short upright lines, each at an x, from a y to a y
          upright, across: where a dotted line runs from end to end; square: as high as it is wide
    """

    def at(point: tuple[float, float]) -> str:
        return f"{_SIDE * x.share(point[0]):.1f},{_SIDE * (1 - y.share(point[1])):.1f}"

    def path(d: Iterable[str], colour: str, width: float, **more: object) -> str:
        rest = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
        return f'<path d="{"".join(d)}" stroke="{colour}" stroke-width="{width:g}"{rest}/>'

    drawn = [
        path((f"M{at(ends[0])}L{at(ends[1])}",), GREY, 1, stroke_dasharray="2 3")
        for ends in (
            *([] if upright is None else [((upright, y.low), (upright, y.high))]),
            *([] if across is None else [((x.low, across), (x.high, across))]),
        )
    ]
    for line in lines:
        faint = {"opacity": 0.5} if line.pale else {}
        dashes = {"stroke_dasharray": "8 5"} if line.dashed else {}
        drawn.append(path(("M", "L".join(map(at, line.points))), line.colour, 2, **faint, **dashes))
        if line.dotted:  # a line of no length with round ends stays round, however the picture is stretched
            dots = (f"M{at(point)}h0" for point in line.points)
            drawn.append(path(dots, line.colour, 6, stroke_linecap="round", **faint))
    if strokes:
        marks = (f"M{at((a, low))}L{at((a, high))}" for a, low, high in strokes)
        drawn.append(path(marks, ORANGE, 1, opacity=0.6))
    st.html(_figure(lines, (x, y), alt, "".join(drawn), square))


def _figure(lines: Sequence[Line], axes: tuple[Axis, Axis], alt: str, drawn: str, square: bool) -> str:
    x, y = axes
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIDE} {_SIDE}" preserveAspectRatio="none" fill="none">'
        f"<style>path{{vector-effect:non-scaling-stroke}}</style>{drawn}</svg>"
    )
    picture = b64encode(svg.encode()).decode("ascii")
    legend = "".join(
        f'<span{" class=dashed" if line.dashed else " class=pale" if line.pale else ""} style="--line:{line.colour}">'
        f"{in_html(line.name)}</span>"
        for line in lines
    )
    below, beside = (axis.words or ticks(axis.low, axis.high) for axis in (x, y))
    manner = " slanted" if sum(len(text) + 1 for _, text in below) > _FLAT else " square" if square else ""
    words = "".join(f'<u style="--at:{y.share(at):.4f}">{in_html(text)}</u>' for at, text in beside)
    words += "".join(f'<s style="--at:{x.share(at):.4f}">{in_html(text)}</s>' for at, text in below)
    return (
        f'<figure class="tw-plot{manner}" role="img" aria-label="{in_html(alt)}"><figcaption>{legend}</figcaption>'
        f'<p>{in_html(y.title)}</p><div>{words}<img alt="" src="data:image/svg+xml;base64,{picture}"></div>'
        f"<p>{in_html(x.title)}</p></figure>"
    )
