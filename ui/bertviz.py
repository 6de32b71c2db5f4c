"""BertViz's views of any model's attention, with what they show and what was left out."""

import streamlit as st

from explore.attention import AttentionMaps
from explore.bertviz_views import (
    COLOURS,
    DIGITS,
    Mode,
    affordable_layers,
    head_view,
    head_view_height,
    model_view,
    model_view_height,
)
from ui.attention import KINDS, READABLE, readable_part
from ui.components.head_grid import MEAN
from ui.one_of import one_of


def bertviz(maps: AttentionMaps, layer: int, head: int) -> None:
    """Choice of a view, and the view; it opens on this layer. The head, or MEAN, is named in the words above it."""
    view = one_of("View", ["Head view", "Model view"], key="bertviz")
    cut = maps.first(READABLE)
    layers = affordable_layers(cut, layer)
    shown = cut.of_layers(layers)
    mode: Mode = "dark" if st.context.theme.type == "dark" else "light"
    if view == "Head view":
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
        if view == "Head view":
            page, height = head_view(cut, mode, layer, layers), head_view_height(shown)
        else:
            page, height = model_view(cut, mode, layers), model_view_height(shown)
    name = KINDS[maps.kind].name.lower()
    st.iframe(page, height=height, alt=f"BertViz, {view.lower()} of the {name}; its numbers are in the tables.")
    st.caption(_notes(maps, shown, layers, len(page)))


def _notes(maps: AttentionMaps, shown: AttentionMaps, layers: list[int], size: int) -> str:
    """What BertViz was given, and what was left out."""
    text = (
        f"BertViz got {shown.weights.size:,} weights, rounded to {DIGITS} decimals; the view takes {size // 1000} kB."
    )
    left_out = []
    if len(shown.weights) < len(maps.weights):
        left_out.append(f"Shown: layers {layers[0] + 1} to {layers[-1] + 1} of {len(maps.weights)}.")
    if shown.weights.shape[2:] != maps.weights.shape[2:]:
        left_out.append(readable_part(shown.weights.shape[2:], maps.weights.shape[2:]))
    return " ".join([text, *left_out, *(["More would be slow and hard to read."] if left_out else [])])
