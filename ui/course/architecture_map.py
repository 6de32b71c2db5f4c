"""The map of the whole machine, every block a door to its lesson."""

import streamlit as st

from model.trace import Trace
from ui.components.architecture import architecture, block_ids
from ui.course.lesson import COURSE, Lesson


def course_map(key: str, trace: Trace, here: Lesson | None = None) -> None:
    """Draw the map of the trace's model and go where the learner clicks: alive, or on a lesson small and lit `here`."""
    by_block = COURSE.by_block()
    ids = block_ids(trace.model)  # another model than the course is about has other blocks, too
    opened = architecture(
        trace.model,
        key=key,
        lit=[block for block in (here.on_map.lit or here.on_map.opens) if block in ids] if here else (),
        links={block: one.title for block, one in by_block.items() if one != here and block in ids},
        trace=trace,
        compact=here is not None,
    )
    if opened:
        st.switch_page(COURSE.page(by_block[opened]))
