"""What a visitor has answered right. It is kept in the browser, in a cookie, so that it survives a reload."""

import re

import streamlit as st

from ui.controls.cookie import keep, kept

COOKIE = "walkthrough_progress"
MAX_CHARS = 3000  # of the cookie that are read
_LESSON = re.compile(r"([a-z-]{1,40})(?:\.(\d{1,2}))?((?:\.[a-z_0-9-]{1,40})+)", re.ASCII)
_ANSWERS, _COUNTS = "answers", "question_counts"  # in the session


def answers() -> dict[tuple[str, str], bool]:
    """By lesson and question: whether the last answer was right. Begins with what the browser kept."""
    if _ANSWERS not in st.session_state:
        st.session_state[_ANSWERS], counts = read_progress(kept(COOKIE))
        st.session_state[_COUNTS] = counts | st.session_state.get(_COUNTS, {})
    given: dict[tuple[str, str], bool] = st.session_state[_ANSWERS]
    return given


def read_progress(text: str) -> tuple[dict[tuple[str, str], bool], dict[str, int]]:
    """What was answered right, and how many questions each lesson asks; what cannot be read is left out.

    Args: text: of the cookie, for each lesson its address, its count and its questions answered right, like
          `masking.2.future~multi-head.4.same.cost`; older cookies have no counts
    """
    parts = [part for one in text[:MAX_CHARS].split("~") if (part := _LESSON.fullmatch(one))]
    right = {(part[1], question): True for part in parts for question in part[3][1:].split(".")}
    return right, {part[1]: int(part[2]) for part in parts if part[2]}


def written_progress() -> str:
    """The inverse of `read_progress`."""
    given: dict[str, list[str]] = {}
    for (slug, question), right in answers().items():
        if right:
            given.setdefault(slug, [str(of)] if (of := _count(slug)) else []).append(question)
    return "~".join(".".join((slug, *parts)) for slug, parts in given.items())


def save_progress() -> None:
    """Hand the answers to the browser. Drawn once a page."""
    keep(COOKIE, written_progress(), of_lists=True)


def record(slug: str, question: str, right: bool) -> None:
    answers()[slug, question] = right


def set_count(slug: str, n_questions: int) -> None:
    """How many questions a lesson asks: known once it has been opened, and kept with what was answered right."""
    st.session_state.setdefault(_COUNTS, {})[slug] = n_questions


def right_in(slug: str) -> int:
    """How many questions of a lesson were answered right."""
    return sum(right for (lesson, _), right in answers().items() if lesson == slug)


def counted(slug: str) -> str:
    """For the navigation: a tick when every question was answered right, else how many were."""
    right, of = right_in(slug), _count(slug)
    if not right:
        return ""
    return "\u00a0✓" if all_right(slug) else f"\u00a0{right}/{of}" if of else f"\u00a0{right}"


def _count(slug: str) -> int:
    """How many questions a lesson asks; 0 if that is not known yet."""
    counts: dict[str, int] = st.session_state.get(_COUNTS, {})
    return counts.get(slug, 0)


def all_right(slug: str) -> bool:
    """Whether every question of a lesson was answered right."""
    return 0 < _count(slug) <= right_in(slug)


def right_by_lesson() -> dict[str, tuple[int, int]]:
    """Of each lesson with an answer: how many questions were answered right, and how many it asks."""
    slugs = dict.fromkeys(slug for slug, _ in answers())
    return {slug: (min(right_in(slug), of), of) for slug in slugs if (of := _count(slug))}


def score() -> str:
    """The visitor's score in words, or ''. Only what is right is kept, so that nothing is said of the others."""
    given = answers()
    return f"{sum(given.values())} answered right so far" if given else ""
