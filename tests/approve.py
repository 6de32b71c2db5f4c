"""Renews the approved text of pages from what they show, so that a person reads the change in `git diff`.

    python -m tests.approve masking gpt      # no name: every page

Opens a page in every state of its claims. Words that differ are taken from the page; the values that the claims compute
go back into their holes. What no renewal can decide is printed: a sentence that is shown in some states only, or one
that stands where no run does, needs a claim.
"""

import importlib
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.course import LESSONS
from tests.oracle.language.approved import HOLE, TEXTS, Line, Source
from tests.oracle.language.claims import Question
from tests.oracle.language.page import Page
from tests.oracle.language.reader import read, read_block
from tests.oracle.language.statement import Statement, agrees, occurrences, paired
from tests.oracle.language.walk import block, choose, claimed, claims_of, element, part_of
from tests.pages.kit import FOREIGN, OTHERS, opened

PAGES: dict[str, str | Path] = {one.slug: one.slug for one in LESSONS} | OTHERS | FOREIGN
VERDICT = re.compile(r"Not quite\. (?:(.*?) )?Right (?:is|are) “.*?”\. (.*)", re.DOTALL)
NEAR = 30  # signs to the left and the right of a hole that tell its place


class Renewal:
    """What is renewed of one module of claims, and what a person must do."""

    def __init__(self) -> None:
        self.files: dict[Path, Any] = {}
        self.changed: dict[int, Line] = {}
        self.shown: set[int] = set()
        self.missing: dict[int, Source] = {}
        self.by_hand: dict[str, None] = {}

    def take(self, source: Source, text: str) -> None:
        """The words of a line become those that are shown."""
        self.shown.add(id(source.line))
        if not HOLE.sub("", text) or source.line.filled(source.values) == text:
            return
        template = with_holes(source.line.text, source.values, text)
        if template is None:
            self.by_hand[f"[{source.run}] does not show all its values any more: {text}"] = None
        elif template != source.line.text:
            if id(source.line) in self.changed:
                self.by_hand[f"[{source.run}] differs between two states, so compute what does: {text}"] = None
            source.line.text = template
            self.changed[id(source.line)] = source.line
            self.files[source.prose.file] = source.prose

    def add(self, one: Statement, before: Source | None, after: Source | None, module: ModuleType) -> Source:
        """A new statement joins the run that stands before or behind it; between two claims it begins a run."""
        line = Line(one.kind, one.content)
        beside = before or after
        if beside:
            name, prose = beside.run, beside.prose
            lines = prose.runs[name]
            lines.insert(lines.index(beside.line) + (beside is before), line)
        else:
            prose, name = module.prose, module.prose.add([line])
            self.by_hand[f'[{name}] is new: in {one.part} say `yield from prose("{name}")`'] = None
        self.shown.add(id(line))
        self.files[prose.file] = prose
        return Source(prose, name, line, ())

    def finish(self) -> None:
        for key, source in self.missing.items():
            if key in self.shown:
                self.by_hand[f"[{source.run}] is shown in some states only, so claim when: {source.line.text}"] = None
                continue
            lines = source.prose.runs[source.run]
            lines[:] = [one for one in lines if one is not source.line]
            self.files[source.prose.file] = source.prose
            if not lines:
                del source.prose.runs[source.run]
                self.by_hand[f"[{source.run}] is gone: remove its claim"] = None
        for file, prose in self.files.items():
            prose.write()
            print(f"renewed {file.name}")
        for message in self.by_hand:
            print(f"by hand: {message}")


def with_holes(template: str, values: Sequence[object], text: str) -> str | None:
    """A text with the values of a template as holes in it, each where the words around it fit best; None if one is
    missing."""
    parts = HOLE.split(template)  # words, number of a hole, words, …
    ways: list[tuple[int, int, str]] = [(0, 0, "")]  # score, where it ends, the template so far
    for n in range(1, len(parts), 2):
        left, right, value = parts[n - 1], parts[n + 1], str(values[int(parts[n])])
        better: dict[int, tuple[int, int, str]] = {}
        for start, end in occurrences(value, text):
            fits = alike(left[::-1], text[:start][::-1]) + alike(right, text[end:])
            for score, at, done in ways:
                if at <= start and (end not in better or score + fits > better[end][0]):
                    better[end] = score + fits, end, f"{done}{text[at:start]}{{#{parts[n]}}}"
        ways = list(better.values())
    if not ways:
        return None
    _, at, done = max(ways)
    return done + text[at:]


def alike(one: str, other: str) -> int:
    """How many signs two texts have in common at their beginnings."""
    near = min(len(one), len(other), NEAR)
    return next((n for n in range(near) if one[n] != other[n]), near)


def renew(name: str) -> None:
    module, renewal = claims_of(name), Renewal()
    assert module, f"nobody claims {name}"
    for state in module.STATES:
        app, page = opened(PAGES[name], **state), Page(name, state)
        shown = read(app)
        for part in dict.fromkeys(one.part for one in shown):
            pairs = paired(list(claimed(module, page, part)), [one for one in shown if one.part == part])
            before: Source | None = None
            for n, (mine, theirs) in enumerate(pairs):
                source = mine.source if mine else None
                if isinstance(source, Source) and source.line.kind != "question":
                    if theirs is None:
                        renewal.missing[id(source.line)] = source
                    elif agrees(mine, theirs):
                        renewal.shown.add(id(source.line))
                    else:
                        renewal.take(source, theirs.content)
                elif mine is None and theirs.kind in TEXTS:
                    after = pairs[n + 1][0].source if n + 1 < len(pairs) and pairs[n + 1][0] else None
                    source = renewal.add(theirs, before, after, module)
                before = source
        if hasattr(module, "predict") and not page.switch("present"):
            questions = [one for one in part_of(module, "predict")(page) if isinstance(one, Question)]
            renew_questions(app, questions, renewal)
    renewal.finish()


def renew_questions(app: AppTest, questions: Sequence[Question], renewal: Renewal) -> None:
    for n, question in enumerate(questions):
        if question.source is None:
            continue
        if len(questions) > 1:
            element(app, "part_predict", "button_group").set_value(str(n + 1)).run()
        asked, *others = read_block(block(app, "question"), "predict")
        offered = [one.content for one in others if isinstance(one.content, dict)]  # words may stand between
        options = [one["label"] for one in offered if one["type"] == "checkbox"]
        said = {"question": [asked.content], "option": options or offered[0]["options"]}
        for at in range(len(question.options)):
            choose(block(app, "question"), frozenset({at}))
            if element(app, "question", "button").disabled:
                app.run()
            element(app, "question", "button").set_value(True)
            app.run()
            for one in read_block(block(app, "part_predict"), "predict"):
                if one.kind == "success":
                    said["why"] = [one.content.removeprefix("Right. ")]
                elif one.kind == "warning" and (found := VERDICT.fullmatch(one.content)):
                    said["why"] = [found[2]]
                    if at not in question.right:
                        said[f"wrong {at}"] = [found[1] or ""]
        for source, text in sources(question.source, said):
            renewal.take(source, text)


def sources(source: partial[Source], said: dict[str, list[str]]) -> Iterator[tuple[Source, str]]:
    """Each line of a question with the words that are shown for it."""
    prose, run = source.args
    given = {kind: iter(texts) for kind, texts in said.items()}
    for line in prose.runs[run]:
        if line.kind in given and (text := next(given[line.kind], None)) is not None:
            yield source(line), text


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # Streamlit's, that no browser is there
    with tempfile.TemporaryDirectory() as folder:
        chosen = [name if name in PAGES else name.replace("-", "_") for name in sys.argv[1:]] or list(PAGES)
        if FOREIGN.keys() & set(chosen):
            importlib.import_module("tests.hub.small_models").stand_in_models(Path(folder))
            os.environ["WALKTHROUGH_MODELS"] = folder
        for name in chosen:
            renew(name)
