"""Another piece than the model would have written, and what becomes of the sentence."""

import math

import streamlit as st

from model.trace import Trace
from pages.inference.inference import state
from ui.components.pieces import Card, pieces
from ui.text import chance, number, piece
from ui.views.attention_kinds import READABLE
from ui.views.charts.tables import table


def step_cards(writing: Trace, step: int, key: str, title: str, marked: str) -> None:
    """The pieces written, each a button that goes to its step; marked: why one is not the model's likeliest."""
    pieces(
        [
            Card(piece(label.text), (number(p, 2),), label.word if label.word >= 0 else -1 - n, mark)
            for n, (label, p, mark) in enumerate(
                zip(writing.labels, writing.probabilities, state.yours(writing), strict=True)
            )
        ],
        key=key,
        title=title,
        how_to_read=f"Below each piece its probability; dashed: {marked}. Choose one to go to its step.",
        selected=step,
        on_select=state.write_step,
    )


def another_word(trace: Trace) -> None:
    writing, step = state.now(trace)
    st.markdown(
        "Take a piece that the model would not take. It reads your piece as if it were its own, and goes on from there."
    )
    step_cards(writing, step, "word_steps", "The translation: choose a step", "chosen by you")
    offered = state.candidates(writing, step)
    pieces(
        [Card(state.text_of(trace, id), (chance(p),), n) for n, (id, p) in enumerate(offered)],
        key="word_candidates",
        title=f"Step {step + 1}: choose what is written",
        how_to_read="The model's likeliest pieces and their probabilities.",
        selected=[id for id, _ in offered].index(writing.labels[step].id),
        on_select=lambda n: state.choose(writing, step, offered[n][0]),
    )
    if not any(state.yours(writing)):
        st.info("So far every piece is the model's own. Choose another one to see what becomes of the sentence.")
        return
    st.button("Back to the model's own choice", key="own_choice_too", on_click=state.write_prefix, args=((),))
    table(
        ("", "translation", "log-probability", "pieces"),
        [
            (name, one.translation or "(nothing)", number(total(one), 2), str(len(one.labels)))
            for name, one in (("the model's own", trace), ("with your choice", writing))
        ],
    )
    first = next(n for n, other in enumerate(state.yours(writing)) if other)
    rows = range(first, min(max(len(trace.labels), len(writing.labels)), first + READABLE))
    table(
        ("step", "the model's own", "probability", "with your choice", "probability"),
        [(str(n + 1), *written_at(trace, n), *written_at(writing, n)) for n in rows],
    )
    st.caption(
        f"From the first step that differs. {state.ended(writing)} The log-probability is the sum of the logarithms "
        "of the pieces' probabilities; closer to 0 is likelier."
    )


def total(writing: Trace) -> float:
    """Log-probability of a translation, in nats."""
    return math.fsum(math.log(p) for p in writing.probabilities)


def written_at(writing: Trace, n: int) -> tuple[str, str]:
    if n >= len(writing.labels):
        return "", ""
    return piece(writing.labels[n].text), chance(writing.probabilities[n])
