"""Lesson: how networks read before attention, one piece after the other, and what attention changed."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.inputs.before_attention import LENGTHS, reaches, reading_times
from model.families import readers
from model.parts.recurrent import LSTMCell, Recurrent, RNNCell
from model.trace import Trace
from ui import engine
from ui.components.matrix import Caption
from ui.components.scene import Bands, Frame, Scene
from ui.components.scene.answer import quoted
from ui.controls.background import background
from ui.controls.control import Choice
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import magnitude, number
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import table

NAMES = {"rnn": "RNN", "lstm": "LSTM", "attention": "self-attention"}
FOLDERS = {"before training": readers.SHIPPED / readers.UNTRAINED, "trained": readers.SHIPPED}
WEIGHTS = Choice("Weights", "weights", tuple(FOLDERS))
INSIDE = {"RNN: sum": "rnn.pre_activation", "RNN: state": "rnn.hidden", "LSTM: state": "lstm.hidden"}
GATES = ("cell", "forget gate", "input gate", "candidate", "output gate")
INSIDE |= {f"LSTM: {what}": f"lstm.{what.replace(' ', '_')}" for what in GATES}
CARRIED = {
    "rnn": "An RNN hands its state along, in **{n}** steps",
    "lstm": "An LSTM hands two vectors along, in **{n}** steps",
    "attention": "Self-attention reads all pieces in **{n}** step",
}
SCENE = 10  # pieces in the scene
TENSOR = Choice("What to work out", "inside", tuple(INSIDE), default="LSTM: cell")


def reading(trace: Trace, weights: str) -> Trace:
    """The visitor's sentence, read by the three readers."""
    ids = tuple(token.id for token in trace.src)
    return engine.run(readers.trace_readers, readers.load_readers(FOLDERS[weights]), trace.text, ids)


def shares(read: Trace, name: str) -> np.ndarray:
    """How far each piece moves a reader's last state, 1 for the piece that moves it furthest (T)."""
    return read.tensors[f"{name}.gradients"] / read.tensors[f"{name}.gradients"].max()


def scene(trace: Trace) -> Scene:
    """How far each piece moves the state of each reader, untrained and trained, all along the text."""
    ids = scene_ids(trace)
    cut = "" if len(ids) == len(trace.src) else f" Read here: the first {SCENE - 1} pieces and the end mark."
    texts = [token.text for token in trace.model.tokenizer.tokens(ids)]
    return Scene(
        "Before attention, a network read one piece after the other. A band is as wide as its piece moves the state "
        f"there.{cut}",
        "Read by",
        [scene_frame(ids, texts, name, weights) for weights in FOLDERS for name in NAMES],
    )


def scene_ids(trace: Trace) -> tuple[int, ...]:
    ids = tuple(token.id for token in trace.src)
    return ids if len(ids) <= SCENE else (*ids[: SCENE - 1], ids[-1])


def scene_frame(ids: tuple[int, ...], texts: Sequence[str], name: str, weights: str) -> Frame:
    widths = engine.run(reaches, readers.load_readers(FOLDERS[weights]), ids)[name]
    last, direct = widths[:, -1], name == "attention"
    furthest = int(last.argmax())
    how = CARRIED[name].format(n=1 if direct else len(ids))
    most = "farther than any other" if furthest == 0 else f"as far as {quoted(texts[furthest])} does"
    times = "" if furthest == 0 else f"**{magnitude(float(last[0]))}** times "
    return Frame(
        f"{NAMES[name]}, {weights}",
        f"{how}. Nudged a little, **{quoted(texts[0])}** moves the end {times}{most}.",
        [
            [
                Bands(
                    texts,
                    widths,
                    [magnitude(float(share)) for share in last],
                    title="No state: the end reads each piece" if direct else "One state, handed from piece to piece",
                    head="moves the end (most: 1)",
                    direct=direct,
                )
            ]
        ],
    )


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
    st.markdown("**How far does each piece of your sentence move the last state?**")
    weights = WEIGHTS.draw()
    read = reading(trace, weights)
    column_chart(
        [token.text for token in trace.src],
        [Series(title, shares(read, name)) for name, title in NAMES.items()],
        alt=f"How far each piece moves the last state of each reader, {weights}",
        axis="how far each piece moves the last state; the one that moves it furthest is 1",
        limit=1,
        labelled="piece",
        write=magnitude,
    )
    named = ", ".join(f"{title} {readers.named_tokens(read, name)}" for name, title in NAMES.items())
    st.caption(
        "Nudge a piece's vector a little: how far does the last state move? A column is that distance (the length of a "
        "gradient), divided by the largest one of the same reader."
    )
    with st.expander("What the readers are trained for"):
        st.markdown(
            "Training asks the readers to name, from the last state alone, the pieces of a text. Of the "
            f"different ones in yours, {len({token.id for token in trace.src[:-1]})}, they name, {weights}: {named}."
        )


def check(trace: Trace) -> None:
    inside, weights = TENSOR.draw(), WEIGHTS.value()
    read = reading(trace, weights)
    caption = Caption(f"{inside}, {weights}", "A row for each step: the vector that it makes.")
    shown = checked_matrix(read, INSIDE[inside], caption, part=Part(n_columns=8))
    check_cell(shown)


def do(trace: Trace) -> None:
    n, d_model = len(trace.src), readers.load_readers().config.d_model
    st.markdown(f"**What has to wait?** Your sentence has {n} pieces, its end mark included.")
    waits, ways = ("that must wait for each other", n), ("from the first piece to the last", n - 1)
    table(("steps", *NAMES.values()), [(what, str(steps), str(steps), "1") for what, steps in (waits, ways)])
    st.caption(
        f"What attention pays: for T pieces of d = {d_model} numbers an RNN takes 2Td² multiplications, an LSTM 8Td², "
        "self-attention 4Td² + 2T²d. Twice the pieces are twice the work in a recurrent network. In the term with T² "
        f"they are four times the work. Beyond T = 2d = {2 * d_model} pieces attention takes more multiplications than "
        "the LSTM. And attention like this one, without a mask, knows no order: unless positions are added to the "
        "vectors, the same pieces give the same in any order."
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
        f"{number(figures[lengths[-1]]['most frequent'], 2)} of the longest: a reader with that share has learned no "
        "more."
    )
    longer = figures[f"{lengths[-1]}, twice the steps"]
    once, twice = (", ".join(number(share, 2) for share in one["attention"]) for one in (figures[lengths[-1]], longer))
    st.caption(
        f"At {lengths[-1]} pieces the three runs of self-attention end at {once}. With twice the steps they end at "
        f"{twice}: the low one was only late. The RNN then ends at "
        f"{number(max(longer['rnn']), 2)} and the LSTM at {number(max(longer['lstm']), 2)} at best."
    )


def predict(trace: Trace) -> Sequence[Question]:
    n, ids = len(trace.src), scene_ids(trace)
    once, twice = (
        float(
            shares(
                engine.run(readers.trace_readers, readers.load_readers(FOLDERS["before training"]), "", read), "rnn"
            )[0]
        )
        for read in (ids, (*ids[:-1], *ids))
    )
    times = twice / once
    far = ("at least half as far", "between a tenth and half as far", "less than a tenth as far")
    right = 0 if times >= 0.5 else 1 if times >= 0.1 else 2
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
            "Now the untrained RNN reads the pieces of the picture twice, one time after the other. How far does the "
            "first piece move the end, compared with before?",
            far,
            frozenset({right}),
            f"{magnitude(times)} times as far as before. Each step back multiplies the gradient by U and by the slope "
            "of tanh.",
            wrong={at: f"It is not {far[at]}." for at in {0, 1, 2} - {right}},
        ),
    )


LESSON = Lesson(
    "before-attention",
    "Before attention",
    asks="How far does the first word still move the end?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check, do=do),
    code=(RNNCell, LSTMCell, Recurrent, readers.AttentionReader),
    on_map=OnMap(pictured=("three readers", lambda: [readers.load_readers(FOLDERS["trained"])]), scene=scene),
)
