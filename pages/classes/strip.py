"""A line above every page for those in a class: what it is asked, and where its teacher sends it."""

import time
from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from classroom.classes import send
from classroom.errors import NotPossibleError, StoreError
from classroom.members import report, stand
from classroom.polls import Board, overview
from pages.classes.browser import DESK, MEMBER
from pages.classes.room import Desk, Seat, desk, given, room, seat, told
from pages.lesson_page import ask_anew
from serving.streamlit_private import Page
from ui.controls.go import go
from ui.course.lesson import COURSE
from ui.course.progress import right_by_lesson
from ui.text import bold, in_markdown

LOOK_SECONDS = 2.0  # between two looks at the class
STAND_SECONDS = 60  # between two notes that a learner is still on a page
OWN_PAGES = ("join", "teach")
NOT_SENT = ("present", "step", "class", "secret", "code", "desk")  # of an address: the sender's own business
AGAIN_SECONDS = 4  # after which who has not come is sent once more: a busy browser may lose one message
GIVEN_UP_SECONDS = 12
_UNSENT = "class.unsent"  # in the session: a page to which the class could not be sent, and why
_MOVE, _SENT, _STOOD, _TOLD = "class.move", "class.sent", "class.stood", "class.told"  # in the session


def strip(page: str, places: Mapping[str, Page]) -> None:
    """For a learner and for a teacher.

    Args: page: the address of the page; places: all pages by their addresses
    """
    with told():
        if page != "join" and (mine := seat()) is not None:  # that page looks at the class itself
            _learner(page, mine, places)
        if page not in OWN_PAGES and (at := desk()) is not None:
            _teacher(page, at, places["teach"])


@st.fragment(run_every=LOOK_SECONDS)
def _learner(page: str, mine: Seat, places: Mapping[str, Page]) -> None:
    with told(MEMBER):
        board = follow(page, mine)
        poll = board.poll
        waits = poll is not None and not poll.closed and not given(mine, poll.poll_id)
        label = f"Question {poll.number} is open →" if poll and waits else "To the class →"
        with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="class_strip"):
            title = f" · {bold(mine.member.title)}" if mine.member.title else ""
            st.markdown(f"Class **{mine.code}**{title}", width="content")
            where_everyone_is(page, board)
            st.page_link(places["join"], label=label)


def follow(page: str, mine: Seat) -> Board:
    """Look at the class, note where the learner is in the course, and go where the teacher has just sent everyone.

    Raises: NoSuchClassError; StoreError
    """
    _note_page(page, mine)
    _note_progress(mine)
    board = room().boards.of(mine.member)
    nickname = board.nicknames.get(mine.member.learner_id, mine.member.nickname)
    if nickname != mine.member.nickname:  # their teacher has renamed them
        st.session_state[MEMBER] = mine._replace(member=replace(mine.member, nickname=nickname))
    place = board.place
    known, seen = st.session_state.get(_MOVE, (0, 0))
    st.session_state[_MOVE] = mine.member.class_id, place.move if place else 0
    sent = st.session_state.get(_SENT)  # when; None: nobody waits for them
    if place and known == mine.member.class_id and place.move > seen:
        st.session_state[_SENT] = sent = time.monotonic()
    elif not place or page == place.page or sent is None or time.monotonic() - sent > GIVEN_UP_SECONDS:
        st.session_state[_SENT] = sent = None
    if place and sent is not None:
        go(place.page, place.state, int(time.monotonic() - sent) // AGAIN_SECONDS)
    return board


def where_everyone_is(page: str, board: Board) -> None:
    """A way there for those who came later."""
    place = board.place
    if st.session_state.get(_SENT) is not None:  # they are being sent
        return
    if place and place.page != page and st.button("Go where everyone is", key="class_go", type="tertiary"):
        go(place.page, place.state)


def _note_page(page: str, mine: Seat) -> None:
    """That the learner is on this page: when they came to it, and once a minute."""
    here = mine.member.learner_id, page
    before, when = st.session_state.get(_STOOD, (None, 0.0))
    if here != before or abs(time.monotonic() - when) >= STAND_SECONDS:
        stand(room().db, mine.member, page)
        st.session_state[_STOOD] = here, time.monotonic()


def _note_progress(mine: Seat) -> None:
    """In which lessons the learner has answered more or fewer questions right than the class was told."""
    who, told_before = st.session_state.get(_TOLD, (None, {}))
    before = told_before if who == mine.member.learner_id else {}
    new = {slug: counts for slug, counts in right_by_lesson().items() if before.get(slug) != counts}
    new = {slug: counts for slug, counts in new.items() if COURSE.title(slug)}  # a cookie may hold anything
    if new:
        report(room().db, mine.member, new)
        st.session_state[_TOLD] = mine.member.learner_id, before | new


@st.fragment(run_every=LOOK_SECONDS)
def _teacher(page: str, at: Desk, own: Page) -> None:
    with told(DESK):
        seen = overview(room().db, at.teacher)
        with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="class_desk"):
            st.markdown(f"You teach **{at.teacher.code}** · {seen.here} here", width="content")
            if st.button("Everyone here now", key="class_send", help="Brings all learners to this page as it is."):
                _send(page, at)
            st.page_link(own, label="To your class →")
        where, why = st.session_state.get(_UNSENT, (page, ""))
        if where != page:
            del st.session_state[_UNSENT]
        elif why:
            st.warning(in_markdown(why))


def _send(page: str, at: Desk) -> None:
    """Bring everyone here. Why that could not be done is kept until the next press: this line is soon drawn anew."""
    st.session_state.pop(_UNSENT, None)
    state = {name: value for name, value in st.query_params.items() if name not in NOT_SENT}
    try:
        send(room().db, at.teacher, page, state, frozenset([page]))
    except (NotPossibleError, StoreError) as error:
        st.session_state[_UNSENT] = page, str(error)
    else:
        st.toast("Sent: they will be here in a moment.")
        ask_anew()  # from the next run on: one now would take the line above away
