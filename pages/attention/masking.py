"""Lesson: the padding mask and the causal mask, and why the decoder may train on all positions at once."""

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st
import torch

from experiments.passes import changed_pass, one_at_a_time, padded_pass
from figures.probabilities import probabilities_of
from model.attention import scaled_dot_product_attention
from model.interventions import Head, Interventions
from model.masks import causal_mask, pad_mask
from model.tap import Recorder
from model.tokenizer import PAD
from model.trace import Array, Trace
from ui import engine
from ui.components.matrix import Caption, Labels
from ui.controls.head_control import HeadControl
from ui.controls.segmented import one_of
from ui.course.check import check_cell, checked_matrix
from ui.course.lesson import Lesson
from ui.course.quiz import Question
from ui.text import in_markdown, magnitude, number
from ui.views.attention_kinds import READABLE, head_title
from ui.views.before_after import before_after, pieces_before_after
from ui.views.tables import table

ONLY = ("decoder",)  # the kind of attention that this lesson is about
ROWS = 7  # of the triangle
ANY_ROW = "“{row}” looks at “{column}”: {value}"  # also where a row is padding

# The three stages: the tensor that each ends in, and what it is.
STAGES = {
    "1 before the mask": ("scaled", "Scores before the mask", "Query times key, divided by √d_k: the future too."),
    "2 after the mask": ("scores", "Scores after the mask", "Hatched: −∞. A row sees itself and what came before."),
    "3 after the softmax": ("weights", "Weights", "Each row adds up to 1; where the score was −∞, it is 0."),
}


def idea(trace: Trace) -> None:
    st.markdown(
        "A mask says which pairs may meet at all. Where they may not, the score is replaced by −∞ before the softmax, "
        "and since e to the −∞ is 0, the weight is exactly 0 after it: nothing flows."
    )
    # Two formulas, because one would be torn apart on a phone.
    with st.container(horizontal=True, horizontal_alignment="center", gap="large", key="mask_formulas"):
        st.latex(r"\operatorname{softmax}\!\left(\frac{QK^{\mathsf T}}{\sqrt{d_k}}+M\right)", width="content")
        st.latex(
            r"M_{ij}=\begin{cases}0&\text{if row }i\text{ may see }j\\-\infty&\text{otherwise}\end{cases}",
            width="content",
        )
    st.markdown(
        "- The **causal mask** hides the future: while the decoder learns to predict a piece, it must not read that "
        "piece. Row i sees the inputs 0 to i and predicts piece i + 1.\n"
        "- The **padding mask** hides `<pad>`. Many sentences go through the model together, in one array of numbers, "
        "and this filler brings them to one length. Nobody may look at it."
    )
    with st.expander("The triangle: what each row of the decoder sees, and what it predicts", expanded=True):
        triangle(trace)


def triangle(trace: Trace) -> None:
    last = len(trace.tgt) - 1
    shown = sorted({*range(min(last, ROWS - 1)), last})
    table(
        ("row", "it sees", "it predicts"),
        [(str(i), " ".join(token.text for token in trace.tgt[: i + 1]), trace.labels[i].text) for i in shown],
    )
    if len(shown) < last + 1:
        st.caption(f"The first {ROWS - 1} of {last + 1} rows, and the last.")


def choose(trace: Trace) -> None:
    HeadControl(ONLY, "decoder").draw(trace.model)
    one_of("Step", list(STAGES), key="mask_stage", default="2 after the mask", wrap=True, width="content")


def see(trace: Trace) -> None:
    head, stage = HeadControl(ONLY, "decoder").value(trace.model), st.session_state["mask_stage"]
    name, title, how_to_read = STAGES[stage]
    checked_matrix(
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


def do(trace: Trace) -> None:
    trials = {"Lift the causal mask": lift, "Add padding": pad, "All at once or one by one": parallel}
    trials[one_of("Try", list(trials), key="mask_trial", wrap=True)](
        trace, HeadControl(ONLY, "decoder").value(trace.model)
    )


def lift(trace: Trace, head: Head) -> None:
    st.markdown(
        "Let the decoder see the whole German sentence at once, the words it has yet to write included. Nothing else "
        "changes."
    )
    src, tgt = trace.src_ids, trace.tgt_ids
    lifted = engine.run(changed_pass, trace.model, src, tgt, Interventions(causal_mask_off=True), ("weights", "logits"))
    before_after(
        (trace.tensors[f"{trace.path(head)}.weights"][head.head], lifted[f"{trace.path(head)}.weights"][head.head]),
        ("With the causal mask", "Mask lifted"),
        Labels([token.text for token in trace.tgt], [token.text for token in trace.tgt], describe=ANY_ROW),
        how_to_read=f"{head_title('decoder', head.layer, head.head)}; 0 to 1 on both sides.",
        csv_name="weights",
        hidden=(~causal_mask(len(tgt))[0, 0].numpy(), None),
    )
    labels = [token.id for token in trace.labels]
    names = "with the mask", "mask lifted"
    before, after = (probabilities_of(logits, labels) for logits in (trace.tensors["logits"], lifted["logits"]))
    st.markdown("**The probability of each piece of the translation, with and without the mask**")
    lower, higher = pieces_before_after(trace.labels, before, after, names)
    st.markdown(
        f"On average the probability goes from **{number(float(before.mean()))}** to "
        f"**{number(float(after.mean()))}**: it falls for {lower} of {len(before)} pieces and rises for {higher}."
    )
    st.caption(
        "This model learned with the mask, so the future is something it never saw and does not know how to use. Had "
        "it learned without the mask, it would simply have copied the next word from its own input: nearly no error in "
        "training, and nothing to copy when it has to write."
    )


def pad(trace: Trace, head: Head) -> None:
    st.markdown(
        f"Beside a longer sentence, yours would be filled up with `{PAD}`. Fill it up, once with the padding mask and "
        "once without: what changes for your words?"
    )
    count = st.slider(f"How many {PAD} behind your sentence", 1, 10, 3, key="pads", bind="query-params")
    src, tgt = trace.src_ids, trace.tgt_ids
    with_mask, without = (engine.run(padded_pass, trace.model, src, tgt, count, masked) for masked in (True, False))
    logits = trace.tensors["logits"]
    same, other = (float(np.abs(run["logits"] - logits).max()) for run in (with_mask, without))
    texts = [token.text for token in trace.src][: READABLE - count] + [PAD] * count
    keep = [*range(len(texts) - count), *range(len(src), len(src) + count)]
    path = trace.model.anatomy.attention("encoder", head.layer).path
    left, right = (run[f"{path}.weights"][head.head][np.ix_(keep, keep)] for run in (with_mask, without))
    hidden = np.zeros(left.shape, dtype=bool)
    hidden[:, -count:] = True
    before_after(
        (left, right),
        ("With the padding mask", "Without it"),
        Labels(texts, texts, describe=ANY_ROW),
        how_to_read=f"{head_title('encoder', head.layer, head.head)}; 0 to 1 on both sides.",
        csv_name="weights",
        hidden=(hidden, None),
    )

    def changed(run: Mapping[str, Array]) -> int:
        return int((run["logits"].argmax(-1) != logits.argmax(-1)).sum())

    table(
        ("the same sentence with padding", "largest difference of a logit", "rows whose first choice changes"),
        [
            ("with the padding mask", magnitude(same), str(changed(with_mask))),
            ("without it", magnitude(other), str(changed(without))),
        ],
    )
    st.caption(
        f"A logit is the score of one vocabulary entry; there are {logits.shape[0]} rows of {logits.shape[1]:,}. "
        "Compared with your sentence alone. Behind the mask the padding changes nothing but the last digits, which "
        "depend on the order of additions. Rows of padding are computed too, but nobody reads them."
    )
    if len(src) + count > len(texts):
        st.caption(f"Shown: the first {len(texts) - count} of {len(src)} pieces, and the padding.")


def parallel(trace: Trace, head: Head) -> None:
    st.markdown(
        "In training the right translation is known, so all its rows go through the decoder **in one pass**: *teacher "
        "forcing*. In inference each piece must wait for the one before. Do the two compute the same?"
    )
    src, tgt = trace.src_ids, trace.tgt_ids
    alone = engine.run(one_at_a_time, trace.model, src, tgt)
    lifted = engine.run(
        changed_pass, trace.model, src, tgt, Interventions(causal_mask_off=True), ("weights", "logits")
    )["logits"]
    together = trace.tensors["logits"]
    differences, without = (np.abs(logits - alone).max(-1) for logits in (together, lifted))
    table(
        ("", "runs of the decoder", "largest difference from one by one"),
        [
            ("one by one", str(len(tgt)), ""),
            ("all at once, with the causal mask", "1", magnitude(float(differences.max()))),
            ("all at once, mask lifted", "1", magnitude(float(without.max()))),
        ],
    )
    st.caption(
        f"Compared are all {together.shape[0]} · {together.shape[1]:,} logits (the scores of all vocabulary entries). "
        "With the mask a row depends on nothing after it, so it does not matter whether the rest is there already: "
        "that is why training runs in parallel, and why a decoder does not when it writes."
    )
    with st.expander("The largest difference, row by row"):
        table(
            ("row", "reads", "predicts", "with the mask", "mask lifted"),
            [
                (str(i), trace.tgt[i].text, trace.labels[i].text, magnitude(float(d)), magnitude(float(w)))
                for i, (d, w) in enumerate(zip(differences[:READABLE], without[:READABLE], strict=True))
            ],
        )
        if len(tgt) > READABLE:
            st.caption(f"The first {READABLE} of {len(tgt)} rows.")


QUIZ_SCORES = ((1.0, 0.0, -1.0, -1.0), (1.0, 1.0, -1.0, 0.0), (0.0, 1.0, 1.0, -1.0), (-1.0, -1.0, 2.0, 1.0))


def masked_quiz() -> np.ndarray:
    """The weights (4,4) that the model's own attention makes of the decks' scaled scores, behind its causal mask."""
    # With d_k = 4 keys of one 1 each, QKᵀ is Q; doubled, because the function divides by √4.
    q = 2 * torch.tensor(QUIZ_SCORES)[None, None]
    recorder = Recorder()
    scaled_dot_product_attention(q, torch.eye(4)[None, None], torch.eye(4)[None, None], causal_mask(4), recorder)
    return recorder.tensors["weights"][0, 0].numpy()


def predict(trace: Trace) -> Sequence[Question]:
    weights = masked_quiz()
    values = (0.0, 0.5, float(np.e / (2 * np.e + 1 / np.e + 1)), 1.0)
    right = int(np.argmin([abs(value - weights[1, 1]) for value in values]))
    head = HeadControl(ONLY, "decoder").value(trace.model)
    first = float(trace.tensors[f"{trace.path(head)}.weights"][head.head, 0, 0])
    start = in_markdown(trace.tgt[0].text)
    return (
        Question(
            "alpha",
            "Four tokens have these scaled scores, a row a query:\n\n"
            "| | 1 | 2 | 3 | 4 |\n|---|---|---|---|---|\n"
            + "\n".join(
                f"| {i} | " + " | ".join(number(s, 0) for s in row) + " |" for i, row in enumerate(QUIZ_SCORES, 1)
            )
            + "\n\nWhat is the weight $\\alpha_{2,2}$ in *masked* self-attention?",
            ("0", "0.5", "e / (2e + e⁻¹ + 1)", "1"),
            frozenset({right}),
            f"Row 2 sees the tokens 1 and 2 only, and their scores are both 1: e / (e + e) = {number(weights[1, 1], 1)}"
            f". Without the mask it would be e / (2e + 1/e + 1) = {number(values[2])}.",
        ),
        Question(
            "transformers",
            "About transformers, which of these are true?",
            (
                "They always run in parallel.",
                "Their decoders run in parallel only in training.",
                "Q, K and V come from splitting the input in three.",
                "Several heads may find different kinds of relations.",
                "Decoder outputs give queries and keys, the values come from the encoder.",
            ),
            frozenset({1, 3}),
            "In training the whole target is known, and the causal mask lets all rows run at once; when writing, each "
            "piece waits for the one before. Q, K and V are three projections of the whole input. Between the stacks "
            "the decoder gives the queries alone; keys and values come from the encoder.",
            several=True,
        ),
        Question(
            "first",
            f"The decoder writes *{in_markdown(trace.translation) or 'nothing'}* What weight does **{start}**, row 0, "
            f"give to itself in layer {head.layer + 1}, head {head.head + 1} of the masked self-attention?",
            ("0", "0.5", "1", "It depends on its query and key."),
            frozenset({2 if first == 1 else 3}),
            f"It is {number(first)}, in every head and for every sentence: row 0 sees itself alone, and a softmax over "
            "one score is 1, whatever the score.",
        ),
    )


LESSON = Lesson(
    "masking",
    "Masking",
    asks="How is the decoder kept from seeing the future?",
    idea=idea,
    controls=choose,
    see=see,
    do=do,
    check=check_cell,
    predict=predict,
    code=(causal_mask, pad_mask, scaled_dot_product_attention, one_at_a_time),
    blocks=("decoder.self_attn",),
)
