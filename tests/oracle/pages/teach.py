"""What a teacher's side of a class must show, also to somebody who has opened none."""

from tests.oracle.approved import Prose
from tests.oracle.claims import Question, button, text_box
from tests.oracle.classes import ClassPage, desk
from tests.oracle.common import Statements
from tests.oracle.course import COURSE
from tests.oracle.frame import bar
from tests.oracle.page import Page
from tests.oracle.pages import before_attention

prose = Prose("teach")

STATES = ({}, {"desk": "Questions"})


def frame(page: Page) -> Statements:
    yield from bar(page)
    yield from prose("teach a class")
    if isinstance(page, ClassPage):
        lesson = Page(COURSE[0].slug, page.state)
        yield from desk(page, [one for one in before_attention.predict(lesson) if isinstance(one, Question)])
        return
    yield from prose("open a class your")
    yield text_box("Name of the class, if you like", "")
    yield button("Open a class")
