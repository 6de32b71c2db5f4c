"""The parts of the lesson on masks."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
import torch

from experiments.passes import one_at_a_time
from model.interventions import Head
from model.parts.attention import scaled_dot_product_attention
from model.parts.masks import causal_mask, pad_mask
from model.tap import Recorder
from model.trace import Trace
from pages.attention.masking.rows import draw_triangle
from pages.attention.masking.trials import lift, pad, parallel
from ui.components.matrix import Caption
from ui.controls.control import Choice
from ui.controls.head_control import HeadControl
from ui.course.check import Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import in_markdown, number

HEAD = HeadControl(("decoder",), "decoder")  # the kind of attention that this lesson is about

# The three stages: the tensor that each ends in, and what it is.
STAGES = {
    "1 before the mask": (
        "scaled",
        "Scores before the mask",
        "Query times key, divided by √d_k. The future is still there.",
    ),
    "2 after the mask": ("scores", "Scores after the mask", "Hatched: −∞. A row sees itself and what came before."),
    "3 after the softmax": ("weights", "Weights", "Each row adds up to 1; where the score was −∞, it is 0."),
}
STAGE = Choice("Step", "mask_stage", tuple(STAGES), "2 after the mask")
TRIALS = {"Lift the causal mask": lift, "Add padding": pad, "All at once or one by one": parallel}
TRIAL = Choice("Try", "mask_trial", tuple(TRIALS))


def idea(trace: Trace) -> None:
    st.markdown(
        "While the decoder learns, the right translation lies open before it. So that no piece can look ahead, a "
        "**causal mask** M turns the score of every later piece into −∞. The softmax then gives that piece a weight "
        "of exactly 0: nothing flows."
    )
    st.latex(r"\operatorname{softmax}\!\left(\frac{QK^{\mathsf T}}{\sqrt{d_k}}+M\right)")
    with st.expander("What each row sees, and a second mask for padding"):
        st.markdown(
            "Row i of the decoder sees the inputs 1 to i, the first of them `<sos>`, and predicts piece i of the "
            "translation."
        )
        draw_triangle(trace)
        st.markdown("M is added to the scores, and e to the −∞ is 0:")
        st.latex(r"M_{ij}=\begin{cases}0&\text{if row }i\text{ may see }j\\-\infty&\text{otherwise}\end{cases}")
        st.markdown(
            "A second mask, the **padding mask**, hides `<pad>`. Many sentences go through the model together, in one "
            "array of numbers, and this filler brings them to one length. No piece may look at it."
        )


def choose(trace: Trace) -> None:
    HEAD.draw(trace.model)
    STAGE.draw()


def see(trace: Trace) -> Shown:
    head = HEAD.value(trace.model)
    name, title, how_to_read = STAGES[STAGE.value()]
    shown = checked_matrix(
        trace,
        f"{trace.path(head)}.{name}",
        Caption(f"{title} (masked decoder self-attention, layer {head.layer + 1}, head {head.head + 1})", how_to_read),
        head=head.head,
        start=(min(1, len(trace.tgt) - 1), min(2, len(trace.tgt) - 1)),
    )
    t = len(trace.tgt)
    st.caption(
        f"Shapes: scores and weights ({t}, {t}), the mask ({t}, {t}). It hides {t} · {t - 1} / 2 = {t * (t - 1) // 2} "
        f"of {t * t} cells. Nothing is padded here: your sentence runs alone, so its padding mask hides nothing."
    )
    return shown


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace, HEAD.value(trace.model))


QUIZ_SCORES = ((1.0, 0.0, -1.0, -1.0), (1.0, 1.0, -1.0, 0.0), (0.0, 1.0, 1.0, -1.0), (-1.0, -1.0, 2.0, 1.0))


def masked_quiz() -> np.ndarray:
    """The weights (4,4) that the model's own attention makes of the decks' scaled scores, behind its causal mask."""
    # With d_k = 4 keys of one 1 each, QKᵀ is Q; doubled, because the function divides by √4.
    q = 2 * torch.tensor(QUIZ_SCORES)[None, None]
    recorder = Recorder()
    scaled_dot_product_attention(q, torch.eye(4)[None, None], torch.eye(4)[None, None], causal_mask(4), recorder)
    return recorder.tensors["weights"][0, 0].numpy()


def predict(trace: Trace) -> Sequence[Question]:
    return alpha(), first_row(trace, HEAD.value(trace.model))


def alpha() -> Question:
    """One weight of the decks' little example."""
    weights = masked_quiz()
    values = (0.0, 0.5, float(np.e / (2 * np.e + 1 / np.e + 1)), 1.0)
    right = int(np.argmin([abs(value - weights[1, 1]) for value in values]))
    lines = (f"| {i} | " + " | ".join(number(s, 0) for s in row) + " |" for i, row in enumerate(QUIZ_SCORES, 1))
    return Question(
        "alpha",
        "Four pieces have these scaled scores, a row for each query:\n\n"
        "| | 1 | 2 | 3 | 4 |\n|---|---|---|---|---|\n"
        + "\n".join(lines)
        + "\n\nWhat is the weight $\\alpha_{2,2}$ in *masked* self-attention?",
        ("0", "0.5", "e / (2e + e⁻¹ + 1)", "1"),
        frozenset({right}),
        f"Row 2 sees the pieces 1 and 2 only, and their scores are both 1: e / (e + e) = {number(weights[1, 1], 1)}.",
        wrong={
            0: "That is the weight of a hidden piece. But row 2 may see piece 2, itself.",
            2: f"That is the weight without the mask: {number(values[2])}.",
            3: "It would be, if row 2 saw itself alone. It sees piece 1 too.",
        },
    )


def first_row(trace: Trace, head: Head) -> Question:
    """What the first row gives to itself."""
    first = float(trace.tensors[f"{trace.path(head)}.weights"][head.head, 0, 0])
    return Question(
        "first",
        f"The decoder writes *{in_markdown(trace.translation) or 'nothing'}* What weight does "
        f"**{in_markdown(trace.tgt[0].text)}**, row 1, give to itself in layer {head.layer + 1}, head {head.head + 1} "
        "of the masked self-attention?",
        ("0", "0.5", "1", "It depends on its query and key."),
        frozenset({2 if first == 1 else 3}),
        f"It is {number(first)}, in every head and for every sentence: row 1 sees itself alone, and a softmax over one "
        "score is 1, whatever the score.",
        wrong={
            0: "A row of weights adds up to 1, and here there is only one to give.",
            1: "There is nothing else to share with.",
            3: "The score does, the weight does not.",
        },
    )


LESSON = Lesson(
    "masking",
    "Masking",
    asks="How is the decoder kept from seeing the future?",
    idea=idea,
    predict=predict,
    bench=Bench(controls=choose, see=see, check=check_cell, do=do),
    code=(causal_mask, pad_mask, scaled_dot_product_attention, one_at_a_time),
    on_map=OnMap(opens=("decoder.self_attn",), near="mask"),
)
