"""The map of the whole machine, every block a door to its lesson."""

import streamlit as st

from model.trace import Trace
from ui.components.architecture import architecture, block_ids
from ui.course.lesson import COURSE


def course_map(key: str, trace: Trace) -> None:
    """Draw the map of the trace's model, with the numbers of its sentence, and go where the learner clicks."""
    by_block = COURSE.by_block()
    ids = block_ids(trace.model)  # another model than the course is about has other blocks, too
    opened = architecture(
        trace.model,
        key=key,
        links={block: lesson.title for block, lesson in by_block.items() if block in ids},
        trace=trace,
    )
    if opened:
        st.switch_page(COURSE.page(by_block[opened]))
