"""The map of the whole machine, every block a door to its lesson."""

import streamlit as st

from model.trace import Trace
from ui.components.architecture import architecture
from ui.course.lesson import COURSE, Lesson


def course_map(key: str, *, trace: Trace | None = None, here: Lesson | None = None) -> None:
    """Draw the map and go where the learner clicks: alive with a trace, small and lit at `here` on a lesson."""
    by_block = COURSE.by_block()
    opened = architecture(
        key=key,
        lit=(here.lit or here.blocks) if here else (),
        links={block: lesson.title for block, lesson in by_block.items() if lesson != here},
        trace=trace,
        compact=trace is None,
    )
    if opened:
        st.switch_page(COURSE.page(by_block[opened]))
