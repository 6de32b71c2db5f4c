"""The language of claims: one function for each kind of thing that a page can show.

A claim is the statement that must be read, with exact numbers (`number`, `tex`, `chance`) where the page rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tests.oracle.language.statement import (
    Between,
    Statement,
    Steps,
    between,
    chance,
    factor,
    magnitude,
    number,
    rounding,
    tex,
)
from tests.oracle.language.words import label, visible
from tests.oracle.passes.forward import Array

__all__ = ["Between", "Steps", "between", "chance", "factor", "magnitude", "number", "rounding", "tex", "visible"]


# Of a fold the text is what one clicks on; what is in it follows.
markdown, caption, header, subheader, info, latex, code, fold = (
    partial(Statement, kind) for kind in ("markdown", "caption", "header", "subheader", "info", "latex", "code", "fold")
)


def announcement(text: str) -> Statement:
    """What a screen reader says when it changes."""
    return Statement("announcement", {"text": text})


def table(head: str | Sequence[str], *rows: Sequence[str]) -> Statement:
    """The head may be one text, with | between the cells."""
    names = head.split(" | ") if isinstance(head, str) else list(head)
    return Statement("table", [names, *([label(visible(cell)) for cell in row] for row in rows)])


def link(label: str, page: str) -> Statement:
    return Statement("link", {"label": label, "page": page})


# --- controls --------------------------------------------------------------------------------------------------------


def control(type: str, label: str, **more: Any) -> Statement:
    """A control; help, placeholder and disabled only where there are any."""
    shown = {
        name: value
        for name, value in more.items()
        if name == "value" or (value not in ("", None) and value is not False)
    }
    return Statement("control", {"type": type, "label": label, **shown})


def segmented(label: str, options: Sequence[Any], value: Any, help: str = "") -> Statement:
    """One of a few options, side by side."""
    return control("button_group", label, options=[str(o) for o in options], value=str(value), help=help)


def toggle(label: str, value: bool, help: str = "") -> Statement:
    return control("toggle", label, value=value, help=help)


def select(label: str, options: Sequence[str], value: str, help: str = "") -> Statement:
    return control("selectbox", label, options=list(options), value=value, help=help)


def numbered(label: str, texts: Sequence[Any], at: int) -> Statement:
    """One of many texts, or of what has one, each with its number."""
    options = [f"{n} {visible(getattr(text, 'text', text))}" for n, text in enumerate(texts, 1)]
    return select(label, options, options[at])


def slider(label: str, low: float, high: float, value: float, help: str = "") -> Statement:
    told = {"type": "slider", "label": label, "low": low, "high": high, "value": value}
    return Statement("control", told | ({"help": help} if help else {}))


def text_box(label: str, value: str, placeholder: str = "", help: str = "") -> Statement:
    return control("text_input", label, value=value, placeholder=placeholder, help=help)


def button(label: str, help: str = "", disabled: bool = False) -> Statement:
    return control("button", label, help=help, disabled=disabled)


def download(label: str, help: str = "") -> Statement:
    return control("download_button", label, help=help)


# --- figures ---------------------------------------------------------------------------------------------------------


def matrix(
    values: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    how_to_read: str,
    csv_name: str,
    scale: str = "weight",
    limit: float | None = None,
    hidden: Array | None = None,
    selected: Sequence[int] | None = None,
    value_names: Sequence[Sequence[str]] | None = None,
    row_axis: str = "",
    column_axis: str = "",
    describe: str = "“{row}” → “{column}”: {value}",
    digits: int = 2,
    group: int = 0,
    hatched: str = "masked",
) -> Statement:
    """A coloured matrix. The scale of "weight" ends at 1, that of others at the largest size that is seen."""
    seen = np.abs(values[np.isfinite(values) & (True if hidden is None else ~np.asarray(hidden, bool))])
    ends = 1.0 if scale == "weight" else float(limit or seen.max(initial=0.0) or 1.0)
    return Statement(
        "matrix",
        {
            "values": np.asarray(values, float),
            "rows": [label(row) for row in rows],
            "columns": [label(column) for column in columns],
            "hidden": None if hidden is None else np.asarray(hidden, bool),
            "selected": None if selected is None else [int(n) for n in selected],
            "value_names": None if value_names is None else [list(names) for names in value_names],
            "title": title,
            "how_to_read": how_to_read,
            "row_axis": row_axis,
            "column_axis": column_axis,
            "describe": describe,
            "scale": scale,
            "limit": ends,
            "digits": digits,
            "group": group,
            "csv_name": csv_name,
            "hatched": hatched,
        },
    )


def head_grid(
    weights: Array,
    *,
    selected: Sequence[int] | None,
    title: str,
    row_label: str = "layer",
    mean: bool = True,
    captions: Sequence[Sequence[str]] | None = None,
) -> Statement:
    """An overview of maps (L,H,T,S), with the means over H behind them; a map's shades have 256 steps."""
    maps = np.concatenate([weights, weights.mean(1, keepdims=True)], 1) if mean else weights
    told = {"layers": len(weights), "heads": weights.shape[1], "mean": mean, "title": title, "row_label": row_label}
    chosen = None if selected is None else list(selected)
    below = None if captions is None else [list(row) for row in captions]
    return Statement("head_grid", told | {"maps": Steps(maps, 1 / 255), "selected": chosen, "captions": below})


def cards(
    many: Sequence[tuple[str, Sequence[str], int, bool]],
    *,
    title: str,
    how_to_read: str = "",
    selected: int | None = None,
    clickable: bool = False,
    runs: bool = False,
) -> Statement:
    """Pieces as cards: text, small print, number of the word, whether marked. runs: one may drag over them"""
    shown = [[text, list(small), word, marked] for text, small, word, marked in many]
    told = {"title": title, "how_to_read": how_to_read, "clickable": clickable or runs, "runs": runs}
    return Statement("pieces", told | {"cards": shown, "selected": None if selected is None else [0, selected]})


def bars(names: Sequence[str], values: Sequence[float], label: str, limit: float = 1.0, digits: int = 4) -> Statement:
    """A list of bars, each as long as its value on a scale from 0 to the limit, with its number."""
    rows = [[visible(name), chance(value, digits)] for name, value in zip(names, values, strict=True)]
    drawn = {"bars": [min(1.0, max(0.0, value / limit)) for value in values]} if len(values) else {}
    return Statement("bars", {"label": label, "rows": rows} | drawn)


def box(
    text: str,
    under: str = "",
    colour: str = "plain",
    parts: Sequence[str] = (),
    size: Sequence[float] = (0, 0),
    raised: str = "",
) -> dict[str, Any]:
    """A box of `flow`: what it is, what stands above its end and below it, its colour, its parts, width and height."""
    told = {"text": visible(text), "raised": raised, "under": under, "colour": colour}
    return told | {"parts": [visible(part) for part in parts], "size": list(size)}


def flow(label: str, *rows: Sequence[Any]) -> Statement:
    """Rows of boxes, with signs between them."""
    return Statement("flow", {"label": label, "rows": [list(row) for row in rows]})


def triangle(inputs: Sequence[str], predicted: Sequence[str], rows: Sequence[int], title: str) -> Statement:
    """What each row (from 0) of a decoder sees, and what it predicts: cells with what they are."""
    head = [["col", "row"], *(["col", visible(inputs[j])] for j in rows), ["col", "predicts"]]
    lines = [
        [
            ["row", str(i + 1)],
            *(["seen", visible(inputs[j])] if j <= i else ["hidden", "−∞"] for j in rows),
            ["next", visible(predicted[i])],
        ]
        for i in rows
    ]
    return Statement("triangle", {"title": title, "rows": [head, *lines]})


def strips(names: Sequence[str], values: Array, label: str, width: int = 512) -> Statement:
    """A strip for each row of values (T,N): a tick two pixels wide for each value above 0, darker the larger it is."""
    strength = np.sqrt(np.maximum(values, 0) / max(values.max(initial=0), 1e-9))
    pixels = np.zeros((len(values), width + 1))
    for line, row in zip(pixels, strength, strict=True):
        for n in np.flatnonzero(row):
            left = n * width // len(row)
            line[left : left + 2] = np.maximum(line[left : left + 2], 0.3 + 0.7 * row[n])
    rows = [[visible(name), str((row > 0).sum())] for name, row in zip(names, strength, strict=True)]
    return Statement("bars", {"label": label, "rows": rows, "strips": Steps(255 * pixels[:, :width], 1.0)})


@dataclass(frozen=True)
class Series:
    """Numbers (N) of a column chart: bars from 0; with deviations (N) dots in the middle of lines."""

    name: str
    values: Array
    deviations: Array | None = None


def columns(
    labels: Sequence[str], series: Sequence[Series], *, alt: str, axis: str, limit: float | None = None
) -> Statement:
    """A column chart: where each column begins and ends as a share of the height, what it says, the ticks beside it."""
    ends = [
        (np.minimum(s.values, 0), np.maximum(s.values, 0))
        if s.deviations is None
        else (s.values - s.deviations, s.values + s.deviations)
        for s in series
    ]
    high = float(limit or max(0.0, *(top.max(initial=0) for _, top in ends))) or 1.0
    low = float(min(0.0, *(bottom.min(initial=0) for bottom, _ in ends)))

    def share(values: Array) -> Array:
        return np.clip((values - low) / (high - low), 0, 1)

    drawn = {}
    for s, (bottom, top) in zip(series, ends, strict=True):
        parts = [share(bottom), share(top)] + ([] if s.deviations is None else [share(s.values)])
        drawn[s.name] = np.stack(parts, 1)
    says = []
    for n, name in enumerate(labels):
        lines = [
            f"{s.name} {number(s.values[n])}" + ("" if s.deviations is None else f" ± {number(s.deviations[n])}")
            for s in series
        ]
        says.append("\n".join([visible(name), *lines]))
    short = [visible(name) for name in labels]
    return Statement(
        "columns",
        {
            "label": alt,
            "axis": axis,
            "series": drawn,
            "names": [name if len(name) <= 14 else f"{name[:13]}…" for name in short],
            "says": says,
            "ticks": [[float(share(np.array(at))), text] for at, text in ticks(low, high)],
            "along": [(n + 0.5) / len(labels) for n in range(len(labels))],
        },
    )


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round numbers from low to high: the multiples of 1, 2 or 5 · 10ⁿ of which about six fit between them."""
    steps = sorted(size * 10.0**power for power in range(-12, 12) for size in (1, 2, 5))
    step = next(s for s in steps if s >= 0.999 * (high - low) / 6)
    digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [(n * step, number(n * step, digits)) for n in range(first, last + 1)]


def in_bytes(n: int) -> str:
    """With the largest unit that is not too large."""
    unit, size = max(
        ((u, b) for u, b in (("bytes", 1), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)) if b <= n), key=lambda x: x[1]
    )
    return f"{n} bytes" if unit == "bytes" else f"{number(n / size, 1)} {unit}"


GREY, BLUE, ORANGE = "#808a96", "#0072B2", "#E69F00"


@dataclass(frozen=True)
class Line:
    """A line of `curves` through points (N), x and y. Dotted: with a dot at each; pale: one of many."""

    name: str
    x: Any
    y: Any
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

    def share(self, values: Any) -> Array:
        return (np.asarray(values, float) - self.low) / (self.high - self.low)

    def said(self) -> list[list[Any]]:
        places = ((float(self.share(value)), text) for value, text in self.words or ticks(self.low, self.high))
        return [[Between(at - 1e-4, at + 1e-4), text] for at, text in places]


def curves(
    lines: Sequence[Line],
    x: Axis,
    y: Axis,
    *,
    alt: str,
    strokes: tuple[Any, Any, Any] | None = None,
    upright: float | None = None,
    across: float | None = None,
) -> Statement:
    """Lines over an axis, in shares of the picture's sides; each point may be 0.0001 off.

    Args: strokes: short upright lines: where (N), from which heights to which
          upright, across: where a dotted line runs from end to end
    """

    def path(xs: Any, ys: Any, colour: str, width: int, moves: str = "", **more: str) -> dict[str, Any]:
        points = np.stack(np.broadcast_arrays(x.share(xs), y.share(ys)), -1)
        drawn = {"stroke": colour, "stroke-width": str(width)} | {n.replace("_", "-"): v for n, v in more.items()}
        return {"points": Steps(points, 1e-4), "moves": moves or "M" + "L" * (len(points) - 1)} | drawn

    drawn = [
        path(xs, ys, GREY, 1, stroke_dasharray="2 3")
        for given, xs, ys in ((upright, [upright] * 2, (y.low, y.high)), (across, (x.low, x.high), [across] * 2))
        if given is not None
    ]
    for one in lines:
        faint = {"opacity": "0.5"} if one.pale else {}
        dashes = {"stroke_dasharray": "8 5"} if one.dashed else {}
        drawn.append(path(one.x, one.y, one.colour, 2, **faint, **dashes))
        if one.dotted:
            drawn.append(path(one.x, one.y, one.colour, 6, "Mh0" * len(one.x), stroke_linecap="round", **faint))
    if strokes:
        at, low, high = strokes
        ends = np.stack([low, high], 1).ravel()
        drawn.append(path(np.repeat(at, 2), ends, ORANGE, 1, "ML" * len(at), opacity="0.6"))
    legend = [[o.name, o.colour, "dashed" if o.dashed else "pale" if o.pale else ""] for o in lines]
    axes = {"axes": [y.title, x.title], "beside": y.said(), "below": x.said()}
    return Statement("curves", {"label": alt, "legend": legend, "drawn": drawn} | axes)


def scatter(x: Any, y: Any, mode: str = "lines", colour: str = "", width: float = 2, **more: Any) -> dict[str, Any]:
    """Points of `plot`, joined by a line of this colour, if it has one; more: what else the trace says."""
    dash = {"dash": more.pop("dash")} if "dash" in more else {}
    line = {"line": {"color": colour, "width": width, **dash}} if colour else {}
    hover = {"hovertemplate": more.pop("hover")} if "hover" in more else {"hoverinfo": "skip"}
    return {"type": "scatter", "mode": mode, "x": x, "y": y, **line, **hover, **more}


def plot(alt: str, traces: Sequence[dict[str, Any]], x: dict[str, Any], y: dict[str, Any], **more: Any) -> Statement:
    """A chart: all that its traces and axes say; more: other parts of the layout."""
    return Statement("plot", {"alt": alt, "traces": list(traces), "layout": {"xaxis": x, "yaxis": y, **more}})


# --- what is answered ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """A question with its key.

    right: indices of the right options; why: said with every answer; wrong: what is said about each wrong option
    """

    text: str
    options: Sequence[str]
    right: frozenset[int]
    why: str
    several: bool = False
    wrong: dict[int, str] = field(default_factory=dict)
    source: Any = field(default=None, compare=False, repr=False)


def question(
    text: str,
    options: Sequence[str],
    right: int | Sequence[int],
    why: str,
    wrong: Mapping[int, str] | Sequence[str] = (),
    source: Any = None,
) -> Question:
    """A question; `right` is the index of the right option, or a list if several may be chosen.

    wrong: what is said about options, by index, or about each in turn; about a right one nothing is said
    """
    several = not isinstance(right, int | np.integer)
    keys = frozenset(right) if several else frozenset({int(right)})  # type: ignore[arg-type]
    said = dict(wrong if isinstance(wrong, Mapping) else enumerate(wrong))
    return Question(text, list(options), keys, why, several, {n: s for n, s in said.items() if n not in keys}, source)


@dataclass(frozen=True)
class FillIn:
    """A step of the arithmetic that the learner does; judged to two decimals, or exactly if the answer is whole."""

    formula: str
    answer: float
    whole: bool = False
