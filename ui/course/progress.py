"""What a visitor has answered right. It is kept in the browser, in a cookie, so that it survives a reload."""

import re

import streamlit as st

from ui.controls.cookie import keep, kept

COOKIE = "walkthrough_progress"
MAX_CHARS = 3000  # of the cookie that are read
_ANSWERS, _COUNTS = "answers", "question_counts"  # in the session


def answers() -> dict[tuple[str, str], bool]:
    """By lesson and question: whether the last answer was right. Begins with what the browser kept."""
    if _ANSWERS not in st.session_state:
        st.session_state[_ANSWERS] = read_progress(kept(COOKIE))
    given: dict[tuple[str, str], bool] = st.session_state[_ANSWERS]
    return given


def read_progress(text: str) -> dict[tuple[str, str], bool]:
    """The questions answered right, from a cookie like `masking.future~multi-head.same`; the rest is left out."""
    parts = (re.fullmatch(r"([a-z-]{1,40})\.([a-z_0-9-]{1,40})", part) for part in text[:MAX_CHARS].split("~"))
    return {(part[1], part[2]): True for part in parts if part}


def written_progress() -> str:
    """The inverse of `read_progress`."""
    return "~".join(f"{slug}.{question}" for (slug, question), right in answers().items() if right)[:MAX_CHARS]


def save_progress() -> None:
    """Hand the answers to the browser. Drawn once a page."""
    keep(COOKIE, written_progress())


def record(slug: str, question: str, right: bool) -> None:
    answers()[slug, question] = right


def set_count(slug: str, n_questions: int) -> None:
    """How many questions a lesson asks: known once it has been opened."""
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
    """How many questions a lesson asks; 0 if it has not been opened yet."""
    counts: dict[str, int] = st.session_state.get(_COUNTS, {})
    return counts.get(slug, 0)


def all_right(slug: str) -> bool:
    """Whether every question of a lesson was answered right. False for one not opened since the app was."""
    return 0 < _count(slug) <= right_in(slug)


def score() -> str:
    """The visitor's score in words, or ''."""
    given = answers()
    return f"{sum(given.values())} right of {len(given)} answered" if given else ""
