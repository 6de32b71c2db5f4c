"""Writes the first draft of a lesson's claims: everything that its page shows in one state, to be judged.

    python -m tests.pages.draft_claims my-lesson stage="4 times V" > tests/oracle/pages/SECTION/my_lesson.py

Prose goes to `tests/approved/`. The draft runs, and nearly all of it holds in this state; the test says what does not,
the arrays first, which are left out. Every number and every name of a piece in it is a copy, in the approved text too:
put a hole in the place of each, and compute what stands there from the oracle.
"""

import inspect
import itertools
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from tests.oracle.language import claims
from tests.oracle.language.approved import TEXTS, Line, Prose
from tests.oracle.language.reader import read
from tests.oracle.language.statement import Statement
from tests.oracle.language.walk import PARTS
from tests.pages.kit import ROOT, opened
from ui.course.lesson import COURSE
from ui.course.quiz import Question

HEAD = '''"""What the lesson {slug} must show."""

from tests.oracle.language import claims
from tests.oracle.language.approved import Prose
from tests.oracle.language.common import Statements, check_cell, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import Page
from tests.oracle.language.statement import Statement

prose = Prose("{slug}")
# Two at least; see tests/oracle/README.md for which.
STATES = ({state}, {{"sentence": "Go"}})
'''
_CONTROLS = {
    "button_group": "segmented",
    "toggle": "toggle",
    "selectbox": "select",
    "slider": "slider",
    "text_input": "text_box",
    "button": "button",
    "download_button": "download",
}


def literal(value: Any) -> str:
    """A value as Python; an array left out; a long text wrapped, raw if it is a formula."""
    if isinstance(value, np.ndarray):
        return f'"an array {value.shape}, to be computed"'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {literal(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if not isinstance(value, str):
        return repr(value)
    lines = textwrap.wrap(value, 100, drop_whitespace=False, break_long_words=False) if "\n" not in value else []
    raw = "\\" in value and "\n" not in value and '"' not in value
    quoted = [f'r"{line}"' if raw else repr(line) for line in lines] or [repr(value)]
    return "\n            ".join(["(", *quoted]) + "\n        )" if len(quoted) > 1 else quoted[0]


def call(make: str, *values: Any, **named: Any) -> str:
    given = [literal(value) for value in values] + [f"{name}={literal(value)}" for name, value in named.items()]
    return f"    yield {make}({', '.join(given)})"


def claim(statement: Statement) -> str:
    kind, content = statement.kind, statement.content
    if kind == "control":
        named = {name: value for name, value in content.items() if name != "type"}
        if content["type"] in _CONTROLS:
            return call(f"claims.{_CONTROLS[content['type']]}", **named)
        return call("claims.control", content["type"], **named)
    function = getattr(claims, kind, None)
    if function and kind == "table":
        return call("claims.table", *map(tuple, content))
    if function and kind == "link":
        return call("claims.link", **content)
    return call("Statement", kind, content)  # for a figure claims.py may have a function, made from what it shows


def tensor_of(statement: Statement) -> str | None:
    """The tensor that a matrix shows, if See and Check know it by name: as a call of `shown_tensor`."""
    if statement.kind != "matrix":
        return None
    name, _, head = str(statement.content["csv_name"]).partition(" head ")
    if not re.fullmatch(r"(encoder|decoder|logits|probabilities)[\w.]*", name) or not (head or "0").isdecimal():
        return None
    kind = {"encoder.self": "encoder", "decoder.self": "decoder", "decoder.cross": "cross"}
    found = re.search(r"(encoder|decoder)\.layers\.\d+\.(self|cross)_attn", name)
    more = f", head={int(head) - 1}" if head else ""
    more += f', kind="{kind[".".join(found.groups())]}"' if found else ""
    columns = statement.content["columns"]
    more += f", n_columns={len(columns)}" if columns == [str(n + 1) for n in range(len(columns))] else ""
    return f'shown_tensor(page, "{name}"{more})'


def question(one: Question, prose: Prose) -> str:
    def read_as(text: str) -> str:
        return text if "$" in text else re.sub(r"\\([^\w\s])", r"\1", text)  # escapes are gone when a page is read

    said = [("question", one.text), *(("option", text) for text in one.options), ("why", one.why)]
    said += [(f"wrong {n}", text) for n, text in one.wrong.items()]
    name = prose.add([Line(kind, read_as(text)) for kind, text in said])
    return f"    yield prose.question({name!r}, {sorted(one.correct) if one.several else min(one.correct)})"


def part_of_draft(part: str, shown: Sequence[Statement], slug: str, app: AppTest, prose: Prose) -> Iterator[str]:
    if part == "predict":
        yield from (question(one, prose) for one in app.session_state["asked"][1])
        return
    if part == "code":
        objects = [inspect.unwrap(one) for one in COURSE.lesson(slug).code]
        places = (f"{Path(inspect.getfile(one)).relative_to(ROOT).as_posix()}: {one.__qualname__}" for one in objects)
        yield f"    yield from code_of({', '.join(map(repr, places))})(page)"
        return
    tensors = [tensor for one in shown if one.part == "see" and (tensor := tensor_of(one))]
    statements = [one for one in shown if one.part == part and (one.kind, one.content) != ("header", part.capitalize())]
    is_text = [one.kind in TEXTS for one in statements]
    if statements and all(is_text):
        prose.add([Line(one.kind, one.content) for one in statements], part)
        return
    for n, one in enumerate(statements):
        if part == "check" and tensors and one.kind == "markdown" and one.content.startswith("**How did this"):
            yield f"    yield from check_cell({tensors[-1]})"
            return
        if part == "see" and (tensor := tensor_of(one)):
            named = ", ".join(f"{n}={literal(one.content[n])}" for n in ("title", "how_to_read"))
            yield f"    yield from tensor_matrix({tensor}, {named})"
        elif part == "see" and tensors and str(one.content).startswith("Shown: the first"):
            pass  # said with its matrix
        elif not is_text[n]:
            yield claim(one)
        elif n == 0 or not is_text[n - 1]:
            run = list(itertools.takewhile(lambda one: one.kind in TEXTS, statements[n:]))
            yield f"    yield from prose({prose.add([Line(one.kind, one.content) for one in run])!r})"


def draft(slug: str, **state: str) -> tuple[str, Prose]:
    """A module of claims, and the prose that it names."""
    app, prose = opened(slug, **state), Prose(slug)
    prose.runs, prose.sections = {}, {}
    shown, parts = read(app), []
    for part in PARTS:
        known = set(prose.runs)
        lines = list(part_of_draft(part, shown, slug, app, prose))
        if new := [name for name in prose.runs if name not in known]:
            prose.sections[new[0]] = part
        if lines or part not in prose.runs:
            lines = lines or ["    yield from ()"]
            parts.append("\n".join([f"\n\ndef {part}(page: Page) -> Statements:", *lines]))
    return HEAD.format(slug=slug, state=state) + "\n".join(parts), prose


if __name__ == "__main__":
    module, prose = draft(sys.argv[1], **dict(pair.split("=", 1) for pair in sys.argv[2:]))
    prose.write()
    print(module)
