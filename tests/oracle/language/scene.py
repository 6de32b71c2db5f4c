"""The language of claims for a lesson's first screen: a function for each means that its picture is built from.

Numbers are exact; what the page sends has four digits, so each claims a range as wide as their rounding.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tests.oracle.language.page import Page, likeliest
from tests.oracle.language.statement import Between, Statement, chance
from tests.oracle.language.words import visible

Panel = dict[str, Any]


def near(value: float | None) -> Between | None:
    """A number that is sent with four digits, computed in single precision."""
    if value is None:
        return None
    slack = 6e-4 * abs(float(value)) + 2e-5
    return Between(float(value) - slack, float(value) + slack)


def card(
    text: str, state: str = "", note: str = "", bar: float | None = None, column: Sequence[float] = ()
) -> list[Any]:
    return [visible(text), state, note, near(bar), [near(value) for value in column]]


def row(cards: Sequence[list[Any]], name: str = "", role: str = "query", bare: bool = False) -> Panel:
    return {"name": name, "role": role, "cards": list(cards)} | ({"bare": True} if bare else {})


def link(start: tuple[int, int], end: tuple[int, int], weight: float, role: str = "query") -> list[Any]:
    return [*start, *end, near(weight), role]


def cards(
    rows: Sequence[Panel],
    links: Sequence[list[Any]] = (),
    title: str = "",
    chain: bool = False,
    limit: float = 1.0,
    slots: int = 0,
    tall: tuple[int, int] = (0, 0),
) -> Panel:
    told = {"kind": "cards", "title": title, "slots": slots, "chain": chain, "limit": near(limit)}
    told |= {"tall": tall[0], "whole": tall[1]} if tall[1] else {}
    return told | {"rows": list(rows), "links": list(links)}


def bar(label: str, value: float, text: str, before: float | None = None, strong: bool = False) -> list[Any]:
    return [visible(label), near(value), text, near(before), strong]


def bars(many: Sequence[list[Any]], title: str = "", role: str = "output", limit: float = 1.0, note: str = "") -> Panel:
    return {"kind": "bars", "title": title, "role": role, "limit": near(limit), "note": note, "bars": list(many)}


def guesses(
    shares: np.ndarray,
    text: Callable[[int], str],
    right: int,
    n: int,
    title: str = "",
    role: str = "output",
    **more: Any,
) -> Panel:
    """The n likeliest pieces (V), the right one among them and strong; before: where its bar was"""
    drawn = [(id, more | {"strong": True} if id == right else {}) for id in likeliest(shares, n, right)]
    return bars([bar(text(id), shares[id], chance(shares[id]), **looks) for id, looks in drawn], title, role)


def line(name: str, points: Sequence[tuple[float, float]], role: str = "query", dashed: bool = False) -> list[Any]:
    return [name, [[near(x), near(y)] for x, y in points], role, dashed]


def axis(title: str, low: float, high: float, names: Sequence[tuple[float, str]] = ()) -> list[Any]:
    return [title, near(low), near(high), *([[[near(at), name] for at, name in names]] if names else [])]


def curve(
    lines: Sequence[list[Any]],
    x: Sequence[Any],
    y: Sequence[Any],
    title: str = "",
    knob: tuple[float, float] | None = None,
    rug: Sequence[tuple[float, float]] = (),
    words: Sequence[tuple[float, float, str]] = (),
    height: int = 216,
    dots: Sequence[tuple[float, float]] = (),
) -> Panel:
    """x, y: the axes: title, low and high end; names of places, if they are written there."""
    told = {"kind": "curve", "title": title, "height": height, "x": axis(*x), "y": axis(*y), "lines": list(lines)}
    places = {name: [[near(x), near(y)] for x, y in some] for name, some in (("rug", rug), ("dots", dots))}
    knobs = None if knob is None else [near(knob[0]), near(knob[1])]
    return told | places | {"knob": knobs, "words": [[near(x), near(y), text] for x, y, text in words]}


def matrix(
    values: np.ndarray,
    title: str = "",
    note: str = "",
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    ends: float | None = None,
    signed: bool = False,
    marked: tuple[int, int] | None = None,
    pale: float = 0.0,
) -> Panel:
    return {
        "kind": "matrix",
        "title": title,
        "note": note,
        "rows": [visible(name) for name in rows],
        "columns": [visible(name) for name in columns],
        "ends": near(ends or float(np.abs(values).max(initial=0)) or 1.0),
        "signed": signed,
        "marked": None if marked is None else list(marked),
        "pale": near(pale),
        "values": [[near(value) for value in one] for one in np.asarray(values, float)],
    }


def dots(
    many: Sequence[tuple[float, bool]],
    ends: tuple[str, str],
    title: str = "",
    big: str = "",
    note: str = "",
    mine: float | None = None,
) -> Panel:
    shown = [[near(value), kind] for value, kind in many]
    told = {"kind": "dots", "title": title, "big": big, "note": note, "ends": list(ends)}
    return told | {"dots": shown, "mine": near(mine)}


def bands(
    pieces: Sequence[str],
    widths: np.ndarray,
    ends: Sequence[str],
    title: str = "",
    head: str = "",
    direct: bool = False,
    strong: int = 0,
) -> Panel:
    told = {"kind": "bands", "title": title, "head": head, "direct": int(direct), "strong": strong, "ends": list(ends)}
    drawn = [[near(width) for width in row] for row in np.asarray(widths, float)]
    return told | {"pieces": [visible(name) for name in pieces], "widths": drawn}


def ruler(text: str, start: int, count: int, last: int, marks: Sequence[tuple[int, str]], before: int = 1) -> Panel:
    told = {"kind": "ruler", "text": visible(text), "start": start, "before": before, "count": count, "last": last}
    return told | {"marks": [[place, visible(name)] for place, name in marks]}


def square(side: int, unit: int, most: int, reach: int, texts: Sequence[str], title: str = "") -> Panel:
    told = {"kind": "square", "title": title, "side": side, "unit": unit, "most": most, "reach": reach}
    return told | {"texts": list(texts)}


def wiring(sublayer: str, norms: tuple[int, int], title: str = "", more: int = 0) -> Panel:
    """norms: 0 after the sum, 1 behind the sub-layer, 2 before it"""
    return {"kind": "wiring", "title": title, "sublayer": sublayer, "norms": list(norms), "more": more}


def tower(moved: Sequence[float], text: str, title: str = "", note: str = "", limit: float = 1.0) -> Panel:
    shares = [near(share / limit) for share in moved]
    return {"kind": "tower", "title": title, "text": text, "note": note, "moved": shares}


def frame(stop: str, answer: str, *rows: Sequence[Panel]) -> dict[str, Any]:
    return {"stop": stop, "answer": answer, "rows": [list(panels) for panels in rows]}


def scene(
    page: Page,
    caption: str,
    control: str,
    frames: Sequence[dict[str, Any]],
    opens: int = 0,
    *,
    by: str = "choice",
    wide: Sequence[float] = (1,),
    plays: bool = False,
    press: str = "",
) -> Iterator[Statement]:
    """What the first screen must show; it opens with the frame that the address names, or with this one."""
    told = {"caption": caption, "control": control, "by": by, "plays": plays, "press": press, "wide": list(wide)}
    at = page.count("stop", len(frames), opens + 1) - 1
    yield Statement("scene", told | {"frames": list(frames), "at": at})
