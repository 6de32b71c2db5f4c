"""The walk: a lesson's claims, computed for a state, against what its page shows in that state."""

import importlib
import importlib.util
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.oracle.claims import Question, button, caption, control, markdown
from tests.oracle.frame import lesson_frame
from tests.oracle.page import Page
from tests.oracle.reader import blocks, read, read_block
from tests.oracle.statement import Statement, compare

PARTS = ("idea", "see", "check", "do", "predict", "code")

State = Mapping[str, str]


def claims_of(slug: str) -> ModuleType | None:
    """The module of a page's claims, or None if nobody has written it."""
    name = f"tests.oracle.pages.{slug.replace('-', '_')}"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def unclaimed(app: AppTest, module: ModuleType, page: Page) -> list[str]:
    """What is shown and not claimed, or claimed and not shown, in any part of the page."""
    shown = read(app)
    parts = dict.fromkeys(("frame", *(PARTS if hasattr(module, "idea") else ()), *(s.part for s in shown)))
    return [
        message
        for part in parts
        for message in compare(list(claimed(module, page, part)), [s for s in shown if s.part == part])
    ]


def claimed(module: ModuleType, page: Page, part: str) -> Iterator[Statement]:
    """Everything that a part of a page must show, its heading first; what is no lesson has a frame alone."""
    make = getattr(module, part, lesson_frame if part == "frame" else lambda page: ())
    if part not in ("frame", "idea"):
        yield Statement("header", part.capitalize(), part)
    for one in make(page):
        for statement in asked(one) if isinstance(one, Question) else (one,):
            yield replace(statement, part=part)


# --- questions -------------------------------------------------------------------------------------------------------

CHECK = "Check my answer"


def asked(question: Question) -> Iterator[Statement]:
    """A question as it is asked, nothing chosen."""
    yield markdown(question.text)
    if question.several:
        for option in question.options:
            yield control("checkbox", option, value=False)
        yield caption("More than one may be right.")
    else:
        yield control("radio", "Your answer", options=list(question.options), value=None)
    yield button(CHECK, disabled=True)


def verdict(question: Question, chosen: frozenset[int]) -> Statement:
    """What is said to an answer."""
    if chosen == question.right:
        return Statement("success", f"Right. {question.why}")
    right = " and ".join(f"“{question.options[i].rstrip('.')}”" for i in sorted(question.right))
    is_or_are = "is" if len(question.right) == 1 else "are"
    return Statement("warning", f"Not quite. Right {is_or_are} {right}. {question.why}")


def predicted(module: ModuleType, page: Page) -> list[Question]:
    """The questions that a page must ask."""
    return [one for one in module.predict(page) if isinstance(one, Question)]


def answers(app: AppTest, questions: list[Question]) -> list[str]:
    """Gives every possible answer to every question; messages for what is said otherwise than claimed."""
    messages = []
    if len(question_blocks(app)) != len(questions):
        return [f"{len(question_blocks(app))} questions are asked, {len(questions)} are claimed"]
    for n, question in enumerate(questions):
        for chosen in possible_answers(question):
            _choose(question_blocks(app)[n], chosen)
            if _check(question_blocks(app)[n]).disabled:  # until something was chosen
                app.run()
            _check(question_blocks(app)[n]).set_value(True)
            app.run()
            said = [s for s in read_block(question_blocks(app)[n], "predict") if s.kind in ("success", "warning")]
            messages += [
                f"to “{question.text}”, answered {sorted(chosen)}: {message}"
                for message in compare([verdict(question, chosen)], said)
            ]
    return messages


def possible_answers(question: Question) -> list[frozenset[int]]:
    """Each option; where several may be chosen, also every two of them, all of them, and the right ones."""
    every = frozenset(range(len(question.options)))
    pairs = map(frozenset, itertools.combinations(sorted(every), 2))
    return [*map(frozenset, zip(every, strict=True)), *([*pairs, every, question.right] if question.several else [])]


def question_blocks(app: AppTest) -> list[Any]:
    """The containers that hold a question each."""
    (part,) = (b for b in blocks(app.main) if getattr(b, "key", None) == "part_predict")
    return [b for b in part.children.values() if any(c.type == "button" and c.label == CHECK for c in blocks(b))]


def _check(block: Any) -> Any:
    return next(b for b in blocks(block) if b.type == "button")


def _choose(block: Any, chosen: frozenset[int]) -> None:
    boxes = [b for b in blocks(block) if b.type == "checkbox"]
    for n, box in enumerate(boxes):
        box.set_value(n in chosen)
    if not boxes:
        radio = next(b for b in blocks(block) if b.type == "radio")
        radio.set_value(min(chosen))
