"""Questions graded against live numbers or with the decks' answers, asked before anything is shown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.text.tokenizer import Token
from ui.course.progress import answers, record, score, set_count
from ui.text import in_markdown


@dataclass(frozen=True)
class Question:
    """One question.

    id:      its name within the lesson, the same for every sentence, so that it counts once
    text:    Markdown; options: Markdown, in the order shown
    correct: indices of the right options; several makes it a question with several answers
    why:     Markdown, shown after any answer
    wrong:   for each wrong option what is wrong with it, by its index, in Markdown
    """

    id: str
    text: str
    options: tuple[str, ...]
    correct: frozenset[int]
    why: str
    several: bool = False
    wrong: Mapping[int, str] = field(default_factory=dict, hash=False)


_COUNTS_ANEW = "quiz.counts_anew"  # in the session: an answer became right, or is so no more

Ask = Question | Callable[[], Question]  # a question, or what makes it once it is opened: some run the model many times


def which_piece(id: str, text: str, values: NDArray[np.floating], pieces: Sequence[Token], why: str) -> Question:
    """Which of some pieces has the largest of their values: the four largest to choose from; −∞ is none of them."""
    largest = [int(n) for n in np.argsort(-values, kind="stable")[:4] if np.isfinite(values[n])]
    order = sorted(largest)
    options = tuple(f"{in_markdown(pieces[n].text)} (piece {n + 1})" for n in order)
    place = {n: rank for rank, n in enumerate(largest)}
    nth = ("first", "second", "third", "fourth")
    wrong = {at: f"That piece comes {nth[place[n]]}." for at, n in enumerate(order) if place[n]}
    return Question(id, text, options, frozenset({order.index(largest[0])}), why, wrong=wrong)


def quiz(slug: str, questions: list[Ask]) -> None:
    """Ask a lesson's questions, one at a time; each is graded when its button is pressed.

    A question that is opened takes the place of what made it.
    """
    set_count(slug, len(questions))
    at = 0
    if len(questions) > 1:
        labels = [str(n + 1) for n in range(len(questions))]
        # Not in the address: which question is open is nobody else's business.
        at = labels.index(
            st.segmented_control(
                "Question", labels, default="1", required=True, key=f"{slug}/at", persist_state="session"
            )
            or "1"
        )
    with st.container(border=True, key="question"):
        if not isinstance(question := questions[at], Question):
            question = questions[at] = question()
        _ask(slug, question)
    if score():
        st.caption(f"In the whole course: {score()}. You may answer again; the last answer counts.")


def _ask(slug: str, question: Question) -> None:
    # Text, options and what is right belong to the key: where a new sentence changes them, nothing is chosen yet.
    key = f"{slug}/{question.id}/{hash((question.text, question.options, question.correct))}"
    st.markdown(question.text)
    chosen = _choose(question, key)
    # A callback comes before all else in a run, so that no other run can begin before the click has counted.
    check = partial(_check, slug, question, key)
    st.button("Check my answer", key=f"{key}/check", disabled=not chosen, on_click=check)
    if st.session_state.pop(_COUNTS_ANEW, False):
        st.rerun()  # the whole page, because the navigation counts the right answers
    given = st.session_state.get(f"{key}/given")
    if given is not None:
        _judge(question, given)


def _check(slug: str, question: Question, key: str) -> None:
    state, before = st.session_state, answers().get((slug, question.id))
    all_options = range(len(question.options))
    chosen = frozenset(i for i in all_options if (state.get(f"{key}/{i}") if question.several else state[key] == i))
    state[f"{key}/given"] = chosen
    record(slug, question.id, chosen == question.correct)
    if bool(before) != (chosen == question.correct):
        state[_COUNTS_ANEW] = True


def _choose(question: Question, key: str) -> set[int]:
    labels = list(range(len(question.options)))
    if question.several:
        chosen = {i for i in labels if st.checkbox(question.options[i], key=f"{key}/{i}", persist_state="session")}
        st.caption("More than one may be right.")
        return chosen
    one = st.radio(
        question.text,
        labels,
        index=None,
        format_func=lambda i: question.options[i],
        key=key,
        label_visibility="collapsed",
        persist_state="session",
    )
    return set() if one is None else {one}


def _judge(question: Question, given: frozenset[int]) -> None:
    """The verdict: for each wrong choice what is wrong with it, then why the right answer is right."""
    if given == question.correct:
        st.success(f"Right. {question.why}")
        return
    right = " and ".join(f"“{question.options[i].rstrip('.')}”" for i in sorted(question.correct))
    faults = [question.wrong[i] for i in sorted(given - question.correct) if i in question.wrong]
    if not given - question.correct:
        faults = ["What you chose is right, but something is missing."]
    verdict = f"Right {'is' if len(question.correct) == 1 else 'are'} {right}."
    st.warning(" ".join(["Not quite.", *faults, verdict, question.why]))
