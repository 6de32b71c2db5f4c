"""Laws that every Plotly chart keeps, whatever it shows: each line has its name, each label can be read."""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

PHONE, DESK = 344, 700  # pixels that a chart has on the narrowest phone, and in a lesson on a large screen
GLYPH = 0.52  # of the size of a font: the width of a letter, on average
Box = tuple[float, float, float, float]  # left, top, right, bottom


def faults(figure: dict[str, Any], theme: str, config: str) -> list[str]:
    """What is wrong with the looks of a chart; its arrays are unpacked. Nothing if it can be read."""
    layout, traces = figure["layout"], figure["data"]
    axes = {name: axis for name, axis in layout.items() if re.fullmatch(r"[xy]axis\d*", name)}
    found = [f"{name} zooms under who scrolls" for name, axis in axes.items() if not axis.get("fixedrange")]
    bare = json.loads(config or "{}").get("displayModeBar") is False
    if layout.get("dragmode") is not False or theme != "streamlit" or not bare:
        found.append(f"it can be dragged, or has not the app's colours: {layout.get('dragmode')}, {theme}, {config}")
    clear = [layout.get("paper_bgcolor"), layout.get("plot_bgcolor")]
    if clear != ["rgba(0,0,0,0)"] * 2:
        found.append(f"its ground hides that of the page, light or dark: {clear}")
    return found + _legend(traces, layout) + _colours(traces) + [
        f"{fault}, {width} pixels wide" for width in (PHONE, DESK) for fault in _labels(traces, layout, width)
    ]  # fmt: skip


def _legend(traces: list[dict[str, Any]], layout: dict[str, Any]) -> list[str]:
    """Several lines of one kind on one pair of axes are told apart by a legend; what has one name needs none."""
    kinds = {(one.get("mode"), one.get("yaxis", "y")) for one in traces}
    several = any(
        len({one.get("name") for one in traces if (one.get("mode"), one.get("yaxis", "y")) == kind} - {None}) > 1
        for kind in kinds
    )
    if bool(layout.get("showlegend")) != several:
        return ["several lines and no legend" if several else "a legend of one name"]
    if not several:
        return []
    shown = [one["name"] for one in traces if one.get("showlegend", True)]
    found = [] if sorted(shown) == sorted({one["name"] for one in traces}) else [f"the legend names {shown}"]
    place = layout["legend"]
    outside = place["y"] > 1 and place["yanchor"] == "bottom" and place.get("orientation") == "h"
    return found if outside and layout["margin"]["t"] >= 40 else [*found, "the legend lies on the lines"]


def _colours(traces: list[dict[str, Any]]) -> list[str]:
    """Who sees no colours tells lines by their manner, points by their sign."""
    looks: dict[str, set[str]] = {}
    for one in traces:
        if one.get("name"):
            line, marker = one.get("line", {}), one.get("marker", {})
            sign = line.get("dash"), str(marker.get("symbol")), one.get("mode"), one.get("yaxis")
            looks.setdefault(one["name"], set()).add(str((line.get("color"), marker.get("color"), *sign)))
    return [f"{a} and {b} look alike" for a, b in combinations(looks, 2) if looks[a] & looks[b]]


def _labels(traces: list[dict[str, Any]], layout: dict[str, Any], width: int) -> Iterator[str]:
    """Each label lies in the picture and hides neither its own point nor a label."""
    points = [
        (one, *place) for one in traces if "text" in str(one.get("mode")) for place in _places(one, layout, width)
    ]
    boxes: list[tuple[str, Box]] = []
    for trace, n, x, y in points:
        text = _plain(trace["text"][n])
        if not text:
            continue
        where = _nth(trace.get("textposition", "middle center"), n)
        across, reach = _size(text, trace), _nth(trace["marker"]["size"], n) / 2
        if where == "middle center":
            yield f"“{text}” is written on its own point"
        left = x - across / 2 + {"left": -1, "center": 0, "right": 1}[where.split()[1]] * (reach + across / 2)
        top = y - 7 + {"top": -1, "middle": 0, "bottom": 1}[where.split()[0]] * (reach + 7)
        boxes.append((text, (left, top, left + across, top + 14)))
    round_ = "scaleanchor" in layout["yaxis"]  # its sides follow from the room that there is
    for text, (left, top, right, bottom) in boxes:
        if not round_ and (left < 0 or right > width or top < 0 or bottom > layout["height"]):
            yield f"“{text}” leaves the picture"
    notes = [] if round_ else [(n["text"], _note(n, layout, width)) for n in layout.get("annotations", ()) if n["text"]]
    marks = [("a point", (x - 5, y - 5, x + 5, y + 5)) for trace, _, x, y in points]
    for text, note in notes:
        for other, box in (*boxes, *marks):
            if _overlap(note, box):
                yield f"“{_plain(text)}” is written over {other}"


def _places(trace: dict[str, Any], layout: dict[str, Any], width: int) -> Iterator[tuple[int, float, float]]:
    for n, (x, y) in enumerate(zip(trace["x"], trace["y"], strict=True)):
        yield n, _pixel(layout, "xaxis", x, width), _pixel(layout, "yaxis", y, width)


def _pixel(layout: dict[str, Any], name: str, value: Any, width: int) -> float:
    """Where a value stands, in pixels from the left or from the top; an axis without ends is taken from 0 to it."""
    axis, margin = layout[name], layout["margin"]
    if axis.get("type") == "category" and isinstance(value, str):
        value = axis["categoryarray"].index(value)
    elif axis.get("type") == "log":
        value = np.log10(float(value))
    low, high = axis.get("range", (0, value or 1))
    share = (value - low) / (high - low)
    if name == "xaxis":
        return float(margin["l"] + share * (width - margin["l"] - margin["r"]))
    return float(margin["t"] + (1 - share) * (layout["height"] - margin["t"] - margin["b"]))


def _note(note: dict[str, Any], layout: dict[str, Any], width: int) -> Box:
    """The box of an annotation, whose place on a log axis is a logarithm."""
    x, y = (
        _pixel({**layout, name: {**layout[name], "type": "linear"}}, name, note[name[0]], width)
        if note.get(f"{name[0]}ref") != "paper"
        else _pixel({**layout, name: {"range": (0, 1)}}, name, note[name[0]], width)
        for name in ("xaxis", "yaxis")
    )
    lines = re.split("<br>", note["text"])
    across, high = max(_size(line, note) for line in lines), 14 * len(lines)
    left = x + note.get("xshift", 0) - across * {"left": 0, "center": 0.5, "right": 1}[note.get("xanchor", "center")]
    top = y - note.get("yshift", 0) - high * {"top": 0, "middle": 0.5, "bottom": 1}[note.get("yanchor", "middle")]
    return left, top, left + across, top + high


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _size(text: str, one: dict[str, Any]) -> float:
    font = one.get("textfont", one.get("font", {})).get("size", 12)
    return GLYPH * float(font) * len(_plain(text))


def _plain(text: str) -> str:
    return re.sub(r"<[^>]*>", "", text)


def _nth(value: Any, n: int) -> Any:
    """Of a list, or the one value for all."""
    return value if isinstance(value, str | int | float) else value[n]
