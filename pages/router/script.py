"""What runs for every visitor: the page configuration and the navigation, nothing else."""

from pathlib import Path

import streamlit as st

import pages.course  # noqa: F401 - fills the course
from pages.classes.browser import in_a_class
from pages.lesson_page import ask_anew, course_pages
from serving.streamlit_private import restore_address
from ui.components.navigation import navigation
from ui.controls.persist import restore
from ui.controls.piece_control import forget_parts
from ui.course.lesson import COURSE
from ui.course.presenter import KEY as PRESENT
from ui.course.presenter import presenter_switch
from ui.course.sentence import KEY as SENTENCE
from ui.course.sentence import sentence_bar
from ui.engine import tidy_up
from ui.visitor import stop_if_too_many_pages

PAGES = Path(__file__).parents[1]

NAME = "Transformer Walkthrough"

# Before the navigation: else Streamlit gives the tab a title of its own first.
st.set_page_config(page_title=NAME, page_icon="🔎", layout="wide", initial_sidebar_state=240)
stop_if_too_many_pages()
sections = {
    "Start": [st.Page(PAGES / "home.py", title="Translate", default=True)],
    **course_pages(),
    "Class": [
        st.Page(PAGES / "classes/join.py", title="Join a class", url_path="join"),
        st.Page(PAGES / "classes/teach.py", title="Teach a class", url_path="teach"),
    ],
    "Explore": [
        st.Page(PAGES / "explore/bertviz.py", title="BertViz", url_path="bertviz"),
        st.Page(PAGES / "explore/any_model.py", title="Any model", url_path="any-model"),
        st.Page(PAGES / "explore/compare.py", title="Compare", url_path="compare"),
    ],
    "More": [
        st.Page(PAGES / "results.py", title="Results", url_path="results"),
        st.Page(PAGES / "about.py", title="About the model"),
    ],
}
all_pages = [one for group in sections.values() for one in group]
# Its messages name all pages with every answer: their sections and icons only our own links need.
page = st.navigation(all_pages, position="hidden")
with st.sidebar:
    navigation(sections, page.url_path, ("embed", SENTENCE, PRESENT))
if page.url_path:
    st.set_page_config(page_title=f"{COURSE.title(page.url_path) or page.title} · {NAME}")
if restore_address():
    forget_parts()
    ask_anew()
restore(page.url_path)
presenter_switch()
if in_a_class():
    # Only now: visitors without a class do not wait for the store.
    from pages.classes.strip import strip

    strip(page.url_path, {one.url_path: one for one in all_pages})
sentence_bar(COURSE.place(page.url_path))
page.run()
tidy_up(page.url_path)
