"""A lesson is one object, and the course an ordered list of them. `pages.course` makes the list and hands it over."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from model.files.loaded_model import LoadedModel
from model.trace import Trace
from serving.streamlit_private import Page
from ui.components.scene import COMPONENT as SCENE
from ui.components.scene import Scene
from ui.components.stage import COMPONENT as MACHINE
from ui.components.stage.near import View
from ui.course.quiz import Ask
from ui.course.source import Code

Part = Callable[[Trace], None]
# What a learner calls the models of a picture, and what loads them; it may raise checkpoint.CheckpointError.
Pictured = tuple[str, Callable[[], Sequence[LoadedModel[Any, Any]]]]


@dataclass(frozen=True)
class Bench:
    """What a learner works at: these parts share their controls, so they are redrawn together.

    see:      the real tensors; it may return what `check` gets, such as a `ui.course.check.Shown`
    check:    a cell of them worked out; it gets what `see` returned, or the trace if that was nothing
    do:       something to change, before and after
    controls: what they depend on; drawn above them
    """

    see: Callable[[Trace], Any]
    check: Callable[[Any], None]
    do: Part
    controls: Part | None = None


@dataclass(frozen=True)
class OnMap:
    """Where a lesson is in the machine, and in which; what its first screen shows.

    opens: the blocks of the map that open the lesson
    plays: what the small stage beside it plays, if not those: see `ui.components.stage.story.clip_of`
    near:  how it shows the last of them from near at its end, if it does: see `ui.components.stage.near`
    model: whose machine it is and the sentence goes through, if not the visitor's; may raise checkpoint.CheckpointError
    readers: names of the models that the lesson sends the sentence through, if not the translator; () if it is for none
    pictured: the model of the first picture, if that is neither the visitor's translator nor what the readers are
    instead: draws the box for what is read in place of the sentence, if the lesson makes nothing of it
    scene: what the first screen shows, instead of the machine; unkept: what the address does not hold, in words
    """

    opens: tuple[str, ...] = ()
    plays: tuple[str, ...] = ()
    near: View | None = None
    model: Callable[[], LoadedModel] | None = None
    readers: tuple[str, ...] | None = None
    pictured: Pictured | None = None
    instead: Callable[[], None] | None = None
    scene: Callable[[Trace], Scene] | None = None
    unkept: str = ""


@dataclass(frozen=True, eq=False)
class Lesson:
    """One page of the course. Its parts are functions of the visitor's sentence, sent through the model.

    slug:     its address; title: its name in the navigation
    asks:     the question it answers, for a learner who has not read it
    idea:     two or three sentences and the equation; predict: the questions, asked before anything is shown
    bench:    See, Check and Do
    code:     the functions that ran, the most important first
    on_map:   its place on the map, and what its first screen shows
    """

    slug: str
    title: str
    asks: str
    idea: Part
    predict: Callable[[Trace], Sequence[Ask]]
    bench: Bench
    code: Sequence[Code]
    on_map: OnMap = OnMap()


class Course:
    """The lessons in order, by section. Filled once, when the app starts."""

    def __init__(self) -> None:
        self.sections: dict[str, tuple[Lesson, ...]] = {}
        self._pages: dict[str, Callable[[], None]] = {}

    def fill(self, sections: Mapping[str, Sequence[Lesson]], page_of: Callable[[Lesson], Callable[[], None]]) -> None:
        """Set the lessons, and what makes a page of a lesson."""
        self.sections = {title: tuple(lessons) for title, lessons in sections.items()}
        self._pages = {lesson.slug: page_of(lesson) for lesson in self.lessons}

    @property
    def lessons(self) -> tuple[Lesson, ...]:
        return tuple(lesson for lessons in self.sections.values() for lesson in lessons)

    def lesson(self, slug: str) -> Lesson:
        """Raises: KeyError"""
        return {lesson.slug: lesson for lesson in self.lessons}[slug]

    def neighbours(self, current: Lesson) -> tuple[Lesson | None, Lesson | None]:
        """The lessons before and after this one."""
        lessons = self.lessons
        at = lessons.index(current)
        return lessons[at - 1] if at else None, lessons[at + 1] if at + 1 < len(lessons) else None

    def by_block(self) -> dict[str, Lesson]:
        """The lesson that each block of the map opens."""
        return {block: lesson for lesson in self.lessons for block in lesson.on_map.opens}

    def place(self, slug: str) -> OnMap:
        """Of the lesson at this address; that of a page about the visitor's translator if it is no lesson."""
        return next((lesson.on_map for lesson in self.lessons if lesson.slug == slug), OnMap())

    def picture_code(self, slug: str) -> list[str]:
        """Where the code lies that draws the first picture of the page at this address ("" is home), if it has one."""
        lesson = next((lesson for lesson in self.lessons if lesson.slug == slug), None)
        if lesson and lesson.on_map.scene:
            return SCENE.addresses()
        return MACHINE.addresses(late=bool(lesson and lesson.on_map.near)) if lesson or not slug else []

    def page(self, lesson: Lesson, title: str = "") -> Page:
        """A lesson as a page of the navigation; its title there may differ from visitor to visitor."""
        return st.Page(self._pages[lesson.slug], title=title or lesson.title, url_path=lesson.slug)

    def title(self, slug: str) -> str:
        """The title of the lesson at this address, without what the navigation adds to it; '' if it is no lesson."""
        return next((lesson.title for lesson in self.lessons if lesson.slug == slug), "")


COURSE = Course()
