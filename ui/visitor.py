"""Who a visitor is, for what nobody may have too much of. Not their name: a sign without a meaning."""

import re
from collections.abc import Callable
from uuid import uuid4

import streamlit as st

from serving import BEHIND_PROXY, MOST_PAGES, NAMED, TOO_MANY_PAGES, VISITOR_COOKIE
from serving.streamlit_private import exists, get_instance, get_script_run_ctx
from serving.work_queue import is_unnamed

_SLOT = "visitor"


def visitor() -> str:
    """One for all pages that a browser has open, if the app stands behind its proxy; else one for this page alone.

    Behind the proxy all at one address who keep no cookie are one: a page that is loaded anew must not begin anew.
    """
    named = str(st.context.cookies.get(VISITOR_COOKIE, ""))
    if re.fullmatch("[0-9a-f]{32}", named):
        return named
    if BEHIND_PROXY in st.context.headers:
        return f"at {st.context.ip_address}"
    return str(st.session_state.setdefault(_SLOT, uuid4().hex))


def one_browser() -> str:
    """A sign of this browser alone, or '' where `visitor` stands for many."""
    return "" if is_unnamed(visitor()) else visitor()


def presence() -> Callable[[], bool]:
    """Tells, from any thread, whether the page that is being drawn now is still open in a browser."""
    context = get_script_run_ctx()
    if context is None or not exists():
        return lambda: True
    runtime, session = get_instance(), context.session_id
    return lambda: bool(runtime.is_active_session(session))


def stop_if_too_many_pages() -> None:
    """Say so, and nothing else, on a page that a visitor opens beside too many others."""
    whose = st.context.headers.get(TOO_MANY_PAGES)
    if whose == NAMED:
        st.warning(
            f"This app is open in {MOST_PAGES} tabs of your browser already. Close one, then load this page again."
        )
    elif whose:
        st.warning(
            f"{MOST_PAGES} browsers in your network have this app open without keeping cookies, as yours does. Allow "
            "cookies for this page, then load it again."
        )
    if whose:
        st.stop()
