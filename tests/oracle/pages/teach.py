"""What a teacher's side of a class must show, also to somebody who has opened none."""

from tests.oracle.claims import Question, button, markdown, text_box
from tests.oracle.classes import ClassPage, desk
from tests.oracle.common import Statements
from tests.oracle.course import COURSE
from tests.oracle.frame import bar
from tests.oracle.page import Page
from tests.oracle.pages import before_attention
from tests.oracle.statement import Statement

STATES = ({}, {"desk": "Questions"})


def frame(page: Page) -> Statements:
    yield from bar(page)
    yield Statement("title", "Teach a class")
    if isinstance(page, ClassPage):
        lesson = Page(COURSE[0].slug, page.state)
        yield from desk(page, [one for one in before_attention.predict(lesson) if isinstance(one, Question)])
        return
    yield markdown(
        "Open a class: your learners join with a code, on their own devices and without an account. You put questions "
        "to them, see the answers come in, and bring everyone to the page that you are on. Everything is deleted after "
        "30 days, or when you say so."
    )
    yield text_box("Name of the class, if you like", "")
    yield button("Open a class")
