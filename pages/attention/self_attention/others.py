"""What the trials of self-attention share: other sentences than the visitor's, and words in them."""

import numpy as np
import streamlit as st

from figures.grouping import Group, grouped
from model.files.loaded_model import Array
from model.interventions import Head
from model.trace import Trace
from ui import engine
from ui.controls.address import write_pair
from ui.controls.head_control import HeadControl
from ui.course.sentence import KEY as SENTENCE
from ui.views.attention_kinds import READABLE, all_weights, groups_of

KIND = "encoder"
HEAD = HeadControl((KIND,), KIND)


def of_same_model(trace: Trace, sentence: str) -> Trace:
    return engine.trace(sentence, name=trace.model.name)


def word(trace: Trace, text: str) -> Group:
    """The first piece or pieces that make up this word of the source."""
    return next(group for group in groups_of(trace.src, by_word=True) if group.label == text)


def shares_of_it(trace: Trace, *others: str) -> list[Array]:
    """Weights (L,H) from “it” to each of these words of a sentence."""
    shares = grouped(all_weights(trace, KIND), [word(trace, "it")], [word(trace, other) for other in others])
    return [np.asarray(shares[..., 0, j]) for j in range(len(others))]


def row_of(trace: Trace, text: str, head: Head) -> tuple[int, int] | None:
    """The row of a word in a head's map and the column with its largest weight; None if there is no such word."""
    row = next((i for i, token in enumerate(trace.src[:READABLE]) if token.text == text), None)
    if row is None:
        return None
    return row, int(trace.attention(KIND, head.layer)[head.head, row, :READABLE].argmax())


def look(trace: Trace, sentence: str, at: str) -> None:
    """A button that puts a sentence into the bar and chooses the row of a word."""

    def put() -> None:
        st.session_state[SENTENCE] = sentence
        one = of_same_model(trace, sentence)
        write_pair("cell", row_of(one, at, HEAD.value(one.model)))

    st.button(f"Look at “{at}” under See", key=f"look_{at}", on_click=put)
