"""Lesson: a trained model learns a style with few new numbers, by LoRA and by BitFit."""

from collections.abc import Sequence

import streamlit as st

from experiments.family.low_rank import DOWN, SUM, UP, with_steps
from model.adapting.lora import ALPHA, LowRank, with_low_rank, with_merged, with_own_biases
from model.trace import Trace
from model.trace import trace as trace_anew
from pages.family.lora_and_bitfit.adapt import adapt, counts, n_learning
from pages.family.lora_and_bitfit.choosing import (
    LAYER,
    MATRIX,
    STYLE,
    adapted,
    controls,
    learned,
    not_yet,
    path,
    which_matrix,
    width,
)
from pages.family.lora_and_bitfit.looking import beside_bitfit, forgetting, merge, rank_of_change
from pages.family.lora_and_bitfit.scene import scene
from training.live.adapting import BATCH_SIZE, LORA, STEPS, Adapting, batches
from training.live.styles import STYLES
from ui import engine
from ui.components.matrix import Caption
from ui.controls.control import Choice
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question

INSIDE = {"Ax": DOWN, "BAx": UP, "W₀x + (α/r)BAx": SUM}
TENSOR = Choice("What to work out", "inside", tuple(INSIDE), default="BAx")
TRIALS = {"Its rank": rank_of_change, "Merge it": merge, "BitFit": beside_bitfit, "What it forgets": forgetting}
TRIAL = Choice("Try", "trial", tuple(TRIALS))


def idea(trace: Trace) -> None:
    st.markdown(
        "A trained model can still learn something new: here, another style of German. **LoRA** (*low-rank "
        "adaptation*) leaves a trained matrix W₀ as it is. Beside it, two thin matrices A and B are trained:"
    )
    st.latex(r"h=W_0x+\frac{\alpha}{r}\,BAx")
    st.markdown("**BitFit** leaves all matrices alone. Only *biases* are trained, the numbers that a layer adds last.")
    with st.expander("What the letters mean, and where it comes from"):
        st.markdown(
            "W₀ has d rows and k columns. A has r rows and k columns, B has d rows and r columns. So BA is as large as "
            "W₀, but its *rank* is at most r: it has at most r independent rows. A starts with random numbers, B with "
            f"0. So at the start nothing has changed. α is fixed, here {ALPHA:g}. Here every attention has A and B "
            "beside W^Q and W^V."
        )
        st.markdown(
            "LoRA: [Hu et al. 2021](https://arxiv.org/abs/2106.09685). BitFit: [Ben Zaken et al. "
            "2021](https://arxiv.org/abs/2106.10199)."
        )


def see(trace: Trace) -> None:
    st.markdown("**How many numbers are trained, and what do they change?**")
    counts(trace)
    adapt(trace, LORA)
    with st.expander("What it learns from, and what is measured"):
        style = STYLES[STYLE.value()]()
        english, german = style.pairs[0]
        st.markdown(
            f"It learns from {len(set(style.pairs))} sentence pairs, {BATCH_SIZE} in each of {STEPS} steps, like "
            f"*{english}* → *{german}* The **loss** is measured on {len(style.held_out)} *held-out* sentences, "
            "which are never learned from. Formal German says *Sie* to somebody, and informal German says *du*. A "
            "butler ends every sentence with *mein Herr* (*sir*). Another good translation than ours does not count as "
            "word for word."
        )


def check(trace: Trace) -> None:
    which_matrix()
    inside, training = TENSOR.draw(), learned(trace.model)
    if training is None:
        not_yet(trace.model, "After the training, you can work out here what A and B make of your sentence.")
        return
    model = adapted(trace.model, training)
    read = engine.alone(lambda: with_steps(trace_anew(model, trace.text), path(trace.model)))
    caption = Caption(f"{inside}, {MATRIX.value()} of layer {LAYER.value()}", "A row for each piece that goes in.")
    shown = checked_matrix(read, INSIDE[inside], caption, part=Part(n_columns=8 if inside != "Ax" else None))
    check_cell(shown)


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


def predict(trace: Trace) -> Sequence[Question]:
    d, r = width(trace.model), 4
    return (
        Question(
            "count",
            f"A matrix W₀ has {d} rows and {d} columns. LoRA with r = {r} puts A and B beside it. How many numbers "
            "learn?",
            (f"{r * r}", f"{2 * r * d:,}", f"{d * d:,}"),
            frozenset({1}),
            f"A has {r} · {d} numbers and B has {d} · {r}: {2 * r * d:,} together.",
            wrong={
                0: f"A and B are thin, not small: each has one side of {d}.",
                2: "That is how many W₀ has. It does not learn.",
            },
        ),
        Question(
            "start",
            "B starts with nothing but 0. Before the first step, how does the translator with A and B write?",
            ("as before", "at random", "not at all"),
            frozenset({0}),
            "0 times Ax is 0, so W₀x stays as it was.",
            wrong={1: "A is random, but B makes 0 of whatever A gives.", 2: "BAx is 0, but W₀x is still there."},
        ),
        Question(
            "merge",
            "After the training, BA is multiplied out and added to W₀. How many numbers does the translator then have?",
            (
                f"{trace.model.n_parameters:,}, as before",
                f"{trace.model.n_parameters + n_learning(trace, LORA, r):,}, with A and B on top",
            ),
            frozenset({0}),
            "BA is as large as W₀. Their sum is one matrix of the same size.",
            wrong={1: "That is so while A and B stand beside W₀. In the sum they take no room of their own."},
        ),
    )


LESSON = Lesson(
    "lora-and-bitfit",
    "LoRA and BitFit",
    asks="How few numbers teach it another style?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check, do=do, controls=controls),
    code=(LowRank, with_low_rank, with_merged, with_own_biases, Adapting, batches),
    on_map=OnMap(pictured=("translator", lambda: [engine.model()]), scene=scene),
)
