"""What a learner's side of a class must show, also to somebody who is in none."""

from tests.oracle.claims import button, markdown, text_box
from tests.oracle.classes import ClassPage, seat
from tests.oracle.common import Statements
from tests.oracle.frame import bar
from tests.oracle.page import Page
from tests.oracle.statement import Statement

STATES = ({}, {"code": "CHF7XY"}, {"code": "x" * 50})


def frame(page: Page) -> Statements:
    yield from bar(page)
    yield Statement("title", "Join a class")
    if isinstance(page, ClassPage):
        yield from seat(page)
        return
    yield markdown(
        "Your teacher shows a code of six letters and digits. You need no account and no name; the class forgets "
        "everything after 30 days, or when you leave. Your teacher sees which page you are on, and how many questions "
        "of each lesson you have answered right."
    )
    yield text_box("Code of the class", page.state.get("code", "")[:40])
    yield text_box("Nickname, if you like", "")
    yield button("Join")
