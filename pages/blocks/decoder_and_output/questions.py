"""What the lesson on the decoder and the output asks before it shows anything."""

from collections.abc import Sequence

import numpy as np

from figures.statistics import softmax
from model.trace import Trace
from pages.blocks.decoder_and_output.lens import lens_of
from ui.controls.vocabulary_entry import entries
from ui.course.quiz import Question
from ui.text import in_markdown, magnitude, number

CONSTANT = 100.0  # what a question adds to every logit


def default_row(trace: Trace) -> int:
    """The position at which the model was least sure of what it wrote."""
    return int(np.argmin(trace.probabilities))


def predict(trace: Trace) -> Sequence[Question]:
    return shape(trace), first_choice(trace), constant(trace)


def shape(trace: Trace) -> Question:
    t, v = trace.tensors["logits"].shape
    d_model = trace.tensors["decoder.embedding.output"].shape[1]
    return Question(
        "shape",
        "A sentence of T pieces goes through the decoder, Linear and softmax. What shape has the result?",
        (
            r"$\mathbb{R}^{T\times d_{model}}$: one vector for each piece",
            r"$\mathbb{R}^{T\times V}$: at each position one probability for each entry of the vocabulary",
            r"$\mathbb{R}^{V}$: one probability for each entry of the vocabulary",
            r"$\mathbb{R}^{T\times T}$: one probability for each pair of pieces",
        ),
        frozenset({1}),
        f"Here it is ({t}, {v:,}). The decoder's output is ({t}, {d_model}), and Eᵀ takes each row from {d_model} "
        f"to {v:,} numbers. In training all {t} rows are used at once; when writing, only the last one.",
        wrong={
            0: "That is what goes into Linear, not what comes out of the softmax.",
            2: "That is one row of it: each position has a row of its own.",
            3: "That is the shape of attention weights, from piece to piece.",
        },
    )


def first_choice(trace: Trace) -> Question:
    # The least sure position at which it reads one piece and writes another; at the first one it always does.
    told = [i for i, (read, label) in enumerate(zip(trace.tgt, trace.labels, strict=True)) if read.id != label.id]
    row, seen = min(told, key=lambda i: float(trace.probabilities[i])), lens_of(trace)
    first, last = int(seen.ids[1, row, 0]), len(seen.ids) - 1
    read, written = trace.tgt[row], trace.labels[row]
    right = 0 if first == read.id else 1 if first == written.id else 2
    became = in_markdown(entries()[first])
    return Question(
        "lens",
        f"Stop after decoder layer 1 at position {row + 1}, where the decoder has just read "
        f"**{in_markdown(read.text)}** and will write **{in_markdown(written.text)}**. Hand the vector to the output "
        "all the same. What is the first choice?",
        (
            f"the piece just read, {in_markdown(read.text)}",
            f"the piece to be written, {in_markdown(written.text)}",
            "another piece",
        ),
        frozenset({right}),
        f"It is **{became}**, with a probability of {magnitude(float(seen.probabilities[1, row, 0]))}. What is really "
        f"written gets {magnitude(float(seen.written[1, row]))} after layer 1 and "
        f"{magnitude(float(seen.written[last, row]))} after layer {last}.",
        wrong={
            option: says
            for option, says in enumerate(
                (
                    "After one layer the vector no longer points most to what came in.",
                    "One layer is not enough for that here.",
                    "It is one of the two that are named.",
                )
            )
            if option != right
        },
    )


def constant(trace: Trace) -> Question:
    row = default_row(trace)
    logits = trace.tensors["logits"][row].astype(np.float64)
    shift = float(np.abs(softmax(logits + CONSTANT) - softmax(logits)).max())
    return Question(
        "constant",
        f"Add {number(CONSTANT, 0)} to every logit of a row. What happens to its probabilities?",
        (
            "They all grow.",
            "The likeliest entry takes nearly everything.",
            "Nothing: they stay as they are.",
        ),
        frozenset({2}),
        f"The largest change at position {row + 1} is {magnitude(shift)}. Every e to the power grows by the same "
        "factor, above and below the fraction bar, and it cancels out: only differences between logits count.",
        wrong={
            0: "They cannot: they add up to 1, before and after.",
            1: "That happens when the logits are multiplied, not when the same number is added to all.",
        },
    )
