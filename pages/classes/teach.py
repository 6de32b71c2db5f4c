"""A teacher's side of a class: open it, put questions, see answers come in, and where the class stands."""

from functools import partial
from urllib.parse import urlencode, urljoin, urlsplit

import streamlit as st

from classroom.classes import MAX_TITLE, delete_class, lock_class, open_class, replace_secret, teach
from classroom.errors import NotTheTeacherError
from classroom.export import results as results_file
from classroom.polls import overview
from classroom.qr import qr_code
from pages.classes.browser import DESK, OUT, TEACHER, keep_code_and_secret, room_for_the_class
from pages.classes.learners import one_learner
from pages.classes.questions import live_question, put_question
from pages.classes.room import Desk, address, button, desk, room, told
from pages.classes.standing import where_they_stand
from pages.classes.where import sentences, where_they_are
from ui.controls.segmented import one_of
from ui.text import bold, in_html, in_markdown
from ui.visitor import one_browser

LOOK_SECONDS = 1.0
_OTHER, _DELETED, _LINK = "class.other", "class.deleted", "class.link"  # in the session
_RENEWED = "class.renewed"
ALONE = ("localhost", "127.0.0.1", "::1")  # names by which a machine means itself


def come_by_link() -> None:
    """By the secret link. The secret leaves the address at once: the projector shows that, too."""
    given = tuple(st.query_params.pop(name, "") for name in ("class", "secret"))
    code, secret = given if any(given) else st.session_state.get(_LINK, given)
    if not code and not secret:
        return
    st.session_state[_LINK] = code, secret  # if the store fails now, the next run tries again
    try:
        at = Desk(teach(room().db, code, secret, address()), secret)
    except NotTheTeacherError:
        del st.session_state[_LINK]
        raise
    mine = desk()
    ours = mine is None or mine.teacher.class_id == at.teacher.class_id
    st.session_state[DESK if ours else _OTHER] = at
    del st.session_state[_LINK]


def other_class(mine: Desk) -> None:
    """A link of another class replaces nobody's own unasked: a stranger may have sent it."""
    other: Desk | None = st.session_state.get(_OTHER)
    if other is None:
        return
    st.warning(
        f"The link is of another class, **{other.teacher.code}**. This browser teaches **{mine.teacher.code}**: keep "
        "its secret link before you change."
    )

    def change() -> None:
        st.session_state[DESK] = st.session_state.pop(_OTHER, other)

    button(f"Change to the class {other.teacher.code}", "teach/change", DESK, change)


def door() -> None:
    if why := st.session_state.get(OUT[DESK], ""):
        st.warning(in_markdown(why))
    st.markdown(
        "Open a class: your learners join with a code, on their own devices and without an account. You put questions "
        "to them, see the answers come in, and bring everyone to the page that you are on. Everything is deleted after "
        "30 days, or when you say so. A browser has one class at a time: for another one, delete the first, or use "
        "another browser."
    )
    with st.form("open", border=True, width=420):
        title = st.text_input("Name of the class, if you like", key="teach/title", max_chars=MAX_TITLE)
        pressed = st.form_submit_button("Open a class", type="primary")
    if pressed:
        with told():
            teacher, secret = open_class(room().db, title, address(), visitor=one_browser())
            st.session_state[DESK] = Desk(teacher, secret)
            st.rerun()


def link(page: str, **parameters: str) -> str:
    """The address of a page of this app, as this browser reaches it."""
    return f"{urljoin(str(st.context.url or 'http://localhost/'), page)}?{urlencode(parameters)}"


def invitation(at: Desk) -> None:
    """The code for the projector, large and as a QR code, and how many have joined."""
    where = link("join", code=at.teacher.code)
    left, right = st.columns([1, 1], gap="large")
    with left:
        st.html(f'<p class="tw-code" aria-label="Code of the class">{in_html(at.teacher.code)}</p>')
        # Not as Markdown: what keeps that from acting would be copied with the address.
        to_type = in_html(where.partition("?")[0])
        st.html(f"<p>Open <b>{to_type}</b> and type the code, or photograph the picture.</p>")
        if urlsplit(where).hostname in ALONE:
            st.info(
                "This address means this machine alone. For others to join, open this page under the name or the "
                "number that this machine has in your network."
            )
        joined(at)
    with right:
        st.html(f'<img class="tw-qr" src="{qr_code(where)}" alt="QR code of the address by which one joins">')
    with st.expander("Your secret link"):
        st.markdown(
            "With it you come back to this page from any device. Whoever has it is the teacher: show it to nobody. If "
            "somebody has seen it, make a new one under *End*."
        )
        st.code(link("teach", **{"class": at.teacher.code, "secret": at.secret}), language=None, wrap_lines=True)


@st.fragment(run_every=LOOK_SECONDS)
def joined(at: Desk) -> None:
    with told(DESK, whole=True):
        seen = overview(room().db, at.teacher)
        st.markdown(f"**{seen.learners}** joined · **{seen.here}** here now")
        # Not a toggle: that has a state of its own, and two devices of one teacher would undo each other's.
        if seen.locked:
            st.markdown("Nobody else is let in.")
        label, key = ("Let others in again", "teach/unlock") if seen.locked else ("Let nobody else in", "teach/lock")
        button(label, key, DESK, partial(lock_class, room().db, at.teacher, not seen.locked))


def end(at: Desk) -> None:
    """The results as a file, and the buttons that replace the secret link and delete everything."""
    seen = overview(room().db, at.teacher)
    given = sum(poll.answered for poll in seen.polls)
    st.markdown(f"Questions: **{len(seen.polls)}**. Answers: **{given}**. Learners: **{seen.learners}**.")
    st.download_button(
        "Results as CSV", results_file(room().db, at.teacher), f"class-{at.teacher.code}.csv", "text/csv",
        on_click="ignore", key="teach/csv",
    )  # fmt: skip
    _new_link(at)
    st.subheader("Delete the class", anchor=False)
    st.markdown("Learners, questions, answers and sentences are gone at once and for good. Save the results before.")
    is_sure = st.checkbox("Yes, delete it", key="teach/sure")

    def delete() -> None:
        delete_class(room().db, at.teacher)
        st.session_state[DESK], st.session_state[_DELETED] = None, True

    button("Delete everything", "teach/delete", DESK, delete, disabled=not is_sure)


def _new_link(at: Desk) -> None:
    """Here, where the link itself is not shown: this page may be on a projector."""
    st.subheader("Replace the secret link", anchor=False)
    st.markdown(
        "If somebody else has your secret link: the old one, and every other page that was opened with it, stops "
        "working. This page goes on, and your learners notice nothing."
    )
    is_sure = st.checkbox("Yes, replace it", key="teach/sure_of_link")

    def renew() -> None:
        st.session_state[DESK] = Desk(*replace_secret(room().db, at.teacher))
        st.session_state[_RENEWED], st.session_state["teach/sure_of_link"] = True, False

    button("New secret link", "teach/new_link", DESK, renew, disabled=not is_sure)
    if st.session_state.pop(_RENEWED, False):
        st.success("The old link works no more. The new one is under *Invitation*: keep it.")


def at_desk(at: Desk) -> None:
    room_for_the_class()
    parts = {
        "Invitation": invitation, "Questions": questions, "Who is where": who_is_where, "Progress": where_they_stand,
        "Sentences": sentences, "End": end,
    }  # fmt: skip
    chosen = one_of("What you see", list(parts), key="desk", label_visibility="collapsed")
    with told(DESK, whole=True):
        parts[chosen](at)
    # Only now: another tab of this browser may have replaced the secret, and keeps the new one.
    keep_code_and_secret(TEACHER, at.teacher.code, at.secret)


def questions(at: Desk) -> None:
    left, right = st.columns([1, 1.2], gap="large")
    with left:
        put_question(at)
    with right:
        live_question(at)


def who_is_where(at: Desk) -> None:
    where_they_are(at)
    one_learner(at)


st.title("Teach a class", anchor=False)
with told():
    come_by_link()
with told():
    at = desk()
    if at is None:
        if st.session_state.pop(_DELETED, False):  # by this page; of any other class the browser keeps the secret
            keep_code_and_secret(TEACHER, "", "")
        door()
    else:
        st.session_state.pop(OUT[DESK], None)
        other_class(at)
        if at.teacher.title:
            st.markdown(bold(at.teacher.title))
        at_desk(at)
