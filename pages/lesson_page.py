"""The page of any lesson: place in the course and on the map, the six parts, the way on.

It stands here, not in `ui`, so that calls go one way: from pages to the lesson's own parts, and from those to `ui`.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import streamlit as st

from model.files.checkpoint import CheckpointError
from model.files.loaded_model import LoadedModel
from model.trace import Trace
from pages.first_screen import draw_all_if_changed, first_screen, has_drawn, head_start
from serving.streamlit_private import DeltaGenerator, Page
from ui.course.lesson import COURSE, Bench, Lesson, Part
from ui.course.presenter import KEY, stepper
from ui.course.progress import counted, save_progress
from ui.course.progress_line import progress_line
from ui.course.quiz import Ask, quiz
from ui.course.ride import you_are_here
from ui.course.sentence import KEY as SENTENCE
from ui.course.sentence import sentence_trace
from ui.course.source import source
from ui.text import in_markdown

HEAD_START = 0.2  # seconds that See has for itself when a sentence was typed in the bar
_DRAWN = "lesson.drawn"  # in the session: what stood in the bar when the whole page was last drawn
_TYPED = "lesson.typed"  # in the session: the whole page is being drawn because a control of the lesson typed
_WHOLE = "lesson.whole"  # in the session: the whole page is being drawn, not the bench alone, and See comes first
_ASKED = "asked"  # in the session: the lesson and the sentence last asked about, and the questions


def questions(lesson: Lesson, trace: Trace) -> list[Ask]:
    """The questions of a lesson, the same until the sentence changes.

    They ask about the head and the cell chosen when the lesson first asked, and name them. Were they to follow every
    click in See, an answer half given would be gone.
    """
    about = lesson.slug, trace.model.name, trace.text
    if st.session_state.get(_ASKED, ("", ()))[0] != about:
        st.session_state[_ASKED] = about, list(lesson.predict(trace))
    asked: list[Ask] = st.session_state[_ASKED][1]
    return asked


def ask_anew() -> None:
    """Ask about what is chosen now: a class is asked what its teacher is."""
    st.session_state.pop(_ASKED, None)


def show(lesson: Lesson) -> None:
    """A whole lesson page; presenter mode shows one part at a time.

    Predict comes before See, so that the answers stand nowhere above the questions. Check stands beside See, because
    its arithmetic is that of the cell chosen there.
    """
    st.session_state[_DRAWN] = st.session_state.get(SENTENCE)
    trace = sentence_trace(model_of(lesson), lesson.on_map)
    presenting = bool(st.session_state.get(KEY))

    def idea(trace: Trace) -> None:
        if lesson.on_map.scene:
            _first_screen(lesson, trace)
            lesson.idea(trace)
            return
        left, right = st.columns([1, 1.4], gap="large")
        with left:
            lesson.idea(trace)
        with right:
            you_are_here(lesson, trace, large=True)

    def predict(trace: Trace) -> None:
        quiz(lesson.slug, questions(lesson, trace))

    def code(_: Trace) -> None:
        source(*lesson.code)

    if presenting:
        see: Part = partial(_see_and_check, lesson.bench, headed=False)
        parts = {"Idea": idea, "Predict": predict, "See": see, "Do": lesson.bench.do, "Code": code}
        with st.container(horizontal=True, vertical_alignment="center", gap="large", key="presenter_head"):
            st.title(lesson.title, anchor=False, width="content")
            name = list(parts)[stepper(list(parts))]
        _fragment(name, parts[name], trace, headed=False)
        save_progress()
        return
    picture = None if lesson.on_map.scene else _opening(lesson, trace)
    if lesson.on_map.scene:
        with st.container(key="opening_scene"):
            progress_line(lesson)
            st.title(lesson.title, anchor=False)
            _first_screen(lesson, trace)
        head_start(lesson.slug)
        with _part("Idea"):
            lesson.idea(trace)
    asked = st.container()
    # A learner who types waits for See. What stands above it is made after it: the picture plays for seconds (at a
    # visit's first page it is what one waits for), and some questions are answered by running the model many times.
    st.session_state[_WHOLE] = not st.session_state.pop(_TYPED, False)
    _bench(lesson, trace)
    if picture:
        with picture:
            you_are_here(lesson, trace)
    with asked:
        _fragment("Predict", predict, trace)
    with _part("Code"):
        code(trace)
    _way_on(lesson)
    save_progress()


def _first_screen(lesson: Lesson, trace: Trace) -> None:
    st.header(lesson.asks, anchor=False)
    if lesson.on_map.scene:
        with _in_words():
            first_screen(lesson.slug, lesson.on_map.scene, trace)


def _opening(lesson: Lesson, trace: Trace) -> DeltaGenerator | None:
    """Question, picture and idea; returns the picture's place if the picture is to come after See."""
    with st.container(key="opening"):  # assets/styles.css puts the picture beside the other two, where there is room
        with st.container():
            progress_line(lesson)
            st.title(lesson.title, anchor=False)
            st.markdown(f"*{lesson.asks}*")
        picture = st.container(key="opening_picture")
        picture.empty()  # so that the browser keeps its room from the first
        first = not has_drawn()
        if first:
            with picture:
                you_are_here(lesson, trace)
            head_start(lesson.slug)
        with _part("Idea"):
            lesson.idea(trace)
    return None if first else picture


def model_of(lesson: Lesson) -> LoadedModel | None:
    """The lesson's own model, if it has one and its files are whole; if not, each part says what it lacks."""
    try:
        return lesson.on_map.model() if lesson.on_map.model else None
    except CheckpointError:
        return None


def _see_and_check(bench: Bench, trace: Trace, headed: bool = True) -> None:
    def heading(name: str) -> None:
        if headed:  # in presenter mode the stepper names the part
            st.header(name, anchor=name.lower())

    if bench.controls:
        heading("See")
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="choose"):
            bench.controls(trace)
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        if not bench.controls:
            heading("See")
        shown = bench.see(trace)
    with right, st.container(key="part_check"):
        heading("Check")
        bench.check(trace if shown is None else shown)


@contextmanager
def _in_words() -> Iterator[None]:
    """Says what is missing if a model is, beside the visitor's own."""
    try:
        yield
    except CheckpointError as error:
        st.error(in_markdown(str(error)))


@contextmanager
def _part(name: str, headed: bool = True) -> Iterator[None]:
    """Where a part is drawn, under its name."""
    with st.container(key=f"part_{name.lower()}"):
        if headed and name not in ("Idea", "See"):  # the title stands above one, the other has its own beside Check's
            st.header(name, anchor=name.lower())
        with _in_words():
            yield


def _draw_all_for_another_sentence() -> None:
    """If a control of the lesson has put a sentence into the bar, the whole page is drawn for it, at once."""
    if st.session_state.get(SENTENCE) != st.session_state.get(_DRAWN):
        st.session_state[_TYPED] = True
        st.rerun()


@st.fragment
def _fragment(name: str, part: Part, trace: Trace, headed: bool = True) -> None:
    _draw_all_for_another_sentence()
    with _part(name, headed):
        part(trace)


@st.fragment
def _bench(lesson: Lesson, trace: Trace) -> None:
    """See, Check and Do share their controls, so they are redrawn together, and nothing else is."""
    _draw_all_for_another_sentence()
    draw_all_if_changed(lesson.slug)
    with _part("See"):
        _see_and_check(lesson.bench, trace)
    if st.session_state.pop(_WHOLE, False):
        # Else what is below arrives while the browser still draws See, and is drawn before it.
        time.sleep(HEAD_START)
    with _part("Do"):
        lesson.bench.do(trace)


def _way_on(this: Lesson) -> None:
    before, after = COURSE.neighbours(this)
    st.divider()
    with st.container(horizontal=True, horizontal_alignment="distribute", key="way_on"):
        if before:
            st.page_link(COURSE.page(before), label=f"← {before.title}")
        if after:
            st.page_link(COURSE.page(after), label=f"Next: {after.title} →")
    if this.on_map.unkept:
        st.caption(f"The address of this page reopens it as it is now, but for {this.on_map.unkept}.")
    else:
        st.caption("The address of this page reopens it exactly as it is now: sentence, head, cell and every switch.")


def course_pages() -> dict[str, list[Page]]:
    """The lessons as navigation, by section, with what this visitor has answered right."""
    return {
        title: [COURSE.page(lesson, f"{lesson.title}{counted(lesson.slug)}") for lesson in lessons]
        for title, lessons in COURSE.sections.items()
    }
