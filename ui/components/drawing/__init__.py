"""A small sheet to draw on with a finger or the mouse; or a photo, made small in the browser; or a sample."""

from base64 import b64decode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

import numpy as np
import streamlit as st

from model.files.loaded_model import Array
from ui.components.scene.sheet import ink_text
from ui.components.shared.wire import component

SIDE = 1000  # a point's coordinates go from 0 to it
PHOTO = 112  # pixels to a side of a photo as it is sent: a larger one never leaves the visitor's device
MOST_STROKES, MOST_NUMBERS = 100, 8000

_component = component("drawing", js=("shared/shared.js", "drawing/drawing.js"), css=("drawing/drawing.css",))

Strokes = tuple[tuple[tuple[int, int], ...], ...]  # points (x, y), from 0 to SIDE


@dataclass(frozen=True)
class Drawn:
    """What was drawn on the sheet; without a stroke it is empty."""

    strokes: Strokes


@dataclass(frozen=True)
class Photo:
    """A photo (PHOTO,PHOTO) in grey, from 0 (black) to 1, as the middle square of what was chosen."""

    grey: Array


@dataclass(frozen=True)
class Sample:
    """One of the samples, counted from 0."""

    n: int


def drawing(
    shown: Array,
    *,
    key: str,
    title: str,
    note: str,
    samples: Sequence[str],
    chosen: int | None,
    on_change: Callable[[Drawn | Photo | Sample], None],
) -> None:
    """Draw the sheet.

    Args: shown (n,n): ink from 0 to 1, for a browser that has no drawing of its own; title; note: below it
          samples: what is written on their buttons; chosen: the one that is shown, if one is
          on_change: called before the script runs
    """

    def heard() -> None:
        state = st.session_state.get(key)
        told = read(state.get("drawn") if isinstance(state, dict) else None, len(samples))
        if told is not None:
            on_change(told)

    data = {"title": title, "note": note, "samples": list(samples), "chosen": chosen}
    sheet = {"size": len(shown), "ink": ink_text(shown)}
    _component(key=key, data=data | sheet, on_drawn_change=heard)


def read(sent: object, n_samples: int) -> Drawn | Photo | Sample | None:
    """What the browser sent, checked and not believed; None if it cannot be."""
    match sent:
        case ["sample", int(n)] if 0 <= n < n_samples:
            return Sample(n)
        case ["strokes", list(strokes)] if len(strokes) <= MOST_STROKES:
            return _strokes(strokes)
        case ["photo", str(text)]:
            return _photo(text)
    return None


def _photo(text: str) -> Photo | None:
    """A byte for each pixel, as base64."""
    if len(text) != 4 * ceil(PHOTO**2 / 3):
        return None
    try:
        grey = np.frombuffer(b64decode(text, validate=True), dtype=np.uint8)
    except ValueError:
        return None
    return Photo(np.divide(grey, 255, dtype=np.float32).reshape(PHOTO, PHOTO)) if len(grey) == PHOTO**2 else None


def _strokes(strokes: list[object]) -> Drawn | None:
    """Each stroke comes as x, y, x, y …"""
    read_so_far: list[tuple[tuple[int, int], ...]] = []
    for stroke in strokes:
        if not isinstance(stroke, list) or len(stroke) % 2 or len(stroke) > MOST_NUMBERS:
            return None
        if not all(type(one) is int and 0 <= one <= SIDE for one in stroke):
            return None
        read_so_far.append(tuple(pairwise(stroke))[::2])
    return Drawn(tuple(filter(None, read_so_far))) if 2 * sum(map(len, read_so_far)) <= MOST_NUMBERS else None
