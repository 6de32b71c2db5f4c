"""A learner's side of a class: join by a code, answer what is asked, offer a sentence, leave."""

from functools import partial

import streamlit as st

from classroom.codes import clean, new_secret, read_code
from classroom.members import MAX_NICKNAME, MAX_SENTENCE, join, leave, offer, offered
from classroom.polls import Shown, answer
from pages.classes.browser import LEARNER, MEMBER, OUT, code_and_secret, keep_code_and_secret, room_for_the_class
from pages.classes.poll_view import options_of, question_text, results
from pages.classes.room import Seat, address, button, failed, given, on_press, room, seat, told
from pages.classes.strip import follow, where_everyone_is
from ui.course.sentence import KEY as SENTENCE
from ui.text import bold, in_markdown
from ui.visitor import one_browser

LOOK_SECONDS = 2.0
_TOKEN, _NEXT_TOKEN = "class.token", "class.next_token"  # in the session


def door() -> None:
    """The form by which one joins. The browser keeps the token before, so that two tabs are one learner."""
    token = st.session_state.setdefault(_TOKEN, code_and_secret(LEARNER)[1] or new_secret())
    if why := st.session_state.get(OUT[MEMBER], ""):
        st.warning(in_markdown(why))
    else:
        keep_code_and_secret(LEARNER, "", token)
    st.markdown(
        "Your teacher shows a code of six letters and digits. You need no account and no name; the class forgets "
        "everything after 30 days, or when you leave. Your teacher sees which page you are on, and how many questions "
        "of each lesson you have answered right."
    )
    with st.form("join", border=True, width=420):
        code = st.text_input("Code of the class", st.query_params.get("code", "")[:40], key="class/code")
        nickname = st.text_input("Nickname, if you like", key="class/nickname", max_chars=MAX_NICKNAME)
        pressed = st.form_submit_button("Join", type="primary")
    if pressed:
        with told():
            member = join(room().db, code, token, nickname, address(), visitor=one_browser())
            st.session_state[MEMBER] = Seat(member, read_code(code), token)
            st.query_params.pop("code", None)
            st.rerun()


def other_class(mine: Seat) -> None:
    """A link of another class moves nobody by itself: a stranger may have sent it, and answers would be lost."""
    code = read_code(st.query_params.get("code", ""))
    if code in ("", mine.code):
        return
    old, name = bold(mine.code), f" as {bold(mine.member.nickname)}" if mine.member.nickname else ""
    st.warning(
        f"This link is for the class **{code}**, but you are in the class {old}{name}. You can be in one class at a "
        f"time. If you change, you leave {old}, and your answers there are deleted."
    )
    button(f"Leave {mine.code} and join {code}", "class_change", "", partial(_change, mine, code))


def _change(mine: Seat, code: str) -> None:
    """First in, then out: whoever is not let in stays where they are. Once more after a failure is as good as once."""
    token = st.session_state.setdefault(_NEXT_TOKEN, new_secret())
    member = join(room().db, code, token, mine.member.nickname, address(), visitor=one_browser())
    leave(room().db, mine.member)
    st.session_state[MEMBER] = Seat(member, code, st.session_state.pop(_NEXT_TOKEN))
    st.query_params.pop("code", None)


@st.fragment(run_every=LOOK_SECONDS)
def asked(mine: Seat) -> None:
    """The newest question, as long as the class has one, and what became of it."""
    with told(MEMBER):
        board = follow("join", mine)
        where_everyone_is("join", board)
        poll = board.poll
        if poll is None:
            st.info("There is no question yet. It will appear here by itself; look at the lessons meanwhile.")
        else:
            _question(mine, poll, given(mine, poll.poll_id, again=True))
    if seat() != mine:
        st.rerun()  # the rest of the page speaks as if they were in it, and under the name that they had


def _question(mine: Seat, poll: Shown, chosen: frozenset[int]) -> None:
    with st.container(border=True, key="class_question"):
        st.subheader(f"Question {poll.number}", anchor=False)
        question_text(poll)
        failed("class_question")
        if poll.revealed:
            results(poll, chosen)
        elif chosen:
            st.success("Your answer is counted: " + " and ".join(options_of(poll)[n] for n in sorted(chosen)))
        elif poll.closed:
            st.info("This question is closed.")
        if not chosen and not poll.closed:
            _answer(mine, poll)


def _answer(mine: Seat, poll: Shown) -> None:
    labels, key = options_of(poll), f"class/{poll.poll_id}"
    if poll.asked.several:
        boxes = (st.checkbox(label, key=f"{key}/{n}", persist_state="session") for n, label in enumerate(labels))
        chosen = frozenset(n for n, ticked in enumerate(boxes) if ticked)
        st.caption("More than one may be right.")
    else:
        one = st.radio(
            "Your answer", range(len(labels)), index=None, format_func=labels.__getitem__, key=key,
            label_visibility="collapsed", persist_state="session",
        )  # fmt: skip
        chosen = frozenset() if one is None else frozenset([one])

    def send() -> None:
        answer(room().db, mine.member, poll.poll_id, chosen)

    press = {"on_click": on_press, "args": (MEMBER, send)}
    st.button("Answer", key=f"{key}/send", type="primary", disabled=not chosen, **press)


def sentence_offer(mine: Seat) -> None:
    """Whether the teacher may show the sentence in the bar above; it is kept only if so."""
    st.subheader("Your sentence", anchor=False)
    shown = offered(room().db, mine.member)
    typed = clean(st.session_state.get(SENTENCE) or "", MAX_SENTENCE)
    if shown:
        st.markdown(f"Your teacher may show {bold(shown)} to the class.")
        button("Take it back", "class_take_back", MEMBER, partial(_offer, mine, ""))
    if typed and typed != shown:
        button("Let my teacher show the sentence above", "class_offer", MEMBER, partial(_offer, mine, typed))


def _offer(mine: Seat, text: str) -> None:
    offer(room().db, mine.member, text)


def way_out(mine: Seat) -> None:
    with st.expander("Leave the class"):
        st.markdown("Your answers are deleted with you. What you answered right in the lessons stays in your browser.")
        button("Leave and delete my answers", "class_leave", MEMBER, partial(_leave, mine))


def _leave(mine: Seat) -> None:
    leave(room().db, mine.member)
    st.session_state[MEMBER], st.session_state[_TOKEN] = None, new_secret()


st.title("Join a class", anchor=False)
with told():
    mine = seat()
    if mine is None:
        door()
    else:
        st.session_state.pop(OUT[MEMBER], None)
        keep_code_and_secret(LEARNER, mine.code, mine.token)
        room_for_the_class()
        other_class(mine)
        name = f" as {bold(mine.member.nickname)}" if mine.member.nickname else ""
        st.markdown(f"You are in the class **{in_markdown(mine.code)}**{name}.")
        asked(mine)
        sentence_offer(mine)
        way_out(mine)
