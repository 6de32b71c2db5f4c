"""The store as pages use it: opened once, and who this visitor is in it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import streamlit as st

from classroom.classes import Member, Teacher, sweep, teach
from classroom.database import Database
from classroom.errors import ClassError, LeftError, NoSuchClassError, NotTheTeacherError, StoreError
from classroom.members import come_back
from classroom.polls import Boards, chosen_in
from pages.classes.browser import DESK, LEARNER, MEMBER, OUT, TEACHER, code_and_secret
from ui.text import in_markdown

_FAILED, _SAID, _CHOSEN = "class.failed", "class.said", "class.chosen"  # in the session
SAID_SECONDS = 10
NO_DESK = "The class that this browser taught is over, or its secret link was replaced: in that case open the new one."


class Seat(NamedTuple):
    """A learner in a class: the code, and the token that the browser keeps."""

    member: Member
    code: str
    token: str


class Desk(NamedTuple):
    """A teacher in a class: with the secret, to make the link again."""

    teacher: Teacher
    secret: str


class Room(NamedTuple):
    """The store, and what many look at."""

    db: Database
    boards: Boards


@st.cache_resource(show_spinner=False)
def room() -> Room:
    """Opened when the first visitor needs it.

    Raises: StoreError; then it is tried again next time
    """
    db = Database()
    with suppress(StoreError):  # on a full disk nothing can be deleted, and all can be read
        sweep(db)
    return Room(db, Boards(db))


def address() -> str:
    """Where this visitor comes from, for limits.

    The server knows: it believes the header of a proxy that it trusts (`FORWARDED_ALLOW_IPS`), and nobody else's.
    """
    return str(st.context.ip_address or "this machine")


@contextmanager
def told(key: str | None = None, whole: bool = False) -> Iterator[None]:
    """What goes wrong is said in one sentence, where it would have been drawn.

    Args:
        key:   MEMBER or DESK: if their class turns out to be deleted, or closed to them, this visitor is in it no more
        whole: the whole page is about the class, and is then drawn anew without it
    """
    try:
        yield
    except ClassError as error:
        _note(key, error)
        if whole and key and st.session_state[key] is None:
            st.rerun()
        st.warning(in_markdown(str(error)))


def _note(key: str | None, error: ClassError) -> None:
    if key and isinstance(error, NoSuchClassError):
        st.session_state[key] = None
        st.session_state[OUT[key]] = str(error)


def button(label: str, key: str, of: str, do: Callable[[], None], **looks: Any) -> None:
    """A button that does something before the page is drawn anew, so that no other run can lose the click; and below it
    why that was not done, if something went wrong.

    Args: of: MEMBER or DESK, or '' if nobody's class turns out to be deleted by it; looks: for Streamlit's button
    """
    st.button(label, key=key, on_click=on_press, args=(of, do), **looks)
    failed(key)


def on_press(of: str, do: Callable[[], None]) -> None:
    """Do what a button asks for. What goes wrong, `failed` says, at the first place where it may stand."""
    st.session_state.pop(_SAID, None)
    try:
        do()
    except ClassError as error:
        _note(of, error)
        if not of or st.session_state.get(of, True) is not None:  # else they are told at the door
            st.session_state[_FAILED] = str(error)


def failed(place: str) -> None:
    """Why what was pressed last was not done: at one place, and long enough to be read, though much is redrawn."""
    if why := st.session_state.pop(_FAILED, ""):
        st.session_state[_SAID] = why, place, time.monotonic()
    why, where, since = st.session_state.get(_SAID, ("", "", 0.0))
    if where == place and time.monotonic() - since < SAID_SECONDS:
        st.warning(in_markdown(why))


def seat() -> Seat | None:
    """Who this visitor is among the learners of a class.

    Raises: StoreError
    """
    if MEMBER not in st.session_state:
        code, token = code_and_secret(LEARNER)
        try:
            member = come_back(room().db, code, token) if code else None
        except LeftError as error:
            member, st.session_state[OUT[MEMBER]] = None, str(error)
        st.session_state[MEMBER] = Seat(member, code, token) if member else None
    found: Seat | None = st.session_state[MEMBER]
    return found


def given(mine: Seat, poll_id: int, again: bool = False) -> frozenset[int]:
    """What a learner has answered to a question, as far as this session knows; nothing if they have not.

    Args:   again: ask the store once more if that is nothing; they may have answered in another tab
    Raises: StoreError
    """
    known: dict[tuple[int, int], frozenset[int]] = st.session_state.setdefault(_CHOSEN, {})
    key = mine.member.learner_id, poll_id
    if key not in known or (again and not known[key]):
        known[key] = chosen_in(room().db, mine.member, poll_id)
    return known[key]


def desk() -> Desk | None:
    """Which class this visitor teaches.

    Raises: StoreError
    """
    if DESK not in st.session_state:
        code, secret = code_and_secret(TEACHER)
        st.session_state[DESK] = None
        if code:
            try:
                st.session_state[DESK] = Desk(teach(room().db, code, secret, address()), secret)
            except StoreError:
                del st.session_state[DESK]  # asked again once the store is back
                raise
            except NotTheTeacherError:
                st.session_state[OUT[DESK]] = NO_DESK
    found: Desk | None = st.session_state[DESK]
    return found
