"""What the browser keeps for the next visit: short texts of letters, digits and a few signs, in cookies."""

import streamlit as st

from ui.components.shared.wire import component

_keep = component("cookie", js=("shared/cookie.js",))


def keep(cookie: str, value: str, days: int = 365) -> None:
    """Hand a text to the browser; an empty one has it forget the last. Drawn once a page for each cookie."""
    _keep(key=f"cookie_{cookie}", data={"cookie": cookie, "value": value, "days": days})


def kept(cookie: str) -> str:
    """What the browser kept when it opened this page, or ''. It comes from outside: read it with suspicion."""
    return str(st.context.cookies.get(cookie, ""))
