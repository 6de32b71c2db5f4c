"""A sentence that a screen reader says when it changes; nobody sees it."""

import streamlit as st

from ui.components.shared.wire import browser_file

_component = st.components.v2.component(
    "transformer_walkthrough.announcement",
    css=browser_file("announcement/announcement.css"),
    js=browser_file("announcement/announcement.js"),
)


def announce(text: str, key: str) -> None:
    """Say `text`, any text, once the reader is idle, if it is another than the last time this key was drawn.

    Args: key: begins with "said_", by which the style sheet keeps it from taking room on the page
    """
    _component(key=key, data={"text": text})
