"""Where the learners of a class are, and the sentences that they let their teacher show."""

from collections import defaultdict

import streamlit as st

from classroom.classes import people
from pages.classes.browser import DESK
from pages.classes.room import Desk, room, told
from ui.controls.go import go
from ui.course.lesson import COURSE
from ui.course.sentence import KEY as SENTENCE
from ui.text import in_markdown
from ui.views.charts.tables import table

LOOK_SECONDS = 2.0
MOST_NAMES = 12  # beside a page
OTHERS = {"": "Translate", "join": "Join a class", "teach": "Teach a class", "bertviz": "BertViz"}


def title_of(page: str) -> str:
    """The name of a page in the navigation."""
    return COURSE.title(page) or OTHERS.get(page) or page.replace("-", " ").capitalize()


@st.fragment(run_every=LOOK_SECONDS)
def where_they_are(at: Desk) -> None:
    """For each page the learners who are on it, in the order of the course."""
    with told(DESK, whole=True):
        everyone = people(room().db, at.teacher)
        here = [one for one in everyone if one.here]
        st.markdown(f"**{len(here)}** of {len(everyone)} learners are here now.")
        on: defaultdict[str, list[str]] = defaultdict(list)
        for one in here:
            on[one.page].append(one.nickname)
        order = [lesson.slug for lesson in COURSE.lessons]
        pages = sorted(on, key=lambda page: (order.index(page) if page in order else -1, page))
        if pages:
            rows = [(title_of(page), str(len(on[page])), _names(on[page])) for page in pages]
            table(("Page", "Learners", "Nicknames"), rows)
        st.caption("To bring everyone to a page, go there yourself and press “Everyone here now” at its top.")


def _names(nicknames: list[str]) -> str:
    named = [name for name in nicknames if name]
    more = len(named) - MOST_NAMES
    return ", ".join(named[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


@st.fragment(run_every=LOOK_SECONDS)
def sentences(at: Desk) -> None:
    """What learners offered, each to be shown on this screen."""
    with told(DESK, whole=True):
        offered = [one for one in people(room().db, at.teacher) if one.sentence]
        if not offered:
            st.info("Nobody has offered a sentence yet. Learners do so on their page “Join a class”.")
        for one in offered:
            with st.container(horizontal=True, vertical_alignment="center", border=True):
                who = f" · {in_markdown(one.nickname)}" if one.nickname else ""
                st.markdown(f"{in_markdown(one.sentence)}{who}")
                if st.button("Show it", key=f"teach/show/{one.learner_id}"):
                    go("", {SENTENCE: one.sentence})
