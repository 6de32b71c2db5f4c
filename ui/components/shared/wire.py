"""What both components share: their browser files, arrays as text, and the round trip of a choice."""

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

Cell = tuple[int, int]

_HERE = Path(__file__).parent.parent


def browser_file(*names: str) -> str:
    """Files of the components' folder, one after the other, without comment lines: they travel with every message."""
    lines = "\n".join((_HERE / name).read_text(encoding="utf-8") for name in names).splitlines()
    kept = (line.strip() for line in lines)
    return "\n".join(line for line in kept if line not in ("", "*") and not line.startswith(("//", "/**", "*/", "* ")))


def as_text(array: NDArray[Any], dtype: str) -> str:
    """The array as base64 of its bytes, row by row, little-endian."""
    return b64encode(np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()).decode("ascii")


def mount(
    component: Callable[..., Any],
    key: str,
    data: Callable[[Cell | None], dict[str, Any]],
    valid: Callable[[int, int], bool],
    on_select: Callable[[Cell], None] | None,
) -> Cell | None:
    """Draw a component and say which cell the learner chose to start this run, if that is how it started.

    The browser sends each choice as (row, column, number of the choice). A choice is known before the component is
    drawn, so it is drawn selected at once: no older selection flashes up while Python catches up. The number goes back
    as `seen`, by which the browser tells a selection that knows its last click from one that does not.

    Args:    data(choice) → what the browser gets, with the choice of this run in place of the page's selection;
             valid(row, column) → whether there is such a cell; on_select, called before the script runs
    Returns: the cell chosen, once, in the run the choice started; else None
    """

    def run_callback() -> None:
        event = _event(key)
        if on_select and event and valid(*event[0]):
            on_select(event[0])

    event = _event(key)
    chosen = event[0] if event and valid(*event[0]) else None
    slot = f"ui.components.seen.{key}"
    if event:
        st.session_state[slot] = event[1]
    payload = data(chosen) | {"seen": st.session_state.get(slot, 0)}
    component(key=key, data=payload, on_select_change=run_callback)
    return chosen


def _event(key: str) -> tuple[Cell, int] | None:
    """The choice that started this run, or None. What the browser sends is checked, not believed."""
    state = st.session_state.get(key)
    sent = state.get("select") if isinstance(state, dict) else None
    match sent:
        case [int(row), int(column), int(number)]:
            return (row, column), number
    return None
