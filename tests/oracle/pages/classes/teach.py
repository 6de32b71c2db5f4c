"""What a teacher's side of a class must show, also to somebody who has opened none."""

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import Question, button, text_box
from tests.oracle.language.common import Statements
from tests.oracle.language.page import Page
from tests.oracle.pages.inputs import before_attention
from tests.oracle.shown.classes import ClassPage, desk
from tests.oracle.shown.course import COURSE
from tests.oracle.shown.frame import bar

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
