"""A line above every page for those in a class: what it is asked, and where its teacher sends it."""

import time
from collections.abc import Mapping

import streamlit as st
from streamlit.navigation.page import Page

from classroom.classes import send, stand
from classroom.polls import Board, overview
from pages.classes.browser import DESK, MEMBER
from pages.classes.room import Desk, Seat, desk, room, seat, told
from ui.controls.go import go
from ui.text import bold

LOOK_SECONDS = 2.0  # between two looks at the class
STAND_SECONDS = 60  # between two notes that a learner is still on a page
OWN_PAGES = ("join", "teach")
NOT_SENT = ("present", "step", "class", "secret", "code", "desk")  # of an address: the sender's own business
_MOVE, _STOOD = "class.move", "class.stood"  # in the session


def strip(page: str, places: Mapping[str, Page]) -> None:
    """For a learner and for a teacher.

    Args: page: the address of the page; places: all pages by their addresses
    """
    with told():
        if (mine := seat()) is not None:
            _learner(page, mine, places)
        if page not in OWN_PAGES and (at := desk()) is not None:
            _teacher(page, at)


@st.fragment(run_every=LOOK_SECONDS)
def _learner(page: str, mine: Seat, places: Mapping[str, Page]) -> None:
    with told(MEMBER):
        _note(page, mine)
        _news(page, mine, room().boards.of(mine.member), places)


def _news(page: str, mine: Seat, board: Board, places: Mapping[str, Page]) -> None:
    place = board.place
    known, seen = st.session_state.get(_MOVE, (0, 0))
    st.session_state[_MOVE] = mine.member.class_id, place.move if place else 0
    sent = place is not None and known == mine.member.class_id and place.move > seen
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="class_strip"):
        title = f" · {bold(mine.member.title)}" if mine.member.title else ""
        st.markdown(f"Class **{mine.code}**{title}", width="content")
        if place and place.page != page:
            sent |= st.button("Go where everyone is", key="class_go")
        if place and sent:
            go(place.page, place.state)
        if page != "join":
            is_open = board.poll is not None and not board.poll.closed
            label = f"Question {board.poll.number} is open →" if board.poll and is_open else "To the class →"
            st.page_link(places["join"], label=label)


def _note(page: str, mine: Seat) -> None:
    """That the learner is on this page: when they came to it, and once a minute."""
    before, when = st.session_state.get(_STOOD, ("", -STAND_SECONDS))
    if page != before or abs(time.monotonic() - when) >= STAND_SECONDS or _STOOD not in st.session_state:
        stand(room().db, mine.member, page)
        st.session_state[_STOOD] = page, time.monotonic()


@st.fragment(run_every=LOOK_SECONDS)
def _teacher(page: str, at: Desk) -> None:
    with told(DESK):
        seen = overview(room().db, at.teacher)
        with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="class_strip"):
            st.markdown(f"You teach **{at.teacher.code}** · {seen.here} here", width="content")
            if st.button("Everyone here now", key="class_send", help="Brings all learners to this page as it is."):
                state = {name: value for name, value in st.query_params.items() if name not in NOT_SENT}
                send(room().db, at.teacher, page, state, frozenset([page]))
                st.toast("Sent: they will be here in a moment.")
