"""Lesson: softmax(QKᵀ/√d_k)V in four steps, each a matrix one can click."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
import torch

from figures.statistics import entropy_bits, softmax_slope
from model.attention import MultiHeadAttention, scaled_dot_product_attention
from model.interventions import Interventions
from model.tap import Recorder
from model.trace import Trace
from ui import engine
from ui.attention import KINDS, tokens_of
from ui.check import check_cell, checked_matrix
from ui.choose import choose_head, current_head
from ui.compare import heads_before_after
from ui.course import show_lesson
from ui.quiz import Question
from ui.text import in_markdown, number

# The four steps: the tensor that each ends in, and what it is.
STEPS = {
    "products": (
        "1 QKᵀ",
        "How well each query matches each key",
        "Query times key, for every pair. Any size, any sign.",
    ),
    "scaled": ("2 divided by √d_k", "The same, scaled", "Divided by √64 = 8: the same pattern, in a moderate range."),
    "weights": (
        "3 softmax",
        "How each row shares out its attention",
        "Each row adds up to 1; masked cells are hatched.",
    ),
    "heads": (
        "4 times V",
        "What each row takes away",
        "Each row is the weighted sum of all value vectors, 64 numbers.",
    ),
}


def idea(trace: Trace) -> None:
    st.markdown(
        "Every piece asks a question (its :blue[**query**]), holds up a label (its :orange[**key**]) and carries "
        "content "
        "(its :green[**value**]). How well a question matches a label decides how much of that content flows: a "
        "piece's "
        "new vector is the average of all values, weighted by how well query and key match."
    )
    st.latex(r"\operatorname{Attention}(Q,K,V)=\operatorname{softmax}\!\left(\frac{QK^{\mathsf T}}{\sqrt{d_k}}\right)V")
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
        f"{weights[1]:.2f} v₂. "
        "These three lines were computed just now by the function under *Code*."
    )


def see(trace: Trace) -> None:
    head = choose_head()
    labels = {label: tensor for tensor, (label, *_) in STEPS.items()}
    step = labels[
        st.segmented_control(
            "Step", list(labels), default=STEPS["weights"][0], required=True, key="stage", bind="query-params"
        )
    ]
    checked_matrix(
        trace,
        f"{head.path}.{step}",
        head=head.head,
        kind=head.attention,
        title=f"{STEPS[step][1]} ({KINDS[head.attention].name.lower()}, layer {head.layer + 1}, head {head.head + 1})",
        how_to_read=STEPS[step][2],
    )
    q, k = (trace.tensors[f"{head.path}.{what}"][head.head] for what in "qk")
    t, s, d_k = len(q), len(k), q.shape[1]
    st.caption(
        f"Shapes: Q ({t}, {d_k}), K ({s}, {d_k}), V ({s}, {d_k}); weights ({t}, {s}). Cost: QKᵀ takes {t} · {s} · "
        f"{d_k} = "
        f"{t * s * d_k:,} multiplications and the last step as many: O(T²·d), so a sentence twice as long costs four "
        f"times "
        "as much."
    )


def do(trace: Trace) -> None:
    st.markdown("Why divide at all? Switch the scale off, in the whole model, and see what becomes of the weights.")
    off = st.toggle("Do not divide by √d_k", key="scale_off", bind="query-params")
    head = current_head()
    # The same target for both, so that rows can be compared; the translation without the scale stands below.
    target = trace.translation
    after = engine.trace(trace.text, target, interventions=Interventions(scale_off=True)) if off else trace
    heads_before_after(
        (trace, after if off else None),
        ("With the scale", "Without the scale"),
        head.attention,
        head.layer,
        head.head,
        instead="Switch the scale off to fill this side.",
    )
    for column, one in zip(st.columns(2, gap="medium"), (trace, after) if off else (trace,), strict=False):
        weights = one.attention(head.attention, head.layer)[head.head]
        column.markdown(
            f"Entropy of a row, on average: **{number(float(entropy_bits(weights).mean()), 2)} bits** · largest weight "
            f"of a row, on average: **{number(float(weights.max(-1).mean()), 2)}** · steepest slope of the softmax: "
            f"**{number(float(softmax_slope(weights).mean()), 3)}**"
        )
    if off:
        other = engine.trace(trace.text, interventions=Interventions(scale_off=True))
        st.markdown(
            f"The translation was **{in_markdown(trace.translation)}**; without the scale it is "
            f"**{in_markdown(other.translation) or '(nothing)'}**."
        )
        st.caption(
            "Without the scale, scores are eight times as large. The softmax saturates: nearly all weight goes to one "
            "piece, the entropy falls, and the slope that training would learn from goes towards 0."
        )


def check(trace: Trace) -> None:
    check_cell(trace)


def predict(trace: Trace) -> Sequence[Question]:
    head = current_head()
    weights = trace.attention(head.attention, head.layer)[head.head]
    rows, columns = tokens_of(trace, head.attention)
    row = min(len(rows) - 1, len(rows) // 2)
    best = int(weights[row].argmax())
    order = sorted({best, *(int(i) for i in np.argsort(-weights[row])[:4])})
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
            "keeps "
            "the softmax out of saturation.",
            several=True,
        ),
        Question(
            "largest",
            f"In {where}: which piece gets the largest weight in the row of **{name}** (row {row + 1})?",
            tuple(f"{in_markdown(columns[i].text)} (piece {i + 1})" for i in order),
            frozenset({order.index(best)}),
            f"Its weight is {number(float(weights[row, best]))}. Choose the cell in *See* to work it out.",
        ),
        Question(
            "scale",
            f"Switch the scale off. The largest weight in the row of **{name}** will…",
            ("grow towards 1", "stay as it is", "shrink"),
            frozenset({grows}),
            f"It was {number(float(now))} and becomes {number(float(sharper))}. Larger scores mean larger gaps "
            f"between them, "
            "and the softmax turns gaps into ratios. (The scale is off in every layer, so the scores themselves "
            "change too; "
            "that is why a row may now and then go the other way.)",
        ),
    )


show_lesson(
    "scaled-dot-product",
    idea=idea,
    see=see,
    do=do,
    check=check,
    predict=predict,
    code=(scaled_dot_product_attention, MultiHeadAttention),
)
