"""The ride of the visitor's sentence through the machine; any of its numbers worked out, and the lesson behind it."""

import streamlit as st

from explain import worked, worked_weight
from model.anatomy.structure import TOKEN_AXES
from model.interventions import Head
from model.trace import Trace
from ui.components.announcement import announce
from ui.components.stage import Cell, clip, stage
from ui.components.stage.parts import Part, panels_of
from ui.components.stage.story import moment_of, story
from ui.course.head_off import without_head
from ui.course.lesson import COURSE, Lesson
from ui.course.presenter import KEY
from ui.engine import numbers
from ui.text import in_markdown, legible, piece
from ui.views.worked_steps import show_steps

_ASKED = "ride.asked"  # in the session: the text of a trace, and the number, or the head, that was asked about


@st.fragment
def ride(trace: Trace, start: int | None = None) -> None:
    """The stage, and below it the number that was asked about last, as long as the sentence is the same.

    Args: start: the moment that it stands at when it appears
    """
    links = {block: lesson.title for block, lesson in COURSE.by_block().items()}
    cell = stage(trace, key="stage", links=links, start=start, presenting=bool(st.session_state.get(KEY)))
    if cell:
        st.session_state[_ASKED] = trace.model.name, trace.text, trace.label_ids, cell
    match st.session_state.get(_ASKED):
        case [trace.model.name, trace.text, trace.label_ids, asked]:
            with st.container(border=True, key="asked"):
                if isinstance(asked[0], Head):
                    without_head(trace, *asked)
                else:
                    work_out(trace, asked)


@st.fragment
def you_are_here(lesson: Lesson, trace: Trace, large: bool = False) -> None:
    """The machine at the block that a lesson is about, small and to play; the whole of it in a dialog."""
    place = lesson.on_map
    moment = clip(trace, key="here", shows=place.plays or place.opens, view=place.near, large=large)
    if moment is not None:
        whole_machine(trace, moment)


def whole_machine(trace: Trace, moment: int) -> None:
    """The ride of a trace in a dialog, stopped at one of its moments."""
    st.session_state.pop(_ASKED, None)  # what was asked on another page is not asked here
    _dialog(trace, moment)


@st.dialog("The whole machine", width="large")
def _dialog(trace: Trace, moment: int) -> None:
    ride(trace, moment)


def watch_step(trace: Trace, step: int) -> None:
    """The whole machine at the moment in which the piece of a step is taken."""
    whole_machine(trace, moment_of(story(trace), step))


def work_out(trace: Trace, cell: Cell) -> None:
    """How one number came about, and the lesson on the block that made it."""
    known = numbers(trace)
    name, index = cell
    value = float(known[name][index])
    part, what = _origin(trace, name)
    row = "step" if trace.model.anatomy.writes_target else "src"
    axes = (row, "entry") if name == "probabilities" else known.made(name).axes
    at = ", ".join(_place(trace, axis, i) for axis, i in zip(axes, index, strict=True))
    st.markdown(f"**How did this {legible(value)} come about?** {what}: {at}.")
    announce(f"Worked out below: {legible(value)}.", key="said_asked")
    if part and part.weights == name and len(index) == 3:
        show_steps(worked_weight(known, name.removesuffix(".weights"), index))
    else:
        show_steps([worked(known, one, index) for one in _way(trace, name)])
    lesson = COURSE.by_block().get(part.id) if part else None
    if lesson:
        st.page_link(COURSE.page(lesson), label=f"The lesson: {lesson.title} →")
    st.caption(f"In the code this is `{name}`. Numbers are shown rounded and were computed unrounded.")


def _way(trace: Trace, name: str) -> list[str]:
    """The tensors on the way to one: to what a residual returns, from what the sub-layer in it makes."""
    anatomy = trace.model.anatomy
    made = {one.result: one.writes for stack in anatomy.stacks for layer in stack.layers for one in layer.sublayers}
    way = [name]
    while way[0] != made.get(name, name):
        way.insert(0, anatomy.tensors[way[0]].reads[-1])  # of a sum, the stream is read first
    return way


def _place(trace: Trace, axis: str, at: int) -> str:
    """One index in words: the piece, or what is counted and its number from 1."""
    if axis == "entry":
        return f"**{in_markdown(piece(trace.model.tokenizer.tokens([at])[0].text))}**"
    if axis in TOKEN_AXES:  # a row stands on the stage for the piece just read, not for the one to be written
        return f"**{in_markdown(piece(trace.tokens('tgt' if axis == 'labels' else axis)[at].text))}** ({at + 1})"
    return f"{ {'head': 'head', 'd_model': 'number'}.get(axis, axis) } {at + 1}"


def _origin(trace: Trace, name: str) -> tuple[Part | None, str]:
    """The block of the stage that a tensor belongs to, and what the tensor is, in words."""
    for panel in panels_of(trace.model.anatomy, trace.model.about):
        for part in panel.parts:
            where = f"{panel.name.capitalize()}, {f'layer {part.layer}, ' if part.layer else ''}{part.label.lower()}"
            if name == part.weights:
                return part, f"{where}, how much one piece looks at another"
            if name == part.added:
                return part, f"{where}, what is added"
            if name == part.result:
                return part, f"{where}, the column after it"
            if part.kind == "output" and name == "probabilities":
                return part, f"{where}, how likely it is"
    return None, ""
