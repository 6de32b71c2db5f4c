"""Questions graded against live numbers or with the decks' answers; the score is kept for the visit."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.tokenizer import Token
from ui.course.lesson import LESSONS
from ui.text import in_markdown

_ANSWERS = "answers"  # in the session: {(lesson, question): whether the first answer was right}


@dataclass(frozen=True)
class Question:
    """One question.

    id:      its name within the lesson, the same for every sentence, so that it counts once
    text:    Markdown; options: Markdown, in the order shown
    correct: indices of the right options; several makes it a question with several answers
    why:     Markdown, shown after answering
    """

    id: str
    text: str
    options: tuple[str, ...]
    correct: frozenset[int]
    why: str
    several: bool = False


def which_piece(id: str, text: str, values: NDArray[np.floating], pieces: Sequence[Token], why: str) -> Question:
    """Which of some pieces has the largest of their values: the four largest to choose from; −∞ is none of them."""
    largest = [int(n) for n in np.argsort(-values, kind="stable")[:4] if np.isfinite(values[n])]
    order = sorted(largest)
    options = tuple(f"{in_markdown(pieces[n].text)} (piece {n + 1})" for n in order)
    return Question(id, text, options, frozenset({order.index(largest[0])}), why)


def answers() -> dict[tuple[str, str], bool]:
    """What this visitor has answered so far."""
    found: dict[tuple[str, str], bool] = st.session_state.setdefault(_ANSWERS, {})
    return found


def answered(slug: str) -> int:
    """How many questions of a lesson were answered."""
    return sum(lesson == slug for lesson, _ in answers())


def score() -> str:
    """The visit's score in words, or ''."""
    right, all_questions = sum(answers().values()), sum(lesson.n_questions for lesson in LESSONS)
    return f"{right} right of {len(answers())} answered, {all_questions} questions in all" if answers() else ""


def quiz(slug: str, questions: Sequence[Question]) -> None:
    """Ask a lesson's questions one below the other; each is graded when its button is pressed."""
    for question in questions:
        with st.container(border=True):
            _ask(slug, question)
    if score():
        st.caption(f"Your score on this visit: {score()}. The first answer to each question counts.")


def _ask(slug: str, question: Question) -> None:
    # The options belong to the key: a new sentence asks anew, with nothing chosen.
    key = f"{slug}/{question.id}/{hash((question.text, question.options))}"
    st.markdown(question.text)
    labels = list(range(len(question.options)))
    if question.several:
        chosen = {i for i in labels if st.checkbox(question.options[i], key=f"{key}/{i}")}
        st.caption("More than one may be right.")
    else:
        one = st.radio(
            "Your answer",
            labels,
            index=None,
            format_func=lambda i: question.options[i],
            key=key,
            label_visibility="collapsed",
        )
        chosen = set() if one is None else {one}
    if st.button("Check my answer", key=f"{key}/check", disabled=not chosen):
        st.session_state[f"{key}/given"] = frozenset(chosen)
        if (slug, question.id) not in answers():
            answers()[slug, question.id] = chosen == question.correct
            st.rerun()  # the whole page, because the navigation counts the answers
    given = st.session_state.get(f"{key}/given")
    if given is None:
        return
    if given == question.correct:
        st.success(f"Right. {question.why}")
    else:
        right = " and ".join(f"“{question.options[i].rstrip('.')}”" for i in sorted(question.correct))
        st.warning(f"Not quite. Right {'is' if len(question.correct) == 1 else 'are'} {right}. {question.why}")
