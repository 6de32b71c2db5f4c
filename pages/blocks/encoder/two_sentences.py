"""One word in two sentences: how alike its two vectors are on their way up."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.inputs.contextual_vectors import (
    MONEY,
    RIVER,
    SPORT,
    THEATRE,
    Shared,
    alike,
    different_words,
    partner,
    shared_words,
    stages,
    vectors,
)
from model.trace import EmptySentenceError, Trace
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.course.notices import MAX_CHARS, cut_notice
from ui.course.sentence import KEY as SENTENCE
from ui.text import in_markdown, number, visible
from ui.views.charts.column_chart import Series, column_chart

SECOND = "second"  # of the second sentence's box, and of its parameter in the address
MANY = 12  # shared words that are shown
NEARLY_THE_SAME = 0.8  # a cosine above which two vectors are called so


def second_trace(trace: Trace) -> Trace:
    """The trace of the sentence in the second box, or of one chosen for the learner's."""
    typed = st.session_state.get(SECOND) or st.query_params.get(SECOND, "")
    try:
        return engine.trace(typed[:MAX_CHARS], name=trace.model.name)
    except EmptySentenceError:
        return engine.trace(partner(trace), name=trace.model.name)


def two_sentences(trace: Trace) -> None:
    """The words that two sentences share, on their way up."""
    st.subheader("One word in two sentences", anchor=False)
    st.text_input(
        "A second sentence that shares a word with yours",
        key=SECOND,
        bind="query-params",
        placeholder="empty: one is chosen for yours",
        live="300ms",
    )
    with st.container(horizontal=True, gap="small", key="pairs"):
        for word, pair in (("bank", (MONEY, RIVER)), ("plays", (SPORT, THEATRE))):
            st.button(f"Two sentences with “{word}”", key=f"pair_{word}", on_click=_put, args=pair)
    other = second_trace(trace)
    cut = cut_notice(st.session_state.get(SECOND) or "", other)
    if cut:
        st.info(cut)
    st.markdown(
        f"1\\. **{in_markdown(trace.text)}** → {in_markdown(trace.translation) or '(nothing)'}\n\n"
        f"2\\. **{in_markdown(other.text)}** → {in_markdown(other.translation) or '(nothing)'}"
    )
    shared = shared_words(trace.src, other.src)[:MANY]
    if not shared:
        st.info(
            "These two sentences share no word, written alike, capitals included. Type a second one that takes up a "
            "word of yours, or try one of the pairs."
        )
        return
    drift(trace, other, shared)


def _put(one: str, two: str) -> None:
    st.session_state[SENTENCE], st.session_state[SECOND] = one, two


def chosen_word(shared: Sequence[Shared]) -> int:
    """The shared word that the address names, else the longest."""
    words = [one.word for one in shared]
    asked = st.query_params.get("word", "")
    return words.index(asked) if asked in words else max(range(len(words)), key=lambda i: len(words[i]))


def drift(trace: Trace, other: Trace, shared: Sequence[Shared]) -> None:
    """How alike the two vectors of each shared word are, stage by stage."""
    names = list(stages(trace.model))
    rows = np.stack([alike(vectors(trace, one.one), vectors(other, one.two)) for one in shared])
    different = different_words(trace, other)
    at = chosen_word(shared)

    def choose(cell: tuple[int, int]) -> None:
        if cell[0] < len(shared):
            st.query_params["word"] = shared[cell[0]].word

    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**{in_markdown(shared[at].word)}: how alike its two vectors are on their way up**")
        compared = [Series(shared[at].word, rows[at])]
        if np.isfinite(different).all():  # two sentences of the same words have no different ones
            compared.append(Series("two different words", different))
        column_chart(
            names,
            compared,
            axis="cosine",
            limit=1.0,
            alt=f"Cosines of the two vectors of {visible(shared[at].word)}: "
            + ", ".join(f"{number(float(value), 2)} {name}" for name, value in zip(names, rows[at], strict=True))
            + ". All numbers are in the matrix beside.",
        )
    with right:
        matrix(
            np.vstack([rows, different]),
            Labels([*(one.word for one in shared), "different"], names, describe="“{row}”, {column}: {value}"),
            Caption(
                "All words that they share: choose one",
                "Cosine of the angle: 1 is the same direction, 0 a right angle. Last row: different words.",
                csv_name="cosines of shared words",
            ),
            key="shared_words",
            scale=Scale("signed", limit=1.0),
            selected=(at, len(names) - 1),
            on_select=choose,
        )
    in_words(shared[at], rows[at], float(different[-1]))


def in_words(shared: Shared, row: np.ndarray, different: float) -> None:
    """What became of the chosen word."""
    top = float(row[-1])
    same_place = "it stands in the same place in both" if row[1] > 1 - 1e-6 else "it stands in different places"
    st.markdown(
        f"At the look-up both are the same row of the embedding matrix: {number(float(row[0]), 2)}. Then the positions "
        f"are added ({same_place}): {number(float(row[1]), 2)}. Each layer mixes in the neighbours, and after the last "
        f"it is **{number(top, 2)}**"
        + (f"; for two different words it is {number(different, 2)} on average. " if np.isfinite(different) else ". ")
        + (
            "That is still nearly the same vector: either the word means much the same in both, or this small model "
            "does not tell."
            if top > NEARLY_THE_SAME
            else "They have moved apart, but are still nearer to one direction (1) than to a right angle (0)."
            if top > 0.5
            else "They have moved far apart."
        )
    )
    if shared.word == "bank":
        st.caption(
            "In German a bank that keeps money is *die Bank*, the bank of a river *das Ufer*: the translations above "
            "show whether the model told them apart. (This one hardly knows rivers.) The vectors differ because the "
            "sentences do. Whether the meaning plays a part is tried out in the lesson on self-attention."
        )
