"""What the browser keeps for the next visit: short texts of letters, digits and a few signs, in cookies."""

import streamlit as st

from ui.components.shared.wire import component

_keep = component("cookie", js=("shared/cookie.js",))


def keep(cookie: str, value: str, days: int = 365, of_lists: bool = False) -> None:
    """Hand a text to the browser; an empty one has it forget the last. Drawn once a page for each cookie.

    Args: of_lists: the text is lists of names, `list.name.name~list.name`, to which other tabs of the browser add too
    """
    _keep(key=f"cookie_{cookie}", data={"cookie": cookie, "value": value, "days": days, "ofLists": of_lists})


def kept(cookie: str) -> str:
    """What the browser kept when it opened this page, or ''. It comes from outside: read it with suspicion."""
    return str(st.context.cookies.get(cookie, ""))
