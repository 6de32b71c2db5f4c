"""Lesson: how networks read before attention, one piece after the other, and what attention changed."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.inputs.before_attention import LENGTHS, reading_times
from model.families import readers
from model.parts.recurrent import LSTMCell, Recurrent, RNNCell
from model.trace import Trace
from ui import engine
from ui.components.matrix import Caption
from ui.controls.background import background
from ui.controls.control import Choice
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import magnitude, number
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import numbers_of_figure, table

NAMES = {"rnn": "RNN", "lstm": "LSTM", "attention": "self-attention"}
FOLDERS = {"before training": readers.SHIPPED / readers.UNTRAINED, "trained": readers.SHIPPED}
WEIGHTS = Choice("Weights", "weights", tuple(FOLDERS))
INSIDE = {"RNN: sum": "rnn.pre_activation", "RNN: state": "rnn.hidden", "LSTM: state": "lstm.hidden"}
GATES = ("cell", "forget gate", "input gate", "candidate", "output gate")
INSIDE |= {f"LSTM: {what}": f"lstm.{what.replace(' ', '_')}" for what in GATES}
TENSOR = Choice("What to work out", "inside", tuple(INSIDE), default="LSTM: cell")


def reading(trace: Trace, weights: str) -> Trace:
    """The visitor's sentence, read by the three readers."""
    ids = tuple(token.id for token in trace.src)
    return engine.run(readers.trace_readers, readers.load_readers(FOLDERS[weights]), trace.text, ids)


def shares(read: Trace, name: str) -> np.ndarray:
    """How far each piece moves a reader's last state, 1 for the piece that moves it furthest (T)."""
    return read.tensors[f"{name}.gradients"] / read.tensors[f"{name}.gradients"].max()


def idea(trace: Trace) -> None:
    st.markdown(
        "Before attention, a network read a sentence as we read aloud: one *piece* (a word or a part of one) after the "
        "other. Such a **recurrent network** (RNN) carries a list of numbers along, its **state**, and makes a new one "
        "at every piece. **Self-attention** carries nothing along: every piece reads all pieces directly."
    )
    with st.expander("How an RNN makes its next state, and what an LSTM adds"):
        st.markdown(
            "A list of numbers is called a *vector*. At piece t, an RNN makes a new state h from the piece's vector x "
            "and the state before. The numbers in W, U and b are learned:"
        )
        st.latex(r"h_t=\tanh(Wx_t+Uh_{t-1}+b)")
        st.markdown(
            "An **LSTM** is an RNN that carries a second vector, its *cell*. *Gates*, numbers between 0 and 1, decide "
            "what the cell keeps, takes in and shows. In the first neural translators, the half that writes got only "
            "the last state of the sentence."
        )


def see(trace: Trace) -> None:
    st.markdown("**How much of each piece is left at the end?**")
    weights = WEIGHTS.draw()
    read = reading(trace, weights)
    column_chart(
        [token.text for token in trace.src],
        [Series(title, shares(read, name)) for name, title in NAMES.items()],
        alt=f"How far each piece moves the last state of each reader, {weights}",
        axis="how far each piece moves the last state; the one that moves it furthest is 1",
        limit=1,
    )
    lines = [[magnitude(float(share)) for share in shares(read, name)] for name in NAMES]
    numbers_of_figure(("piece", *NAMES.values()), list(zip([token.text for token in trace.src], *lines, strict=True)))
    first = ", ".join(f"{title} {magnitude(float(shares(read, name)[0]))}" for name, title in NAMES.items())
    named = ", ".join(f"{title} {readers.named_tokens(read, name)}" for name, title in NAMES.items())
    st.caption(
        "Nudge a piece's vector: how far does the last state move? The readers are an RNN, an LSTM (an RNN that "
        f"carries a second vector) and self-attention. The first piece, {weights}: {first}."
    )
    with st.expander("What the columns are, and what the readers are trained for"):
        st.markdown(
            "The columns are lengths of gradients. Training asks the readers to name, from the last state alone, the "
            f"pieces of a text. Of the {len({token.id for token in trace.src[:-1]})} different ones in yours they "
            f"name, {weights}: {named}."
        )


def check(trace: Trace) -> None:
    inside, weights = TENSOR.draw(), WEIGHTS.value()
    read = reading(trace, weights)
    caption = Caption(f"{inside}, {weights}", "A row for each step: the vector that it makes.")
    checked_matrix(read, INSIDE[inside], caption, part=Part(n_columns=8))
    check_cell(read)


def do(trace: Trace) -> None:
    n, d_model = len(trace.src), readers.load_readers().config.d_model
    st.markdown(f"**What has to wait?** Your sentence has {n} pieces, its end mark included.")
    waits, ways = ("steps that must wait for each other", n), ("steps from the first piece to the last", n - 1)
    table(("", *NAMES.values()), [(what, str(steps), str(steps), "1") for what, steps in (waits, ways)])
    st.caption(
        f"What attention pays: for T pieces of d = {d_model} numbers an RNN takes 2Td² multiplications, an LSTM 8Td², "
        "self-attention 4Td² + 2T²d. Twice the pieces are twice the work in a recurrent network, but four times the "
        f"work in the term with T²: beyond T = 2d = {2 * d_model} pieces attention takes more of them than the LSTM. "
        "And it knows no order: unless positions are added to the vectors, the same pieces give the same in any order."
    )
    if times := background("times", "Measure the time", d_model, lambda: reading_times(d_model)):
        by_length = zip(LENGTHS, zip(*times.values(), strict=True), strict=True)
        lines = [(str(length), *(number(1000 * one, 2) for one in seconds)) for length, seconds in by_length]
        table(("pieces", *NAMES.values(), "LSTM, compiled"), lines)
        st.caption(
            "Milliseconds on one core of this server, the fastest of four runs. RNN and LSTM are this project's loops "
            "in Python; *compiled* is torch's own. What a graphics processor, which computes thousands of products "
            "side by side, gains where no step waits is not measured here."
        )
    st.markdown("**How far back can each learn to look?** Trained anew to name only the first piece of a text:")
    figures = readers.learned_distances()
    lengths = [text for text in figures if text.isdecimal()]
    runs = {title: [[f"{share:.2f}" for share in figures[n][name]] for n in lengths] for name, title in NAMES.items()}
    lines = [(title, *("–".join(sorted({min(one), max(one)})) for one in many)) for title, many in runs.items()]
    table(("named rightly", *(f"{n} pieces" for n in lengths)), lines)
    st.caption(
        f"Shares of new texts, in the worst and the best of three runs of {figures['recipe']['steps']} steps; only the "
        f"length of the texts differs. Always to name the most frequent first piece is right for "
        f"{number(figures[lengths[-1]]['most frequent'], 2)} of the longest."
    )


def predict(trace: Trace) -> Sequence[Question]:
    n, share = len(trace.src), float(shares(reading(trace, "before training"), "rnn")[0])
    far = ("at least half as far", "between a tenth and half as far", "less than a tenth as far")
    right = 0 if share >= 0.5 else 1 if share >= 0.1 else 2
    return (
        Question(
            "wait",
            f"Your sentence has {n} pieces. How many steps must wait for each other, in an RNN and in self-attention?",
            (f"{n} and {n}", f"{n} and 1", f"1 and {n}"),
            frozenset({1}),
            "The RNN's state at a piece needs the state before it. Self-attention reads all pieces in one step.",
            wrong={0: "In self-attention no piece waits for another.", 2: "It is the other way round."},
        ),
        Question(
            "first",
            "An untrained RNN has read your sentence. Nudge its pieces, one at a time. How far does the first piece "
            "move the last state, beside the piece that moves it furthest?",
            far,
            frozenset({right}),
            f"{magnitude(share)} times as far. Each step back multiplies the gradient by U and by the slope of tanh.",
            wrong={at: f"It is not {far[at]}." for at in {0, 1, 2} - {right}},
        ),
    )


LESSON = Lesson(
    "before-attention",
    "Before attention",
    asks="How did networks read before attention?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check, do=do),
    code=(RNNCell, LSTMCell, Recurrent, readers.AttentionReader),
    on_map=OnMap(plays=("encoder.self_attn",)),
)
