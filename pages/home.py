"""Home: a sentence goes in and rides through the machine; below it, every head's weights and the map."""

import streamlit as st

from model.trace import Trace
from pages.first_screen import PLAY, head_start
from ui.course.architecture_map import course_map
from ui.course.lesson import COURSE
from ui.course.presenter import KEY
from ui.course.ride import ride
from ui.course.sentence import sentence_trace
from ui.views.attention_maps import attention_maps
from ui.views.translation import translation, word_probabilities


def more(trace: Trace) -> None:
    """What stands below the stage."""
    st.header("How sure it was", anchor=False)
    word_probabilities(trace)
    st.header("Where it looked", anchor=False)
    config = trace.model.config
    st.markdown(
        f"The **encoder** reads, the **decoder** writes. Each looks in {config.n_layers} **layers**, one after the "
        f"other, with {config.n_heads} **heads** side by side; how much it looks at a piece is a weight from 0 to 1."
    )
    attention_maps(trace)
    st.header("The machine, with your sentence in it", anchor=False)
    st.markdown("Open a block to read its lesson.")
    course_map("machine", trace)


with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="home_head"):
    st.title("Transformer Walkthrough", anchor=False, width="content")
    trace = sentence_trace()
with st.container(key="home_translation"):
    translation(trace)
    with st.container(key="home_learn"):
        st.page_link(
            COURSE.page(COURSE.lesson("how-it-learned")),
            label="Watch it learn your sentence →",
            query_params={"sentence": trace.text, PLAY: "1"},
        )
ride(trace)
if not st.session_state.get(KEY):  # a presenter's machine has the screen for itself
    head_start("")
    more(trace)
