"""The walk: a lesson's claims, computed for a state, against what its page shows in that state."""

import functools
import importlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.oracle.language.claims import FillIn, Question, button, caption, control, markdown, number, segmented
from tests.oracle.language.common import check_cell
from tests.oracle.language.page import Page
from tests.oracle.language.reader import blocks, read, read_block
from tests.oracle.language.statement import Statement, compare
from tests.oracle.shown.frame import STEPS, lesson_frame, presented

PARTS = ("idea", "see", "check", "do", "predict", "code")

State = Mapping[str, str]
PAGES = Path(__file__).parents[1] / "pages"


def claims_of(slug: str) -> ModuleType | None:
    """The module of a page's claims, or None if nobody has written it."""
    for path in PAGES.glob(f"*/{slug.replace('-', '_')}.py"):
        return importlib.import_module(f"tests.oracle.pages.{path.parent.name}.{path.stem}")
    return None


def unclaimed(app: AppTest, module: ModuleType, page: Page) -> list[str]:
    """What is shown and not claimed, or claimed and not shown, in any part of the page."""
    shown = read(app)
    parts = dict.fromkeys(("frame", *(PARTS if hasattr(module, "predict") else ()), *(s.part for s in shown)))
    return [
        message
        for part in parts
        for message in compare(list(claimed(module, page, part)), [s for s in shown if s.part == part])
    ]


def part_of(module: ModuleType, part: str) -> Any:
    """What claims a part of a page: a function, or a run of its approved text; Check of what is `shown`; or None."""
    whole = getattr(module, part, None) or (module.prose.whole(part) if hasattr(module, "prose") else None)
    if part == "check" and not whole and hasattr(module, "shown"):
        return lambda page: check_cell(module.shown(page))
    return whole


def claimed(module: ModuleType, page: Page, part: str) -> Iterator[Statement]:
    """Everything that a part of a page must show, its heading first; what is no lesson has a frame alone."""
    frame = functools.partial(lesson_frame, scene=getattr(module, "scene", None))
    make = part_of(module, part) or (frame if part == "frame" else lambda page: ())
    if page.switch("present") and part != "frame":
        if part not in (STEPS[presented(page)], "check" if STEPS[presented(page)] == "see" else ""):
            return
    elif part not in ("frame", "idea"):
        yield Statement("header", part.capitalize(), part)
    claims = list(make(page))
    questions = [one for one in claims if isinstance(one, Question)]
    if len(questions) > 1:
        yield segmented("Question", range(1, len(questions) + 1), 1)
    for one in claims:
        if isinstance(one, Question):
            # One at a time; the walk asks for the others.
            yield from asked(one) if one is questions[0] else ()
        else:
            yield from blank(one) if isinstance(one, FillIn) else (replace(one, part=part),)


def answered(app: AppTest, module: ModuleType, page: Page, nth: int = 0) -> list[str]:
    """Answers everything that the page asks; messages for what is said otherwise than claimed.

    In the first state that is tried (nth = 0) in every way; in a later one with one wrong answer, another in each, and
    the right one. So every answer is given in some state, and the right one, which the key decides, in all.
    """
    if not hasattr(module, "predict"):
        return []
    if page.switch("present"):
        return []
    questions = [one for one in part_of(module, "predict")(page) if isinstance(one, Question)]
    blanks = [one for one in part_of(module, "check")(page) if isinstance(one, FillIn)]
    return [*answers(app, questions, nth), *(message for one in blanks for message in filled_in(app, one))]


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
        yield control("radio", question.text, options=list(question.options), value=None)
    yield button(CHECK, disabled=True)


def verdict(question: Question, chosen: frozenset[int]) -> Statement:
    """What is said to an answer: what is wrong with each wrong choice, what is right, and why."""
    if chosen == question.right:
        return Statement("success", f"Right. {question.why}")
    faults = [question.wrong[i] for i in sorted(chosen - question.right) if i in question.wrong]
    if chosen < question.right:
        faults = ["What you chose is right, but something is missing."]
    right = " and ".join(f"“{question.options[i].rstrip('.')}”" for i in sorted(question.right))
    is_or_are = "is" if len(question.right) == 1 else "are"
    return Statement("warning", " ".join(["Not quite.", *faults, f"Right {is_or_are} {right}.", question.why]))


def answers(app: AppTest, questions: list[Question], nth: int) -> list[str]:
    """Gives every possible answer to every question, or (nth > 0) the nth wrong one, the right one last."""
    messages = []
    for n, question in enumerate(questions):
        if len(questions) > 1:
            element(app, "part_predict", "button_group").set_value(str(n + 1)).run()
        messages += compare(list(asked(question)), read_block(block(app, "question"), "predict"))
        *wrong, right_one = possible_answers(question)
        tried = [wrong[nth % len(wrong)]] if nth else wrong
        for chosen in (*tried, right_one):
            choose(block(app, "question"), chosen)
            if element(app, "question", "button").disabled:  # until something was chosen
                app.run()
            element(app, "question", "button").set_value(True)
            app.run()
            said = [s for s in read_block(block(app, "part_predict"), "predict") if s.kind in ("success", "warning")]
            said += read_block(block(app, "part_predict"), "predict")[-1:]
            right = n + (chosen == question.right)
            score = f"In the whole course: {right} answered right so far. You may answer again; the last answer counts."
            messages += [
                f"to “{question.text}”, answered {sorted(chosen)}: {message}"
                for message in compare([verdict(question, chosen), caption(score)], said)
            ]
    return messages


def possible_answers(question: Question) -> list[frozenset[int]]:
    """Each option; where several may be chosen, also every two of them and all of them; the right ones last."""
    every = range(len(question.options))
    sizes = (1, 2, len(every)) if question.several else (1,)
    found = [frozenset(chosen) for size in sizes for chosen in itertools.combinations(every, size)]
    return [chosen for chosen in dict.fromkeys(found) if chosen != question.right] + [question.right]


def block(app: AppTest, key: str) -> Any:
    (found,) = (b for b in blocks(app.main) if getattr(b, "key", None) == key)
    return found


def element(app: AppTest, key: str, kind: str) -> Any:
    """The first element of a kind in the container with this key."""
    return next(b for b in blocks(block(app, key)) if b.type == kind)


def choose(block: Any, chosen: frozenset[int]) -> None:
    boxes = [b for b in blocks(block) if b.type == "checkbox"]
    for n, box in enumerate(boxes):
        box.set_value(n in chosen)
    if not boxes:
        radio = next(b for b in blocks(block) if b.type == "radio")
        radio.set_value(min(chosen))


# --- a number to fill in ---------------------------------------------------------------------------------------------


def blank(one: FillIn) -> Iterator[Statement]:
    """The formula, and a box for its value."""
    ends = "?" if one.whole else ", to two decimals?"
    yield markdown(rf"**Your turn.** What is $\displaystyle {one.formula}${ends}")
    yield control("number_input", "Your number", value=None)


def filled_in(app: AppTest, one: FillIn) -> list[str]:
    """Fills in the right number, the right size with the wrong sign, and something else."""
    nearly = round(one.answer, 2)
    tries = [
        (nearly, Statement("success", f"Right: it is {number(one.answer, 0 if one.whole else 4)}.")),
        (
            nearly + (1 if one.whole else max(0.02, 4e-4 * abs(nearly))),
            Statement("warning", "Not yet. Take the numbers as they stand, and round only at the end."),
        ),
    ]
    if abs(nearly) > 0.02:
        signs = " Equal signs give plus, different ones minus." if r"\cdot" in one.formula else ""
        tries.append((-nearly, Statement("warning", f"The size is right, the sign is not.{signs}")))
    messages = []
    for given, says in tries:
        element(app, "fill_in", "number_input").set_value(given).run()
        said = read_block(block(app, "fill_in"), "check")[2:]
        messages += [f"to {one.formula}, filled in {given}: {message}" for message in compare([says], said)]
    return messages
