"""The stage: the whole machine at work on one sentence, to play, to stop, and to step into."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from model.trace import Trace
from ui.components.shared.wire import browser_file
from ui.components.stage.data import stage_data

_FILES = ("numbers", "timeline", "layout", "scene", "draw", "controls", "card", "inside", "stage")
CODE = ("shared/colour.js", "shared/shared.js", *(f"stage/{name}.js" for name in _FILES))
STYLES = ("stage/stage.css", "stage/inside.css")
_component = st.components.v2.component(
    "transformer_walkthrough.stage", css=browser_file(*STYLES), js=browser_file(*CODE)
)

Cell = tuple[str, tuple[int, ...]]


def stage(trace: Trace, *, key: str, links: Mapping[str, str] | None = None) -> Cell | None:
    """Draw the machine with a sentence in it. It plays in the browser; the page hears only what one asks about.

    Args:    links: the blocks that have a lesson, by the id that the map gives them, and its title
    Returns: the number that someone asked about to start this run: its tensor's name and its place there, from 0
    """
    data = stage_data(trace, links)
    sent = _component(key=key, data=data, on_select_change=lambda: None)
    return asked(trace, data["tensors"], sent.get("select"))


def asked(trace: Trace, tensors: list[list[Any]], sent: object) -> Cell | None:
    """What the browser asks about. What it sends is checked, not believed."""
    match sent:
        case [int(number), *index] if 0 <= number < len(tensors) and all(type(i) is int for i in index):
            name, shape = tensors[number]
            if len(index) == len(shape) and all(0 <= i < size for i, size in zip(index, shape, strict=True)):
                return name, tuple(index)
    return None
