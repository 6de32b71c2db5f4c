"""Waiting until a visitor's browser has painted the first picture of the visit."""

import time

import streamlit as st

from ui.components.shared.wire import component

_painted = component("painted", js=("shared/shared.js", "painted/painted.js"))
STEP = 0.1  # seconds


def wait_until_painted(page: str, most: float) -> None:
    """Wait until the browser says so, which starts the script anew, or for so many seconds. It says so once.

    Args: page: the last part of its path, '' for home; most: seconds

    Whoever comes without a browser, as the server's own first visit does, paints nothing and waits for nothing.
    """
    if "Mozilla" not in st.context.headers.get("User-Agent", ""):  # every browser calls itself so
        return
    _painted(key="said_painted", data={"page": page}, on_painted_change=lambda: None)
    until = time.monotonic() + most
    while time.monotonic() < until:
        time.sleep(STEP)
        st.session_state.get("painted")  # at every look there Streamlit starts the script anew, if it was asked to
