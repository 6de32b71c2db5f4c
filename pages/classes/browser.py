"""Whether this visitor is in a class or teaches one, as far as their browser and their session know.

Asked on every page, so it imports nothing of the store: visitors without a class do not wait for it.
"""

import re

import streamlit as st

from ui.controls.cookie import keep, kept

LEARNER, TEACHER = "walkthrough_learner", "walkthrough_teacher"  # cookies: a class's code, and a token or secret
MEMBER, DESK = "class.member", "class.teacher"  # in the session: who one is, or None if that turned out to be nobody
# In the session: why one is in it no more. It is over, or closed to them, or a learner left in another tab, which may
# know a newer one.
OUT = {MEMBER: "class.member_out", DESK: "class.teacher_out"}
KEPT_DAYS = 30


def code_and_secret(cookie: str) -> tuple[str, str]:
    """What the browser keeps; each '' if it keeps none. A learner's token is there before there is a class."""
    found = re.fullmatch(r"([A-Z0-9]{6})?\.([A-Za-z0-9_-]{22})", kept(cookie), re.ASCII)
    return (found[1] or "", found[2]) if found else ("", "")


def keep_code_and_secret(cookie: str, code: str, secret: str) -> None:
    keep(cookie, f"{code}.{secret}" if secret else "", KEPT_DAYS)


def room_for_the_class() -> None:
    """The examples below the sentence give their place to the class: on a phone it would begin at half the screen."""
    st.html("<style>.st-key-examples, .tw-badge { display: none; }</style>")


def in_a_class() -> bool:
    """Whether this visitor may be in a class, or teach one."""
    return any(
        st.session_state[key] is not None if key in st.session_state else code_and_secret(cookie)[0] != ""
        for key, cookie in ((MEMBER, LEARNER), (DESK, TEACHER))
    )
