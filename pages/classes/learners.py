"""What a teacher does to one learner: rename them, or take them out of the class."""

import streamlit as st

from classroom.classes import Somebody, people
from classroom.members import MAX_NICKNAME, rename, take_out
from pages.classes.browser import DESK
from pages.classes.room import Desk, failed, on_press, room, told
from pages.classes.where import title_of
from ui.text import in_markdown, visible

LOOK_SECONDS = 2.0


@st.fragment(run_every=LOOK_SECONDS)
def one_learner(at: Desk) -> None:
    """One is chosen by nickname and number, as in the results: two may have the same nickname."""
    with told(DESK, whole=True):
        everyone = {_called(one): one for one in people(room().db, at.teacher)}
        if not everyone:
            return
        with st.expander("Rename or remove a learner"):
            chosen = st.selectbox(
                "Learner", list(everyone), None, placeholder="Choose one", key="teach/learner", width=420
            )
            if chosen in everyone:
                _change(at, everyone[chosen])
            failed("class_learner")


def _called(one: Somebody) -> str:
    return f"{visible(one.nickname)} · learner {one.number}" if one.nickname else f"Learner {one.number}"


def _change(at: Desk, one: Somebody) -> None:
    name, sure = f"teach/nickname/{one.learner_id}", f"teach/sure_of/{one.learner_id}"

    def renamed() -> None:
        rename(room().db, at.teacher, one.learner_id, st.session_state[name])

    def removed() -> None:
        take_out(room().db, at.teacher, one.learner_id)

    st.caption(f"Here now: {in_markdown(title_of(one.page))}." if one.here else "Not here now.")
    with st.form("class_rename", border=False, width=420):
        st.text_input("New nickname", one.nickname, key=name, max_chars=MAX_NICKNAME)
        st.form_submit_button("Rename", on_click=on_press, args=(DESK, renamed))
    st.markdown(
        "Whoever is removed is told so, and their answers, sentence and progress are deleted. They can come back with "
        "the code, unless you let nobody else in."
    )
    is_sure = st.checkbox("Yes, remove this learner", key=sure)
    st.button("Remove", key="teach/remove", on_click=on_press, args=(DESK, removed), disabled=not is_sure)
