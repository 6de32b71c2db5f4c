"""BertViz's views of any model's attention, and what was left out of them."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import streamlit as st

from ui.components.head_grid import MEAN
from ui.controls.segmented import one_of
from ui.views.attention_kinds import KINDS, READABLE, readable_part

Mode = Literal["light", "dark"]


class Drawing(Protocol):
    """A whole HTML page, its height in pixels, and the layers in it, counted from 0."""

    @property
    def page(self) -> str: ...
    @property
    def height(self) -> int: ...
    @property
    def layers(self) -> Sequence[int]: ...


def bertviz(draw: Callable[[bool, Mode], Drawing], shape: tuple[int, ...], kind: str, head: int) -> None:
    """Choice of a view, how to read it, and the view.

    Args: draw(head view or else model view, mode); shape (L,H,T,S) of the weights before anything was left out
          head: the one chosen on this page, or MEAN
    """
    view = one_of("View", ["Head view", "Model view"], key="bertviz")
    by_head = view == "Head view"
    if by_head:
        chosen = "" if head == MEAN else f" The number of head {head + 1}, chosen above, is underlined."
        st.caption(
            "A line is a weight. It runs from the piece that looks (left) to the piece looked at (right); the stronger "
            f"the line, the larger the weight. Each colour is a head.{chosen} Click a numbered square to hide or show "
            "its head, double-click it to see that head alone. Point at a piece to see only its lines."
        )
    else:
        st.caption(
            "A row is a layer, a column is a head. Each small map draws the weights of one head as lines from left to "
            "right. Click a map to enlarge it and see its pieces; click again to close it. On a narrow screen, scroll "
            "the maps sideways."
        )
    with st.spinner("Drawing…"):
        drawing = draw(by_head, "dark" if st.context.theme.type == "dark" else "light")
    alt = f"BertViz, {view.lower()} of the {KINDS[kind].name.lower()}; its numbers are in the tables."
    st.iframe(drawing.page, height=drawing.height, alt=alt)
    st.caption(_notes(shape, drawing, by_head))


def _notes(shape: tuple[int, ...], drawing: Drawing, by_head: bool) -> str:
    """What BertViz was given, and what was left out."""
    n_layers, n_heads, *whole = shape
    shown = [min(n, READABLE) for n in whole]
    n_weights = len(drawing.layers) * n_heads * shown[0] * shown[1]
    first, last = drawing.layers[0] + 1, drawing.layers[-1] + 1
    text = f"BertViz got {n_weights:,} weights, rounded to 4 decimals; the view takes {len(drawing.page) // 1000} kB."
    left_out = []
    if not by_head and last - first + 1 < n_layers:
        left_out.append(f"Shown: layers {first} to {last} of {n_layers}." if last > first else f"Shown: layer {first}.")
    if shown != whole:
        left_out.append(readable_part(tuple(shown), tuple(whole)))
    return " ".join([text, *left_out, *(["More would be slow and hard to read."] if left_out else [])])
