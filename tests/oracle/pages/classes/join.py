"""What a learner's side of a class must show, also to somebody who is in none."""

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import button, text_box
from tests.oracle.language.common import Statements
from tests.oracle.language.page import Page
from tests.oracle.shown.classes import ClassPage, seat
from tests.oracle.shown.frame import bar

prose = Prose("join")

STATES = ({}, {"code": "CHF7XY"}, {"code": "x" * 50})


def frame(page: Page) -> Statements:
    yield from bar(page)
    yield from prose("join a class")
    if isinstance(page, ClassPage):
        yield from seat(page)
        return
    yield from prose("your teacher shows a")
    yield text_box("Code of the class", page.state.get("code", "")[:40])
    yield text_box("Nickname, if you like", "")
    yield button("Join")
