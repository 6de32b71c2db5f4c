"""The sentence bar: the same on every page, one sentence everywhere, kept in the address."""

import random
from dataclasses import dataclass

import streamlit as st

from model.trace import EmptySentenceError, Trace
from ui import engine
from ui.course.notices import MAX_CHARS, cut_notice, unlike_training
from ui.course.page_frame import badge

KEY = "sentence"  # of the text box, and of the parameter in the address
DEFAULT = "I ate an apple"


@dataclass(frozen=True)
class Example:
    """A sentence one click away, under a short label, and what it is for."""

    label: str
    sentence: str
    why: str


EXAMPLES = (
    Example("I ate an apple", DEFAULT, "The standing example: German moves the verb to the end."),
    Example("Who fights whom?", "The black cat fights the white cat.", "Word order: who fights whom?"),
    Example("What is *it*?", "The animal didn't cross the street because it was too wide.", "What does “it” look at?"),
    Example("Which bank?", "I put my money in the bank.", "One word, two meanings: money here, a river elsewhere."),
)
SURPRISES = (
    "Where did you buy that red umbrella?",
    "My sister wants to learn German this summer.",
    "It's raining, so we should stay at home.",
    "Can you open the window, please?",
    "The old man reads a newspaper every morning.",
    "We forgot to feed the neighbour's dog.",
    "He plays basketball every Saturday.",
    "They were waiting for the last train.",
)


def _type(sentence: str) -> None:
    st.session_state[KEY] = sentence


def _surprise() -> None:
    _type(random.choice([s for s in SURPRISES if s != st.session_state.get(KEY)]))


def sentence_bar() -> None:
    """The box, the examples and the badge: drawn before every page, so that the sentence stays in the address."""
    box, device = st.columns([5, 1.3], vertical_alignment="bottom")
    with box:
        st.text_input("English sentence", DEFAULT, key=KEY, bind="query-params", live="300ms")
    with device:
        badge()
    with st.container(horizontal=True, key="examples", gap="small"):
        for n, example in enumerate(EXAMPLES):
            st.button(
                example.label,
                key=f"example{n}",
                help=example.why,
                on_click=_type,
                args=(example.sentence,),
                type="tertiary",
            )
        st.button("Surprise me", key="surprise", on_click=_surprise, type="tertiary")


def sentence_trace() -> Trace:
    """The trace of what is in the box. Stops the page, saying why, if there is nothing to trace."""
    typed = (st.session_state.get(KEY) or "").strip()
    try:
        trace = engine.trace(typed[:MAX_CHARS])
    except EmptySentenceError as error:
        st.info(str(error))
        st.stop()
    # Drawn even when empty: a notice that comes or goes must not move what stands below, or it would be built anew.
    with st.container(key="notices"):
        for notice in (cut_notice(typed, trace), unlike_training(trace)):
            if notice:
                st.info(notice)
        if trace.text.rstrip(".").lower() == DEFAULT.lower():
            st.caption("The model met this very sentence in training. Type one of your own to see what it can do.")
    return trace
