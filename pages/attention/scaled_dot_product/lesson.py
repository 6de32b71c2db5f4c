"""The parts of the lesson on scaled dot-product attention."""

import math
from collections.abc import Sequence

import numpy as np
import streamlit as st

from model.interventions import Head, Interventions
from model.parts.attention import MultiHeadAttention, scaled_dot_product_attention
from model.trace import Trace
from pages.attention.scaled_dot_product.cost import cost
from pages.attention.scaled_dot_product.example import thinking_machines
from pages.attention.scaled_dot_product.scale import random_vectors, without_scale
from ui import engine
from ui.components.matrix import Caption
from ui.controls.control import Choice
from ui.controls.head_control import EARLY_HEAD as HEAD
from ui.course.check import Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question, which_piece
from ui.text import in_markdown, number
from ui.views.attention_kinds import KINDS, READABLE, tokens_of
from ui.views.charts.bars import bars
from ui.views.head_names import name_of

# The four steps: the tensor that each ends in, and its name.
STEPS = {"1 QKᵀ": "products", "2 divided by √d_k": "scaled", "3 softmax": "weights", "4 times V": "heads"}
STEP = Choice("Step", "stage", tuple(STEPS), "3 softmax")
MOVED = 0.005  # a weight that changes by less has stayed as it is


def about(step: str, d_k: int) -> tuple[str, str]:
    """What the tensor of a step is, and how to read it."""
    return {
        "products": ("How well each query matches each key", "Query times key, for every pair. Any size, any sign."),
        "scaled": (
            "The same, scaled",
            f"Divided by √{d_k} = {math.sqrt(d_k):g}: the same pattern, in a moderate range.",
        ),
        "weights": ("How each row shares out its attention", "Each row adds up to 1; masked cells are hatched."),
        "heads": (
            "What each row takes away",
            f"Each row is the weighted sum of all value vectors, {d_k} numbers.",
        ),
    }[step]


def idea(trace: Trace) -> None:
    st.markdown(
        "How well a :blue[**query**] fits a :orange[**key**] is one number, their **score**: the product of the two, "
        "divided by $\\sqrt{d_k}$ ($d_k$ counts the numbers of a key). The **softmax** turns a row of "
        "scores into shares that add up to 1. With these shares the :green[**values**] are mixed:"
    )
    st.latex(r"\operatorname{Attention}(Q,K,V)=\operatorname{softmax}\!\left(\frac{QK^{\mathsf T}}{\sqrt{d_k}}\right)V")
    with st.expander("The formula in words"):
        st.markdown(
            "Every piece asks a question (its query), holds up a label (its key) and carries content (its value). How "
            "well a question matches a label decides how much of that content flows. A piece's new vector is the "
            "average of all values, weighted by how well query and key match."
        )
        st.markdown(
            "The queries, keys and values of a sentence are the rows of Q, K and V. QKᵀ holds the product of every "
            "query with every key: number times number, all added up. The softmax takes e to each score and divides "
            "it by the sum of these."
        )
    with st.expander("A first example with round numbers: *Thinking Machines*"):
        thinking_machines()


def choose(trace: Trace) -> None:
    HEAD.draw(trace.model)
    STEP.draw()


def see(trace: Trace) -> Shown:
    head, step = HEAD.value(trace.model), STEPS[STEP.value()]
    q, k = (trace.tensors[f"{trace.path(head)}.{what}"][head.head] for what in "qk")
    t, s, d_k = len(q), len(k), q.shape[1]
    title, how_to_read = about(step, d_k)
    shown = checked_matrix(
        trace,
        f"{trace.path(head)}.{step}",
        Caption(f"{title} ({name_of(head)})", how_to_read),
        head=head.head,
    )
    st.caption(f"Shapes: Q ({t}, {d_k}), K ({s}, {d_k}), V ({s}, {d_k}); scores and weights ({t}, {s}).")
    with st.expander("One row through the softmax: score, e to the score, share"):
        softmax_of_row(trace, head, shown.cell[0])
    return shown


def softmax_of_row(trace: Trace, head: Head, row: int) -> None:
    """The softmax of the chosen row as three sets of bars."""
    rows, columns = tokens_of(trace, head.attention)
    scores = trace.attention(head.attention, head.layer, "scores")[head.head, row].astype(np.float64)
    seen = [j for j in range(min(len(columns), READABLE)) if np.isfinite(scores[j])]
    powers = np.exp(scores)
    names = [columns[j].text for j in seen]
    st.markdown(
        f"Row {row + 1}, **{in_markdown(rows[row].text)}**. e to a score is never negative, and it grows fast. Each is "
        f"divided by the sum of all, {number(float(powers.sum()))}."
    )
    sets = {"1. Score": scores, "2. e to the score": powers, "3. Share of the sum": powers / powers.sum()}
    for place, (name, values) in zip(st.columns(len(sets)), sets.items(), strict=True):
        with place:
            st.markdown(name)
            bars(
                names, values[seen].tolist(), f"{name}, for each piece", limit=float(np.abs(values[seen]).max()) or 1.0
            )
    st.caption("A negative score has no bar. The bars of each column have a scale of their own.")


def do(trace: Trace) -> None:
    head = HEAD.value(trace.model)
    random_vectors(trace, trace.tensors[f"{trace.path(head)}.q"].shape[-1])
    without_scale(trace, head)
    with st.expander("What attention costs, for short and long texts"):
        cost(trace)


def predict(trace: Trace) -> Sequence[Question]:
    head = HEAD.value(trace.model)
    return POLL, largest(trace, head), without(trace, head)


POLL = Question(
    "poll",
    "About attention, which of these are true?",
    (
        "The weights for input 2 use its key k₂ and all queries.",
        "The weights for input 2 use its query q₂ and all keys.",
        "Scaling brings the weights into [0, 1].",
        "Scaling is there for numerical stability.",
    ),
    frozenset({1, 3}),
    "A row of weights belongs to one query, which meets every key. *Numerical stability* is the usual name for what "
    "the scale is good for: it keeps the scores at a moderate size. Without it the softmax saturates: one weight takes "
    "nearly all, the slope is nearly 0, and training hardly gets on.",
    several=True,
    wrong={
        0: "It is the other way round: who asks brings the query; the keys belong to those that are looked at.",
        2: "The softmax does that, with or without the scale.",
    },
)


def _row(trace: Trace, head: Head) -> tuple[int, str, str]:
    """The row that is asked about, its piece, and where it is."""
    rows, _ = tokens_of(trace, head.attention)
    row = min(len(rows) - 1, len(rows) // 2)
    where = f"layer {head.layer + 1}, head {head.head + 1} of the {KINDS[head.attention].name.lower()}"
    return row, in_markdown(rows[row].text), where


def largest(trace: Trace, head: Head) -> Question:
    """Which piece gets the largest weight of a row."""
    row, name, where = _row(trace, head)
    weights = trace.attention(head.attention, head.layer)[head.head, row]
    return which_piece(
        "largest",
        f"In {where}: which piece gets the largest weight in the row of **{name}** (row {row + 1})?",
        weights,
        tokens_of(trace, head.attention)[1],
        f"Its weight is {number(float(weights.max()))}. Choose the cell in *See* to work it out.",
    )


def without(trace: Trace, head: Head) -> Question:
    """What the largest weight of that row becomes without the scale."""
    row, name, where = _row(trace, head)
    now = float(trace.attention(head.attention, head.layer)[head.head, row].max())
    bare = engine.retrace(trace, trace.translation, interventions=Interventions(scale_off=True))
    then = float(bare.attention(head.attention, head.layer)[head.head, row].max())
    right = 0 if then > now + MOVED else 2 if then < now - MOVED else 1
    wrong = ("Here it does not grow.", f"It moves by more than {MOVED}.", "Here it does not shrink.")
    return Question(
        "scale",
        f"Suppose nothing is divided by √d_k, in the whole model. The largest weight in the row of **{name}** "
        f"(row {row + 1}; {where}) will…",
        ("grow towards 1", f"stay as it is, within {MOVED}", "shrink"),
        frozenset({right}),
        f"It was {number(now)} and becomes {number(then)}. Larger scores mean larger gaps between them, and the "
        "softmax turns gaps into ratios. (The scale is off in every layer, so the scores themselves change too; that "
        "is why a row may now and then go the other way.)",
        wrong={n: text for n, text in enumerate(wrong) if n != right},
    )


LESSON = Lesson(
    "scaled-dot-product",
    "Scaled dot-product",
    asks="How does a piece decide what to look at?",
    idea=idea,
    predict=predict,
    bench=Bench(controls=choose, see=see, check=check_cell, do=do),
    code=(scaled_dot_product_attention, MultiHeadAttention),
    on_map=OnMap(plays=("encoder.self_attn",), near="score"),
)
