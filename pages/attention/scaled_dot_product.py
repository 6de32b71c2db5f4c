"""Lesson: softmax(QKᵀ/√d_k)V in four steps, each a matrix one can click."""

import math
from collections.abc import Sequence

import streamlit as st
import torch

from figures.statistics import entropy_bits, softmax_slope
from model.attention import MultiHeadAttention, scaled_dot_product_attention
from model.interventions import Interventions
from model.tap import Recorder
from model.trace import Trace
from ui import engine
from ui.components.matrix import Caption
from ui.controls.head_control import HEAD
from ui.controls.segmented import one_of
from ui.course.check import check_cell, checked_matrix
from ui.course.lesson import Lesson
from ui.course.quiz import Question, which_piece
from ui.text import in_markdown, number
from ui.views.attention_kinds import KINDS, tokens_of
from ui.views.before_after import heads_before_after
from ui.views.head_names import name_of
from ui.views.tables import table

# The four steps: the tensor that each ends in, and its name.
STEPS = {"1 QKᵀ": "products", "2 divided by √d_k": "scaled", "3 softmax": "weights", "4 times V": "heads"}

# What is measured of every row of weights: its name, how, and with how many decimals.
MEASURES = (
    ("entropy, in bits", entropy_bits, 2),
    ("largest weight", lambda weights: weights.max(-1), 2),
    ("steepest slope of the softmax", softmax_slope, 3),
)


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
        "Every piece asks a question (its :blue[**query**]), holds up a label (its :orange[**key**]) and carries "
        "content (its :green[**value**]). How well a question matches a label decides how much of that content flows: "
        "a piece's new vector is the average of all values, weighted by how well query and key match."
    )
    st.latex(r"\operatorname{Attention}(Q,K,V)=\operatorname{softmax}\!\left(\frac{QK^{\mathsf T}}{\sqrt{d_k}}\right)V")
    st.markdown(
        "QKᵀ holds the product of every query with every key, and d_k is how many numbers a key has. The *softmax* "
        "turns a row of scores into shares that add up to 1: e to each score, divided by the sum of these."
    )
    with st.expander("A first example with round numbers: *Thinking Machines*"):
        thinking_machines()


def thinking_machines() -> None:
    """The decks' example (numbers of the Illustrated Transformer), run through the model's own function."""
    # One query against two keys, so built that the products are 112 and 96.
    q = torch.zeros(1, 1, 1, 64)
    q[..., 0] = 1.0
    k = torch.zeros(1, 1, 2, 64)
    k[0, 0, :, 0] = torch.tensor([112.0, 96.0])
    recorder = Recorder()
    scaled_dot_product_attention(q, k, torch.zeros(1, 1, 2, 64), tap=recorder)
    products, scaled, weights = (recorder.tensors[n][0, 0, 0].tolist() for n in ("products", "scaled", "weights"))
    st.markdown(
        f"The query of *Thinking* meets the keys of *Thinking* and *Machines*: the products are {products[0]:.0f} and "
        f"{products[1]:.0f}. Divided by √64 = 8 they are {scaled[0]:.0f} and {scaled[1]:.0f}; the softmax makes them "
        f"**{weights[0]:.2f}** and **{weights[1]:.2f}**. So the new vector is z = {weights[0]:.2f} v₁ + "
        f"{weights[1]:.2f} v₂. The function under *Code* has just computed these numbers."
    )


def choose(trace: Trace) -> None:
    HEAD.draw(trace.model)
    one_of("Step", list(STEPS), key="stage", default="3 softmax", wrap=True, width="content")


def see(trace: Trace) -> None:
    head, step = HEAD.value(trace.model), STEPS[st.session_state["stage"]]
    q, k = (trace.tensors[f"{trace.path(head)}.{what}"][head.head] for what in "qk")
    t, s, d_k = len(q), len(k), q.shape[1]
    title, how_to_read = about(step, d_k)
    checked_matrix(
        trace,
        f"{trace.path(head)}.{step}",
        Caption(f"{title} ({name_of(head)})", how_to_read),
        head=head.head,
    )
    st.caption(
        f"Shapes: Q ({t}, {d_k}), K ({s}, {d_k}), V ({s}, {d_k}); weights ({t}, {s}). Cost: QKᵀ takes {t} · {s} · "
        f"{d_k} = {t * s * d_k:,} multiplications and the last step as many. For T pieces of width d the cost grows "
        "like T²·d, written O(T²·d): a sentence twice as long costs four times as much."
    )


def do(trace: Trace) -> None:
    head = HEAD.value(trace.model)
    d_k = trace.tensors[f"{trace.path(head)}.q"].shape[-1]
    st.markdown(
        f"Why divide at all? A product of query and key is a sum of {d_k} terms: the longer the vectors, the larger "
        "the sums. Switch the scale off, in the whole model, and see what becomes of the weights."
    )
    off = st.toggle("Do not divide by √d_k", key="scale_off", bind="query-params")
    # The same target for both, so that rows can be compared; the translation without the scale stands below.
    target = trace.translation
    after = engine.trace(trace.text, target, interventions=Interventions(scale_off=True)) if off else trace
    heads_before_after(
        (trace, after if off else None),
        ("With the scale", "Without the scale"),
        head.attention,
        head.layer,
        head.head,
        instead="Switch the scale off, and the weights without it appear here.",
    )
    both = [one.attention(head.attention, head.layer)[head.head] for one in ((trace, after) if off else (trace,))]
    table(
        ("on average over the rows", "with the scale", *(["without it"] if off else [])),
        [
            (name, *(number(float(measure(weights).mean()), digits) for weights in both))
            for name, measure, digits in MEASURES
        ],
    )
    st.caption(
        "*Entropy* tells how evenly a row is spread: 0 bits when one piece gets everything, "
        f"{number(math.log2(both[0].shape[1]), 2)} bits when all {both[0].shape[1]} get the same. The *slope* tells "
        "how much a weight changes with its score, at most 0.25; training learns from it, so near 0 it learns nothing."
    )
    if off:
        other = engine.trace(trace.text, interventions=Interventions(scale_off=True))
        st.markdown(
            f"The translation was **{in_markdown(trace.translation) or '(nothing)'}**; without the scale it is "
            f"**{in_markdown(other.translation) or '(nothing)'}**."
        )
        st.caption(
            f"Without the scale, the scores of the first layer are {math.sqrt(d_k):g} times as large (what later "
            "layers read has changed as well). Large scores *saturate* the softmax: one piece gets nearly everything."
        )


def predict(trace: Trace) -> Sequence[Question]:
    head = HEAD.value(trace.model)
    weights = trace.attention(head.attention, head.layer)[head.head]
    rows, columns = tokens_of(trace, head.attention)
    row = min(len(rows) - 1, len(rows) // 2)
    where = f"layer {head.layer + 1}, head {head.head + 1} of the {KINDS[head.attention].name.lower()}"
    bare = engine.trace(trace.text, trace.translation, interventions=Interventions(scale_off=True))
    sharper = bare.attention(head.attention, head.layer)[head.head][row].max()
    now = weights[row].max()
    grows = 0 if sharper > now + 0.005 else 2 if sharper < now - 0.005 else 1
    name = in_markdown(rows[row].text)
    return (
        Question(
            "poll",
            "About attention, which of these are true?",
            (
                "The weights for input 2 use its key k₂ and all queries.",
                "The weights for input 2 use its query q₂ and all keys.",
                "Scaling brings the weights into [0, 1].",
                "Scaling is there for numerical stability.",
            ),
            frozenset({1, 3}),
            "A row belongs to one query, which meets every key. It is the softmax that bounds the weights; the scale "
            "keeps it from saturating, where one weight takes nearly all and the slope is nearly 0.",
            several=True,
        ),
        which_piece(
            "largest",
            f"In {where}: which piece gets the largest weight in the row of **{name}** (row {row + 1})?",
            weights[row],
            columns,
            f"Its weight is {number(float(now))}. Choose the cell in *See* to work it out.",
        ),
        Question(
            "scale",
            f"Switch the scale off. The largest weight in the row of **{name}** will…",
            ("grow towards 1", "stay as it is", "shrink"),
            frozenset({grows}),
            f"It was {number(float(now))} and becomes {number(float(sharper))}. Larger scores mean larger gaps between "
            "them, and the softmax turns gaps into ratios. (The scale is off in every layer, so the scores themselves "
            "change too; that is why a row may now and then go the other way.)",
        ),
    )


LESSON = Lesson(
    "scaled-dot-product",
    "Scaled dot-product",
    asks="How does a piece decide what to look at?",
    idea=idea,
    controls=choose,
    see=see,
    do=do,
    check=check_cell,
    predict=predict,
    code=(scaled_dot_product_attention, MultiHeadAttention),
    lit=("encoder.self_attn", "decoder.self_attn", "decoder.cross_attn"),
)
