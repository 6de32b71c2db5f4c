"""Where a class stands in the course: how much of each lesson its learners have answered right."""

from collections.abc import Sequence
from statistics import multimode

import streamlit as st

from classroom.classes import Somebody, people
from pages.classes.browser import DESK
from pages.classes.poll_view import bar
from pages.classes.room import Desk, room, told
from ui.course.lesson import COURSE
from ui.views.charts.tables import table

LOOK_SECONDS = 2.0


@st.fragment(run_every=LOOK_SECONDS)
def where_they_stand(at: Desk) -> None:
    """A bar for each lesson that somebody has begun, in the order of the course; each learner's counts if asked for."""
    with told(DESK, whole=True):
        everyone = people(room().db, at.teacher)
        begun = sum(bool(one.progress) for one in everyone)
        if not begun:
            st.markdown("As soon as a learner answers a question of a lesson, a bar for that lesson appears here.")
            return
        st.markdown(f"Learners who have answered questions of the lessons: **{begun}** of {len(everyone)}.")
        for lesson in COURSE.lessons:
            _lesson(
                lesson.title, [one.progress[lesson.slug] for one in everyone if lesson.slug in one.progress], everyone
            )
        st.caption("A bar is full when every learner has answered all questions of the lesson right.")
        if st.toggle("Learner by learner", key="teach/each"):
            _each(everyone)


def _lesson(title: str, counts: Sequence[tuple[int, int]], everyone: Sequence[Somebody]) -> None:
    if counts:
        # As most say: a cookie may hold anything, and lessons may have asked more before.
        asks = max(multimode(of for _, of in counts))
        counts = [(min(right, asks), of) for right, of in counts]
        right, done = sum(right for right, _ in counts), sum(right >= asks for right, _ in counts)
        most = asks * len(everyone)
        words = f"{title}: **{right}** of {most} answered right. All right: **{done}** of {len(everyone)} learners."
        bar(min(right / most, 1.0), words)


def _each(everyone: Sequence[Somebody]) -> None:
    """Who has no nickname is called by their number, as in the results."""
    lines = []
    for one in everyone:
        right, of = (sum(counts[i] for counts in one.progress.values()) for i in (0, 1))
        parts = [
            f"{lesson.title} {one.progress[lesson.slug][0]} of {one.progress[lesson.slug][1]}"
            for lesson in COURSE.lessons
            if lesson.slug in one.progress
        ]
        lines.append((one.nickname or f"Learner {one.number}", f"{right} of {of}" if of else "0", ", ".join(parts)))
    table(("Learner", "Answered right", "In which lessons"), lines)
