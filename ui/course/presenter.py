"""Presenter mode: large type, one part of a lesson at a time, stepped through with the arrow keys."""

import streamlit as st

from ui.components.shared.wire import component
from ui.controls.address import read_count, write_count

KEY = "present"
_keys = component("keys", js=("shared/keys.js",))


def presenter_switch() -> bool:
    """The switch in the sidebar; True while presenting."""
    on = st.sidebar.toggle(
        "Presenter mode",
        key=KEY,
        bind="query-params",
        help="Large type and one part of a lesson at a time. Arrow keys step, Home starts over.",
    )
    if on:
        # What is not needed from the back row gives its place to the figure.
        st.html(
            "<style>html { font-size: 20px; } .st-key-examples, .tw-badge, .st-key-sentence label { display: none; } "
            "@media (min-width: 641px) { .stMainBlockContainer { padding-top: 0.8rem; max-width: 1720px; } }</style>"
        )
    else:
        write_count("step", 1, 1)  # how far one has stepped means nothing in a whole lesson
    return on


def read_step(n_parts: int) -> int:
    """Which part is shown, from the address (there counted from 1)."""
    return min(read_count("step", 1000, 1) or 1, n_parts) - 1


def _go(step: int) -> None:
    write_count("step", step + 1, 1)


def stepper(names: list[str]) -> int:
    """Buttons and arrow keys to step through parts with these names; returns the index of the one to show."""
    current, last = read_step(len(names)), len(names) - 1

    def turn() -> None:
        by = st.session_state["presenter_keys"].get("step")
        if by is not None:
            _go(0 if by == 0 else min(max(current + by, 0), last))

    with st.container(horizontal=True, vertical_alignment="center", key="stepper", width="content"):
        st.button("Back", on_click=_go, args=(max(current - 1, 0),), disabled=current == 0)
        st.button("Next", on_click=_go, args=(min(current + 1, last),), disabled=current == last, type="primary")
        st.button("Reset", on_click=_go, args=(0,), disabled=current == 0)
        st.markdown(f"Part {current + 1} of {len(names)}: **{names[current]}**", width="content")
    _keys(key="presenter_keys", on_step_change=turn)
    return current
