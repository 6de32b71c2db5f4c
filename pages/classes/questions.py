"""Questions put to a class: any of any lesson, or the teacher's own; and the answers as they come in."""

from dataclasses import replace

import streamlit as st

from classroom.polls import MAX_OPTIONS, Asked, Shown, ask, overview, set_state
from model.files.checkpoint import CheckpointError
from model.trace import EmptySentenceError
from pages.classes.browser import DESK
from pages.classes.poll_view import bar, options_of, question_text, results
from pages.classes.room import Desk, button, failed, on_press, room, told
from pages.lesson_page import model_of
from ui import engine
from ui.controls.segmented import one_of
from ui.course.lesson import COURSE, Lesson
from ui.course.notices import MAX_CHARS
from ui.course.quiz import Ask, Question
from ui.course.sentence import DEFAULT, current_model
from ui.course.sentence import KEY as SENTENCE
from ui.text import in_markdown

LOOK_SECONDS = 1.0
LONGEST = 120  # signs of a sentence above a question
# What is asked just so about two of these is about no sentence. Two: one may be as long as the visitor's by chance.
OTHERS = "The two old dogs see a cat in our garden.", "Yes.", "I like it."
_ASKS = "class.asks"  # in the session: the lesson and what was typed, and what `_asks` returns


def put_question(at: Desk) -> None:
    """Choose or write a question, look at it, and put it to the class."""
    source = one_of("Where the question comes from", ["A lesson", "Your own"], key="source")
    asked = _of_a_lesson() if source == "A lesson" else _own()

    def put() -> None:
        if asked:
            ask(room().db, at.teacher, asked)

    button("Ask the class", "teach/ask", DESK, put, type="primary", disabled=asked is None)
    if asked and asked.lesson:  # one of the teacher's own stands in the boxes above
        with st.container(border=True, key="class_preview"):
            st.markdown(asked.text)
            st.markdown("\n".join(f"- {option}" for option in asked.options))


def _of_a_lesson() -> Asked | None:
    lessons = {lesson.title: lesson for lesson in COURSE.lessons}
    lesson = lessons[st.selectbox("Lesson", list(lessons), key="teach/lesson", persist_state="session")]
    try:
        sentence, asks, others = _asks(lesson)
        numbers = range(1, len(asks) + 1)
        n = st.selectbox("Question", numbers, key=f"teach/{lesson.slug}", persist_state="session") - 1
        question = _opened(asks, n)
        if all(n < len(other) and _opened(other, n) == question for other in others):
            sentence = ""
    except CheckpointError as error:  # of a model that only this lesson needs
        st.error(in_markdown(str(error)))
        return None
    return as_asked(lesson, question, sentence)


def _opened(asks: list[Ask], n: int) -> Question:
    if not isinstance(question := asks[n], Question):
        question = asks[n] = question()
    return question


def as_asked(lesson: Lesson, question: Question, sentence: str) -> Asked:
    """A question of a lesson as one for a class. It says which sentence it is about: a learner's own may be another.

    Args: sentence: '' if it is about none
    """
    text = question.text
    if sentence:
        short = sentence if len(sentence) <= LONGEST else f"{sentence[:LONGEST]}…"
        text = f"{text}\n\n*The sentence:* “{in_markdown(short)}”"
    return Asked(text, question.options, question.correct, question.why, question.several, lesson.slug)


def _asks(lesson: Lesson) -> tuple[str, list[Ask], list[list[Ask]]]:
    """The sentence in the bar, or the usual one where that is empty; a lesson's questions about it, and about others.

    About no others, if the lesson asks nothing about sentences.
    """
    typed = (st.session_state.get(SENTENCE) or "").strip()[:MAX_CHARS]
    about = lesson.slug, typed
    if st.session_state.get(_ASKS, ("", "", ()))[0] != about:
        model = (model_of(lesson) or current_model()).name
        try:
            trace = engine.trace(typed, name=model)
        except EmptySentenceError:
            trace = engine.trace(DEFAULT, name=model)
        others = [one for one in OTHERS if one != trace.text][:2] if lesson.on_map.readers != () else []
        more = [list(lesson.predict(engine.trace(one, name=model))) for one in others]
        st.session_state[_ASKS] = about, trace.text, list(lesson.predict(trace)), more
    _, sentence, asks, more = st.session_state[_ASKS]
    return sentence, asks, more


def _own() -> Asked | None:
    text = st.text_area("Your question", key="teach/text", height=80, persist_state="session")
    label = f"The options, each on a line of its own, two to {MAX_OPTIONS}"
    typed = st.text_area(label, key="teach/options", height=120, persist_state="session")
    options = tuple(line.strip() for line in typed.splitlines() if line.strip())
    right = st.selectbox(
        "The right one, if you want to say so", [None, *range(len(options))], key="teach/right",
        format_func=lambda n: "none" if n is None else options[n], persist_state="session",
    )  # fmt: skip
    return Asked(text, options, frozenset() if right is None else frozenset([right])) if text and options else None


@st.fragment(run_every=LOOK_SECONDS)
def live_question(at: Desk) -> None:
    """The newest question and its answers as they come in; bars once they are revealed."""
    with told(DESK, whole=True):
        seen = overview(room().db, at.teacher)
        if not seen.polls:
            st.info("You have not asked anything yet. What you ask appears here and on every learner's device.")
            return
        poll = seen.polls[0]
        with st.container(border=True, key="class_question"):
            st.subheader(f"Question {poll.number}", anchor=False)
            question_text(poll)
            if poll.revealed:
                results(poll)
            else:
                _hidden(poll, seen.learners)
            _steer(at, poll)
        for earlier in seen.polls[1:]:
            with st.expander(f"Question {earlier.number}: {earlier.answered} answered"):
                question_text(earlier)
                results(replace(earlier, closed=True))


def _hidden(poll: Shown, learners: int) -> None:
    st.markdown("\n".join(f"- {option}" for option in options_of(poll)))
    share = min(poll.answered / learners, 1.0) if learners else 0.0
    bar(share, f"**{poll.answered}** of {learners} have answered. What they answered is hidden.")


def _steer(at: Desk, poll: Shown) -> None:
    """Close and open, reveal and hide."""

    def close() -> None:
        set_state(room().db, at.teacher, poll.poll_id, closed=not poll.closed)

    def reveal() -> None:
        set_state(room().db, at.teacher, poll.poll_id, revealed=not poll.revealed)

    with st.container(horizontal=True):
        label = "Open it again" if poll.closed else "Close it"
        st.button(label, key=f"teach/close/{poll.closed}", on_click=on_press, args=(DESK, close))
        label = "Hide the answers" if poll.revealed else "Reveal the answers"
        st.button(label, key=f"teach/reveal/{poll.revealed}", on_click=on_press, args=(DESK, reveal))
    failed("class_questions")
    if poll.closed:
        st.caption("It is closed: later answers are not counted.")
    elif poll.revealed and poll.asked.right:
        st.caption("Close it to show which answer is right.")
    if poll.asked.lesson:
        st.page_link(COURSE.page(COURSE.lesson(poll.asked.lesson)), label="To the lesson that it comes from →")
