"""BertViz's views of any model's attention, with what they show and what was left out."""

from collections.abc import Callable
from typing import Literal

import streamlit as st

from ui.components.head_grid import MEAN
from ui.controls.segmented import one_of
from ui.views.attention_kinds import KINDS, READABLE, readable_part

Mode = Literal["light", "dark"]

# The colours that BertViz gives to the heads of a layer, one after the other.
COLOURS = ("blue", "orange", "green", "red", "purple", "brown", "pink", "grey", "olive", "light blue")


def bertviz(
    draw: Callable[[bool, Mode], tuple[str, int, list[int]]], shape: tuple[int, ...], kind: str, head: int
) -> None:
    """Choice of a view, and the view; the head, or MEAN, is named in the words above it.

    Args: draw(head view or else model view, mode) → HTML page, its height in pixels, the layers in it
          shape (L,H,T,S) of the weights before anything was left out
    """
    view = one_of("View", ["Head view", "Model view"], key="bertviz")
    by_head = view == "Head view"
    if by_head:
        chosen = "" if head == MEAN else f": head {head + 1}, chosen above, is {COLOURS[head % len(COLOURS)]}"
        st.caption(
            f"A line is a weight, from the piece that looks (left) to the one looked at (right): the stronger the "
            f"line, the larger the weight. Each colour is a head{chosen}. Click a coloured square to hide or show its "
            "head, double-click to see that head alone. Point at a piece to see its lines alone."
        )
    else:
        st.caption(
            "A row is a layer, a column a head; each map draws its weights as lines from left to right. Click a map to "
            "see it large, with its pieces; click again to close it. On a narrow screen, scroll the maps sideways."
        )
    with st.spinner("Drawing…"):
        page, height, layers = draw(by_head, "dark" if st.context.theme.type == "dark" else "light")
    name = KINDS[kind].name.lower()
    st.iframe(page, height=height, alt=f"BertViz, {view.lower()} of the {name}; its numbers are in the tables.")
    st.caption(_notes(shape, layers, len(page)))


def _notes(shape: tuple[int, ...], layers: list[int], size: int) -> str:
    """What BertViz was given, and what was left out."""
    n_layers, n_heads, *whole = shape
    shown = [min(n, READABLE) for n in whole]
    n_weights = len(layers) * n_heads * shown[0] * shown[1]
    text = f"BertViz got {n_weights:,} weights, rounded to 4 decimals; the view takes {size // 1000} kB."
    left_out = []
    if len(layers) < n_layers:
        left_out.append(f"Shown: layers {layers[0] + 1} to {layers[-1] + 1} of {n_layers}.")
    if shown != whole:
        left_out.append(readable_part(tuple(shown), tuple(whole)))
    return " ".join([text, *left_out, *(["More would be slow and hard to read."] if left_out else [])])
