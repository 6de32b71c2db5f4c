"""The frame of a lesson: sentence bar, place on the map, the six parts, the way on."""

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.navigation.page import Page

from model.trace import Trace
from ui.course.architecture_map import course_map
from ui.course.lesson import LESSONS, Lesson, lesson, neighbours, page_of
from ui.course.presenter import KEY, stepper
from ui.course.quiz import Question, answered, quiz
from ui.course.sentence import sentence_trace
from ui.course.source import Code, source

_VISITED = "visited"  # in the session: slugs of the lessons opened on this visit
_ASKED = "asked"  # in the session: the lesson and the sentence last asked about, and the questions

Part = Callable[[Trace], None]


def visited() -> set[str]:
    """Slugs of the lessons that this visitor has opened."""
    found: set[str] = st.session_state.setdefault(_VISITED, set())
    return found


def nav_title(item: Lesson) -> str:
    """A lesson's title in the navigation, ticked once visited, with the questions answered."""
    if item.slug not in visited():
        return item.title
    done = answered(item.slug)
    return f"{item.title} ✓" + (f" {done}/{item.n_questions}" if done else "")


def questions(slug: str, predict: Callable[[Trace], Sequence[Question]], trace: Trace) -> Sequence[Question]:
    """The questions of a lesson, the same until the sentence changes.

    They ask about the head and the cell chosen when they were first drawn, and name them. Were they to follow every
    click in See, an answer half given would be gone.
    """
    about = slug, trace.text
    if st.session_state.get(_ASKED, ("", ()))[0] != about:
        st.session_state[_ASKED] = about, tuple(predict(trace))
    asked: Sequence[Question] = st.session_state[_ASKED][1]
    return asked


def show_lesson(
    slug: str,
    *,
    idea: Part,
    choose: Part | None = None,
    see: Part,
    do: Part,
    check: Part,
    predict: Callable[[Trace], Sequence[Question]],
    code: Sequence[Code],
) -> None:
    """A whole lesson page. Each part is a function of the trace; presenter mode shows one of them at a time.

    Check stands beside See, because its arithmetic is that of the cell chosen there. What both depend on is chosen
    above them, in `choose`.
    """
    this = lesson(slug)
    visited().add(slug)
    trace = sentence_trace()

    def predict_part(trace: Trace) -> None:
        quiz(slug, questions(slug, predict, trace))

    def code_part(trace: Trace) -> None:
        source(*code)

    presenting = bool(st.session_state.get(KEY))

    def heading(name: str) -> None:
        if not presenting:  # there the stepper names the part
            st.header(name, anchor=name.lower())

    def see_and_check(trace: Trace) -> None:
        if choose:
            heading("See")
            with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="choose"):
                choose(trace)
        left, right = st.columns([1.15, 1], gap="large")
        with left:
            if not choose:
                heading("See")
            see(trace)
        with right:
            heading("Check")
            check(trace)

    parts: dict[str, Part] = {
        "Idea": idea,
        "See": see_and_check,
        "Do": do,
        "Predict": predict_part,
        "Code": code_part,
    }
    if presenting:
        with st.container(horizontal=True, vertical_alignment="center", gap="large", key="presenter_head"):
            st.title(this.title, anchor=False, width="content")
            name = list(parts)[stepper(list(parts))]
        _fragment(name, parts[name], trace, headed=False)
        return
    left, right = st.columns([2.7, 1], gap="large")
    with left:
        _heading(this)
        _part("Idea", idea, trace)
    with right:
        course_map("map_here", here=this)
    _bench(see_and_check, do, trace)
    _fragment("Predict", predict_part, trace)
    _part("Code", code_part, trace)
    _way_on(this)


def _heading(this: Lesson) -> None:
    st.title(this.title, anchor=False)
    st.markdown(f"*{this.asks}*")


def _part(name: str, part: Part, trace: Trace, headed: bool = True) -> None:
    with st.container(key=f"part_{name.lower()}"):
        if headed and name not in ("Idea", "See"):  # the title stands above one, the other has its own beside Check's
            st.header(name, anchor=name.lower())
        part(trace)


@st.fragment
def _fragment(name: str, part: Part, trace: Trace, headed: bool = True) -> None:
    _part(name, part, trace, headed)


@st.fragment
def _bench(see_and_check: Part, do: Part, trace: Trace) -> None:
    """See, Check and Do share their controls, so they are redrawn together, and nothing else is."""
    _part("See", see_and_check, trace)
    _part("Do", do, trace)


def _way_on(this: Lesson) -> None:
    before, after = neighbours(this)
    st.divider()
    with st.container(horizontal=True, horizontal_alignment="distribute", key="way_on"):
        if before:
            st.page_link(page_of(before), label=f"← {before.title}")
        if after:
            st.page_link(page_of(after), label=f"Next: {after.title} →")
    st.caption("The address of this page reopens it exactly as it is now: sentence, head, cell and every switch.")


def course_pages() -> dict[str, list[Page]]:
    """The lessons as navigation, by section, ticked as far as this visitor has come."""
    sections: dict[str, list[Page]] = {}
    for item in LESSONS:
        sections.setdefault(item.section, []).append(page_of(item, nav_title(item)))
    return sections
