"""All maps of one kind of attention as an overview, and one of them large: for this model and for any other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explain import worked_average, worked_group, worked_weight
from figures.grouping import Group, grouped
from model.trace import Trace
from ui.components.announcement import announce
from ui.components.head_grid import MEAN, head_grid
from ui.components.matrix import Caption, Labels, matrix
from ui.controls.address import read_pair, write_pair
from ui.engine import numbers
from ui.text import in_markdown, legible, piece
from ui.views.attention_kinds import KINDS, READABLE, all_weights, choose_kind, groups_of, readable_part, tokens_of
from ui.views.worked_steps import show_steps


@dataclass(frozen=True)
class Place:
    """Where on the page the maps stand.

    prefix:  of the keys and of the names in the address, where a page has two of them
    stacked: the large map below the overview instead of beside it
    """

    prefix: str = ""
    stacked: bool = False


@dataclass(frozen=True)
class Chosen:
    """What the learner looks at: a layer, a head (or MEAN), a cell of its map, and the value there."""

    layer: int
    head: int
    cell: tuple[int, int]
    value: float


def browse(
    weights: NDArray[np.floating],
    rows: Sequence[Group],
    columns: Sequence[Group],
    caption: Caption,
    *,
    describe: str,
    default: tuple[int, int] = (0, MEAN),
    hidden: Callable[[int], NDArray[np.floating]] | None = None,
    place: Place = Place(),
    note: str = "",
) -> Chosen:
    """Draw the overview and the large map, and return what is chosen; both choices are kept in the address.

    Args: weights (L,H,T,S); rows, columns: groups of its T and S tokens; what is too large to read is cut
          default: layer and head to open on; hidden(layer) → (T,S), 1 = masked out, else 0
          note: below the overview
    """
    prefix, whole = place.prefix, (len(rows), len(columns))
    rows, columns = rows[:READABLE], columns[:READABLE]
    maps = grouped(weights, rows, columns)
    size = maps.shape[:2]
    overview, large = (st.container(), st.container()) if place.stacked else st.columns([1, 1.6], gap="medium")
    with overview:
        layer, head = read_pair(f"{prefix}map", size, default, lows=(0, MEAN))
        head_grid(
            maps,
            key=f"{prefix}heads",
            selected=(layer, head),
            title="Every layer and head",
            on_select=lambda chosen: write_pair(f"{prefix}map", chosen, default),
        )
        if note:
            st.caption(note)
    which = f"layer {layer + 1}, " + ("average of all heads" if head == MEAN else f"head {head + 1}")
    values = maps[layer].mean(0) if head == MEAN else maps[layer, head]
    cell = read_pair(f"{prefix}cell", values.shape, divmod(int(values.argmax()), values.shape[1]))
    with large:
        matrix(
            values,
            Labels([g.label for g in rows], [g.label for g in columns], describe=describe),
            replace(caption, title=f"{caption.title} ({which})", csv_name=f"{caption.csv_name} {which}"),
            key=f"{prefix}map",
            # A group is hidden if every piece of it is.
            hidden=grouped(hidden(layer), rows, columns) >= [len(g.pieces) for g in columns] if hidden else None,
            selected=cell,
            on_select=lambda chosen: write_pair(f"{prefix}cell", chosen),
        )
        if whole != values.shape:
            st.caption(readable_part(values.shape, whole))
    return Chosen(layer, head, cell, float(values[cell]))


@st.fragment
def attention_maps(trace: Trace) -> None:
    """Overview, one map and one weight worked out; a click redraws these alone."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        kinds = tuple(kind for kind in KINDS if kind in trace.model.anatomy.attentions)
        kind = choose_kind(kinds, default=kinds[-1])
        by_word = st.toggle("Group pieces into words", key="words", bind="query-params")
        hide_eos = st.toggle("Hide <eos>", key="hide_eos", bind="query-params")

    rows, columns = (groups_of(tokens, by_word) for tokens in tokens_of(trace, kind))
    n_columns = len(columns)
    if hide_eos:
        rows, columns = ([g for g in groups if g.label != "<eos>"] or groups for groups in (rows, columns))
    telling = (trace.model.about.telling or {}).get(kind)
    chosen = browse(
        all_weights(trace, kind),
        rows,
        columns,
        Caption(KINDS[kind].title, KINDS[kind].how_to_read, csv_name=f"attention {kind}"),
        describe=KINDS[kind].describe,
        default=(telling.layer, telling.head) if telling else (0, MEAN),
        hidden=lambda layer: np.isneginf(trace.attention(kind, layer, "scores")[0]),
        note=f"Layer {telling.layer + 1}, head {telling.head + 1} comes first: over many sentences, no other "
        f"head puts so much of its weight on {telling.looks_at}."
        if telling
        else "",
    )
    if len(columns) < n_columns:
        st.caption(in_markdown("Rows no longer add up to 1: the rest went to <eos>."))
    work_out(trace, kind, chosen, rows[chosen.cell[0]], columns[chosen.cell[1]])


def work_out(trace: Trace, kind: str, chosen: Chosen, row: Group, column: Group) -> None:
    """How the chosen weight came about, from the numbers one step earlier."""
    layer, head, value = chosen.layer, chosen.head, chosen.value
    weights = trace.attention(kind, layer)
    first = ""
    single = len(row.pieces) == len(column.pieces) == 1
    if head == MEAN:
        per_head = [float(grouped(w, [row], [column])[0, 0]) for w in weights]
        steps = [worked_average(per_head, [f"head {h + 1}" for h in range(len(weights))], value)]
        more = "Choose one head in the overview to see how its weight comes from a query and a key."
    elif single:
        path = trace.model.anatomy.attention(kind, layer).path
        steps = worked_weight(numbers(trace), path, (head, row.pieces[0], column.pieces[0]))
        d_k = trace.attention(kind, layer, "q").shape[-1]
        first = (
            f"Row {row.pieces[0] + 1} asks with its :blue[**query**] q, column {column.pieces[0] + 1} answers with its "
            f":orange[**key**] k: {d_k} numbers each, which this head makes for each piece. How it makes them is the "
            "lesson *Query, key, value*."
        )
        more = "The better the two fit, the more of what the column holds, its :green[**value**], goes into the row."
    else:
        steps = [worked_group(weights[head], row, column)]
        more = "Switch off the grouping to see how the weight between two pieces comes from a query and a key."
    with st.container(border=True, key="worked"):
        st.markdown(
            f"**How did this {legible(value)} come about?** "
            f"Row **{in_markdown(row.label)}**, column **{in_markdown(column.label)}**. "
            "Choose another cell of the map by a click, or with the arrow keys and Enter."
        )
        place = f"row {piece(row.label)}, column {piece(column.label)}"
        announce(f"Now worked out: {place}, {legible(value)}.", key="said_worked")
        if first:
            st.markdown(first)
        show_steps(steps)
        st.caption(f"{more} Numbers are shown rounded and were computed unrounded.")
