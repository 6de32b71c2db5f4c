"""The prose of the course, once: what a page says word for word stands in `tests/approved/`, and claims name it there.

A file has a section for each part and in it **runs**: `[a name]`, then statements as `kind: text`, one a line. A claim
says that a run is shown and gives the values of its holes `{#0}`, `{#1}`, …: `yield from prose("a name", x, y)`. A
part that is one run without holes needs no claim: the run has its name. `python -m tests.approve` renews the files.
What is no statement by itself can be a run too: a question, the words of a matrix (`words`), the rows of a `table`.
"""

import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.oracle.language.claims import Question, question, table
from tests.oracle.language.statement import Statement

FOLDER = Path(__file__).parents[2] / "approved"
TEXTS = ("markdown", "caption", "info", "latex", "fold", "header", "subheader", "warning", "success")
LINE_END = "⏎"
HOLE = re.compile(r"\{#(\d+)\}")


@dataclass
class Line:
    """One statement of a run: "markdown", "caption", …; of a question "question", "option", "why", "wrong 2"."""

    kind: str
    text: str

    def filled(self, values: Sequence[object]) -> str:
        return HOLE.sub(lambda hole: str(values[int(hole[1])]), self.text)


@dataclass(frozen=True)
class Source:
    """Where the words of a statement stand, and what was put into their holes."""

    prose: "Prose"
    run: str
    line: Line
    values: Sequence[object]


class Prose:
    """The approved runs of one module of claims, by name."""

    def __init__(self, name: str) -> None:
        file = f"{name.replace('_', '-')}.txt"
        self.file = next(FOLDER.rglob(file), FOLDER / file)
        self.runs: dict[str, list[Line]] = {}
        self.sections: dict[str, str] = {}  # the section that begins with a run
        self.asked: set[str] = set()  # the runs whose words some claim has needed
        if self.file.exists():
            self._read()

    def _read(self) -> None:
        section = ""
        for n, row in enumerate(self.file.read_text(encoding="utf-8").splitlines(), 1):
            if row.startswith("# "):
                section = row[2:]
            elif named := re.fullmatch(r"\[(.+)\]", row):
                assert named[1] not in self.runs, f"{self.file}, line {n}: a second run [{named[1]}]"
                lines = self.runs[named[1]] = []
                if section:
                    self.sections[named[1]], section = section, ""
            elif row:
                kind, colon, text = row.partition(": ")
                assert colon, f"{self.file}, line {n}: neither a run's [name] nor a statement's kind: text"
                lines.append(Line(kind, text.replace(LINE_END, "\n")))

    def write(self) -> None:
        rows: list[str] = []
        for name, lines in self.runs.items():
            rows += [""] * bool(rows) + ([f"# {self.sections[name]}", ""] if name in self.sections else [])
            rows += [f"[{name}]", *(f"{line.kind}: {line.text.replace(chr(10), LINE_END)}" for line in lines)]
        self.file.write_text("\n".join([*rows, ""]), encoding="utf-8")

    def add(self, lines: list[Line], name: str = "") -> str:
        """A new run; without a name its first words are its name."""
        words = re.findall(r"[a-z][a-z'’-]*", HOLE.sub("", lines[0].text).lower()) or ["words"]
        names = (" ".join(words[:n]) if n <= len(words) else f"{' '.join(words)} {n}" for n in itertools.count(4))
        name = name or next(one for one in names if one not in self.runs)
        self.runs[name] = lines
        return name

    def lines(self, run: str, values: Sequence[object]) -> list[Line]:
        where = f"{self.file.name}: [{run}]"
        assert run in self.runs, f"{where} is not there"
        self.asked.add(run)
        holes = {int(n) for line in self.runs[run] for n in HOLE.findall(line.text)}
        assert holes == set(range(len(values))), f"{where} has the holes {sorted(holes)} for {len(values)} values"
        return self.runs[run]

    def __call__(self, run: str, *values: object) -> Iterator[Statement]:
        """The statements of a run."""
        for line in self.lines(run, values):
            yield Statement(line.kind, line.filled(values), source=Source(self, run, line, values))

    def line(self, run: str, *values: object) -> str:
        """The words of a run of one line, which are a part of something: a title, a reason, half a sentence."""
        (line,) = self.lines(run, values)
        return line.filled(values)

    def words(self, run: str, *values: object) -> dict[str, str]:
        """The words of one thing by name: `matrix(numbers, rows, columns, **prose.words("a name"))`."""
        return {line.kind: line.filled(values) for line in self.lines(run, values)}

    def table(self, run: str, *values: object) -> Statement:
        """A table: a line a row, its head first, with | between the cells."""
        return table(*(line.filled(values).split(" | ") for line in self.lines(run, values)))

    def question(
        self,
        run: str,
        right: int | Sequence[int],
        *values: object,
        options: Sequence[str] | None = None,
        wrong: Mapping[int, str] | Sequence[str] = (),
    ) -> Question:
        """A question; options and what is wrong with them are computed, or stand in the run."""
        said: dict[str, list[Line]] = {}
        for line in self.lines(run, values):
            said.setdefault(line.kind, []).append(line)
        faults = {int(kind[6:]): one.filled(values) for kind, (one, *_) in said.items() if kind.startswith("wrong ")}
        return question(
            said["question"][0].filled(values),
            [line.filled(values) for line in said.get("option", ())] if options is None else options,
            right,
            said["why"][0].filled(values),
            faults | dict(wrong if isinstance(wrong, Mapping) else enumerate(wrong)),
            source=functools.partial(Source, self, run, values=values),
        )

    def whole(self, part: str) -> Any:
        """The claim of a part that is one run; None if it is not."""
        return (lambda page: self(part)) if part in self.runs else None
