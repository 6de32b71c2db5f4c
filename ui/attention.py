"""The attention maps of a sentence: all heads as an overview, one large, any weight worked out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from figures.grouping import Group, grouped, pieces, words
from model.interventions import ATTENTIONS
from model.tokenizer import Token
from model.trace import Trace
from ui.address import read_pair, write_pair
from ui.components.head_grid import head_grid
from ui.components.matrix import matrix
from ui.engine import numbers
from ui.one_of import one_of
from ui.steps import show_steps
from ui.text import in_markdown, number
from ui.worked import worked_average, worked_group, worked_weight

MEAN = -1  # instead of a head: the average over the heads of a layer
READABLE = 40  # rows and columns; a larger map is cut to this part of it


@dataclass(frozen=True)
class Kind:
    """One of the three kinds of attention: its names, and how to read its maps.

    telling: the head (layer, head) to look at first, and what it looks at more than any other head of its kind,
             measured over 2,000 sentences (assets/model/heads.json)
    """

    name: str
    label: str
    title: str
    how_to_read: str
    describe: str
    telling: tuple[int, int]
    looks_at: str


KINDS = {
    "encoder": Kind(
        "Encoder self-attention",
        "Encoder",
        "Where each English piece looks in its own sentence",
        "A row is one piece of your sentence; its weights over all pieces add up to 1.",
        "“{row}” looks at “{column}”: {value}",
        (1, 1),
        "the next piece",
    ),
    "decoder": Kind(
        "Decoder masked self-attention",
        "Masked decoder",
        "Where the decoder looks in what is already written",
        "A row is one piece the decoder has read; it sees itself and what came before, never what follows.",
        "after reading “{row}”, the decoder looks at “{column}”: {value}",
        (2, 0),
        "the piece just read",
    ),
    "cross": Kind(
        "Encoder-decoder attention",
        "Encoder-decoder",
        "Where the model looks in your sentence for each German piece",
        "A row is the piece about to be written; its weights over the English pieces add up to 1.",
        "before writing “{row}”, the model looks at “{column}”: {value}",
        (2, 2),
        "the word being translated",
    ),
}


def choose_kind(kinds: Sequence[str] = tuple(KINDS), default: str = "encoder") -> str:
    """Control for the kind of attention, the same on every page."""
    by_label = {KINDS[kind].label: kind for kind in kinds}
    label = one_of("Attention", list(by_label), default=KINDS[default].label, key="attention", goes_along=True)
    return by_label.get(label, default)


def tokens_of(trace: Trace, kind: str) -> tuple[Sequence[Token], Sequence[Token]]:
    """Tokens that label the rows and the columns of one kind of attention."""
    match kind:
        case "encoder":
            return trace.src, trace.src
        case "decoder":
            return trace.tgt, trace.tgt
        case _:
            return trace.labels, trace.src


def head_title(kind: str, layer: int, head: int) -> str:
    """Which head a map shows, counted from 1."""
    return f"{KINDS[kind].name}, layer {layer + 1}, head {head + 1}"


def readable_part(shown: tuple[int, ...], whole: tuple[int, ...]) -> str:
    """Which part of a matrix is shown, naming only what is cut."""
    cut = [
        f"the first {s} of {w} {name}" for s, w, name in zip(shown, whole, ("rows", "columns"), strict=True) if s != w
    ]
    return f"Shown: {' and '.join(cut)}."


def groups_of(tokens: Sequence[Token], by_word: bool) -> list[Group]:
    texts = [token.text for token in tokens]
    return words(texts, [token.word for token in tokens]) if by_word else pieces(texts)


@st.fragment
def attention_maps(trace: Trace) -> None:
    """Overview, one map and one weight worked out; a click redraws these alone."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        kind = choose_kind(default="cross")
        by_word = st.toggle("Group pieces into words", key="words", bind="query-params")
        hide_eos = st.toggle("Hide <eos>", key="hide_eos", bind="query-params")

    rows, columns = (groups_of(tokens, by_word) for tokens in tokens_of(trace, kind))
    if hide_eos:
        rows, columns = ([g for g in groups if g.label != "<eos>"] or groups for groups in (rows, columns))
    n_rows, n_columns = len(rows), len(columns)
    rows, columns = rows[:READABLE], columns[:READABLE]

    weights = np.stack([trace.attention(kind, layer) for layer in range(n_layers(trace))])  # (L,H,T,S)
    maps = grouped(weights, rows, columns)
    size = maps.shape[:2]

    default = KINDS[kind].telling
    overview, large = st.columns([1, 1.6], gap="medium")
    with overview:
        layer, head = read_pair("map", size, default, lows=(0, MEAN))
        head_grid(
            maps,
            key="heads",
            selected=(layer, head),
            title="Every layer and head",
            on_select=lambda chosen: write_pair("map", chosen, default),
        )
        st.caption(
            f"Layer {default[0] + 1}, head {default[1] + 1} comes first: over many sentences, no other head looks so "
            f"much at {KINDS[kind].looks_at}."
        )
    which = f"layer {layer + 1}, " + ("average of all heads" if head == MEAN else f"head {head + 1}")
    values = maps[layer].mean(0) if head == MEAN else maps[layer, head]
    strongest = divmod(int(values.argmax()), values.shape[1])
    cell = read_pair("cell", values.shape, strongest)
    hidden = np.isneginf(trace.attention(kind, layer, "scores")[0])
    with large:
        matrix(
            values,
            [g.label for g in rows],
            [g.label for g in columns],
            key="map",
            title=f"{KINDS[kind].title} ({which})",
            how_to_read=KINDS[kind].how_to_read,
            describe=KINDS[kind].describe,
            hidden=grouped(hidden, rows, columns) >= [len(g.pieces) for g in columns],  # every piece of it
            selected=cell,
            csv_name=f"attention {kind} {which}",
            on_select=lambda chosen: write_pair("cell", chosen),
        )
        notes = []
        if (n_rows, n_columns) != (len(rows), len(columns)):
            notes.append(readable_part((len(rows), len(columns)), (n_rows, n_columns)))
        if hide_eos:
            notes.append("Rows are not renormalised: what they lack to 1 went to <eos>.")
        if notes:
            st.caption(in_markdown(" ".join(notes)))
    worked(trace, kind, layer, head, rows, columns, cell, float(values[cell]))


def n_layers(trace: Trace) -> int:
    """Layers of each stack."""
    return sum(name.endswith(".cross_attn.weights") for name in trace.tensors)


def worked(
    trace: Trace,
    kind: str,
    layer: int,
    head: int,
    rows: list[Group],
    columns: list[Group],
    cell: tuple[int, int],
    value: float,
) -> None:
    """How the chosen weight came about, from the numbers one step earlier."""
    row, column = rows[cell[0]], columns[cell[1]]
    weights = trace.attention(kind, layer)
    first = ""
    single = len(row.pieces) == len(column.pieces) == 1
    if head == MEAN:
        per_head = [float(grouped(w, [row], [column])[0, 0]) for w in weights]
        steps = [worked_average(per_head, [f"head {h + 1}" for h in range(len(weights))], value)]
        more = "Choose one head in the overview to see how its weight comes from a query and a key."
    elif single:
        path = ATTENTIONS[kind].format(layer)
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
            f"**How did this {number(value)} come about?** "
            f"Row **{in_markdown(row.label)}**, column **{in_markdown(column.label)}**. "
            "Choose another cell of the map by a click, or with the arrow keys and Enter."
        )
        if first:
            st.markdown(first)
        show_steps(steps)
        st.caption(f"{more} Numbers are shown rounded and were computed unrounded.")
