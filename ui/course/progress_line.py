"""The course as a line above a lesson's title: where one is in it, and what one has answered."""

import streamlit as st

from ui.course.lesson import COURSE, Lesson
from ui.course.progress import all_right


def progress_line(lesson: Lesson) -> None:
    """A bar for each lesson, and the same in words."""
    lessons = COURSE.lessons
    at = lessons.index(lesson)
    done = [all_right(one.slug) for one in lessons]
    bars = "".join(
        f'<i class="{"here" if n == at else ""}{" done" if is_done else ""}"></i>' for n, is_done in enumerate(done)
    )
    words = f"Lesson {at + 1} of {len(lessons)}"
    words += f" · all questions answered right in {sum(done)}" if any(done) else ""
    st.html(f'<p class="tw-course">{words}<span aria-hidden="true">{bars}</span></p>')
