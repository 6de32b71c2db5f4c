"""Lesson: several heads side by side, what each of them looks at, and what becomes of the translation without some."""

import numpy as np
import streamlit as st

from experiments.attention.ablation import log_probabilities_without
from experiments.attention.head_roles import aligned_words, evenness, places, role, shares
from model.interventions import Head
from model.parts.attention import MultiHeadAttention
from model.trace import Trace
from pages.attention.multi_head.cost import cost
from pages.attention.multi_head.measures import roles_here
from pages.attention.multi_head.questions import predict
from pages.attention.multi_head.ranking import ranking
from pages.attention.multi_head.roles import what_they_do
from pages.attention.multi_head.switching import switch_off
from ui.components.head_grid import head_grid
from ui.components.matrix import Caption, Labels
from ui.controls.control import Choice
from ui.controls.head_control import HEAD
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.views.attention_kinds import KINDS, READABLE
from ui.views.charts.flow import Box, flow
from ui.views.head_names import name_of, where

STAGES = EACH, SIDE_BY_SIDE, MIXED = "1 each head", "2 side by side", "3 after W^O"
STAGE = Choice("Step", "heads_stage", STAGES)
TRIALS = {"Switch heads off": switch_off, "Which head matters most": ranking, "Count the cost": cost}
TRIAL = Choice("Try", "heads_trial", list(TRIALS))
WINDOW = 16  # dimensions of each head that are shown at once, side by side
MIXED_COLUMNS = 64  # of the d_model after W^O, as many as are shown


def idea(trace: Trace) -> None:
    n_heads = trace.model.config.n_heads
    st.markdown(
        "A piece may need several things at once: the word before it, its verb, the end of the sentence. So a layer "
        f"has h = {n_heads} **heads**, and each looks in its own way. Their results stand side by side, and one more "
        "learned matrix mixes them:"
    )
    st.latex(r"\operatorname{Concat}(\mathrm{head}_1,\dots,\mathrm{head}_h)\,W^O")
    with st.expander("What one head is made of, with the shapes"):
        one_head(trace)


def one_head(trace: Trace) -> None:
    """The matrices of a head, and how wide its result is."""
    config = trace.model.config
    n_heads, d_k, d_model = config.n_heads, config.d_k, config.d_model
    st.markdown(
        "Each head has its own :blue[$W^Q$], :orange[$W^K$] and :green[$W^V$]. They make vectors of only "
        f"$d_k = d_{{model}} / h$ = {d_model} / {n_heads} = {d_k} numbers:"
    )
    st.latex(r"\mathrm{head}_i=\operatorname{Attention}(XW_i^Q,\,XW_i^K,\,XW_i^V)")
    st.markdown(f"Side by side the results are {d_model} numbers wide again, and $W^O$ mixes them:")
    names = [f"head {n + 1}" for n in range(n_heads)]
    t = len(trace.src)
    flow(
        [
            [Box(name, under=f"({t}, {d_k})", colour="value") for name in names],
            [
                "side by side:",
                Box("concatenated", under=f"({t}, {d_model})", colour="value", parts=tuple(names)),
                "·",
                Box("W", raised="O", under=f"({d_model}, {d_model})"),
                "=",
                Box("output", under=f"({t}, {d_model})", colour="output"),
            ],
        ],
        f"The results of {n_heads} heads, {d_k} numbers a piece, stand side by side, {d_model} numbers a piece. Times "
        f"W^O they are the output, again {d_model} numbers a piece.",
    )
    st.caption(
        f"Shapes for your sentence of {t} pieces, in the encoder. X holds the vectors that come in, one row for each "
        "piece. In encoder-decoder attention only the queries come from the decoder's X; keys and values are made from "
        "what the encoder returned."
    )


def choose(trace: Trace) -> None:
    HEAD.draw(trace.model)
    STAGE.draw()


def see(trace: Trace) -> None:
    head, stage = HEAD.value(trace.model), STAGE.value()
    {EACH: each_head, SIDE_BY_SIDE: side_by_side, MIXED: mixed}[stage](trace, head)
    n_heads, t, d_k = trace.attention(head.attention, head.layer, "q").shape
    d_model = n_heads * d_k
    st.caption(
        f"Shapes: {n_heads} heads of ({t}, {d_k}); side by side ({t}, {d_model}); times $W^O$ ({d_model}, {d_model}) "
        f"again ({t}, {d_model})."
    )


def each_head(trace: Trace, head: Head) -> None:
    """The heads of the layer side by side, one of them large, and what each of them does."""
    with st.spinner("Measuring what each head looks at"):
        roles = roles_here(trace, head.attention, head.layer)

    def enlarge(chosen: tuple[int, int]) -> None:
        st.session_state["head"] = chosen[1] + 1

    head_grid(
        trace.attention(head.attention, head.layer)[None, :, :READABLE, :READABLE],
        key="layer_heads",
        selected=(0, head.head),
        title=f"All heads of the {where(head)}: click one to see it large",
        row_label="",
        mean=False,
        captions=[roles],
        on_select=enlarge,
    )
    checked_matrix(
        trace,
        f"{trace.path(head)}.weights",
        Caption(f"{KINDS[head.attention].title} ({name_of(head)})", KINDS[head.attention].how_to_read),
        head=head.head,
    )
    what_they_do(trace, head, roles)


def side_by_side(trace: Trace, head: Head) -> None:
    """The concatenation, some dimensions of every head at a time."""
    n_heads, _, d_k = trace.attention(head.attention, head.layer, "q").shape
    firsts = range(0, d_k, WINDOW)
    windows = [f"{first + 1}–{min(first + WINDOW, d_k)}" for first in firsts]
    first = firsts[windows.index(Choice("Dimensions of each head", "window", windows).draw())]
    inside = range(first, min(first + WINDOW, d_k))
    columns = [n * d_k + dimension for n in range(n_heads) for dimension in inside]
    concat = trace.tensors[f"{trace.path(head)}.concat"]
    # Until a cell is chosen: the largest of the chosen head.
    own = np.abs(concat[:READABLE, head.head * d_k + first :][:, : len(inside)])
    row, column = divmod(int(own.argmax()), len(inside))
    checked_matrix(
        trace,
        f"{trace.path(head)}.concat",
        Caption(
            f"The heads' results side by side ({where(head)})",
            "A row is one piece. Lines divide the heads: what one head took away stands between two of them.",
        ),
        labels=Labels(
            columns=[f"head {j // d_k + 1}: {j % d_k + 1}" for j in columns],
            describe="“{row}”, {column}: {value}",
            group=len(inside),
        ),
        part=Part(columns=columns),
        start=(row, head.head * len(inside) + column),
    )
    if len(concat) > READABLE:
        st.caption(f"The first {READABLE} of {len(concat)} pieces.")


def mixed(trace: Trace, head: Head) -> None:
    """What W^O makes of the concatenation."""
    checked_matrix(
        trace,
        f"{trace.path(head)}.output",
        Caption(
            f"After W^O ({where(head)})",
            "A row is one piece. Every number is mixed from all heads, so no column belongs to one of them.",
        ),
        labels=Labels(describe="“{row}”, dimension {column}: {value}"),
        part=Part(n_columns=MIXED_COLUMNS),
    )


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


LESSON = Lesson(
    "multi-head",
    "Multi-head attention",
    asks="Why several heads, and what does each of them look at?",
    idea=idea,
    predict=predict,
    bench=Bench(controls=choose, see=see, check=check_cell, do=do),
    code=(MultiHeadAttention, shares, places, role, evenness, aligned_words, log_probabilities_without),
    on_map=OnMap(plays=("encoder.self_attn",), near="heads"),
)
