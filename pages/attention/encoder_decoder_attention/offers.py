"""Sentences that are one click away, each with the way back to the visitor's own."""

import streamlit as st

from ui.controls.address import write_pair
from ui.course.sentence import KEY as SENTENCE
from ui.text import bold

GERMAN = "german"  # key of the box for German, and of its parameter in the address
_BEFORE = "before_offer"  # in the session: the visitor's own sentence and German


def offers(pairs: dict[str, tuple[str, str]], key: str) -> None:
    """A button for each pair of an English sentence and German, by label, and one that brings back what was before.

    German may be empty: then the model's translation is shown.
    """
    with st.container(horizontal=True, gap="small", key=key):
        for label, (sentence, german) in pairs.items():
            help = f"{sentence} → {german}" if german else sentence
            st.button(label, key=f"offer_{label}", help=help, on_click=_put, args=(sentence, german))
    _way_back(key)


def _put(sentence: str, german: str) -> None:
    own = st.session_state.get(SENTENCE, ""), st.session_state.get(GERMAN) or ""
    offered = st.session_state.get(_BEFORE, {}).get("offered")
    if own != offered:  # of several offers in a row, the visitor's own sentence is kept
        st.session_state[_BEFORE] = {"own": own}
    st.session_state[_BEFORE]["offered"] = sentence, german
    _write(sentence, german)


def _write(sentence: str, german: str) -> None:
    st.session_state[SENTENCE], st.session_state[GERMAN] = sentence, german
    write_pair("cell", None)


def _way_back(key: str) -> None:
    """What a click has replaced, and a button that brings it back, as long as nothing else is typed."""
    before = st.session_state.get(_BEFORE)
    if not before or before["offered"] != (st.session_state.get(SENTENCE), st.session_state.get(GERMAN) or ""):
        return
    sentence, german = before["own"]
    with st.container(horizontal=True, vertical_alignment="center", key=f"{key}_back"):
        st.caption(f"The sentence at the top is now {bold(before['offered'][0])}")
        st.button("Back to my own sentence", key=f"{key}_own", on_click=_write, args=(sentence, german))
