"""What papers report, as tables: every row with its source. The facts stand in assets/results, not in code."""

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from model.files.checkpoint import PROJECT

FOLDER = PROJECT / "assets" / "results"
SOURCES = "sources"

Value = float | int | str | None


@dataclass(frozen=True)
class Source:
    """Where a row comes from. place: in the paper, like "Table 2"; url: where one can read it"""

    paper: str
    place: str
    url: str

    @property
    def label(self) -> str:
        return f"{self.paper}, {self.place}"


@dataclass(frozen=True)
class Column:
    """best: what comes first when the rows are sorted by it; form: how its numbers are written"""

    name: str
    best: Literal["high", "low"]
    form: Literal["plain", "tenths", "power", "size"]


@dataclass(frozen=True)
class Row:
    """One system. values: by the columns (N), None where the paper gives none

    lesson: the address of a lesson that teaches a part of it, which `part` names; both '' if there is none
    """

    name: str
    values: tuple[Value, ...]
    source: Source
    lesson: str = ""
    part: str = ""


@dataclass(frozen=True)
class ResultTable:
    """Rows of systems in the paper's order, and what the columns of their values are."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    def column(self, name: str) -> int:
        """Raises: ValueError if there is none of this name"""
        return [column.name for column in self.columns].index(name)

    def best_first(self, name: str) -> tuple[Row, ...]:
        """The rows sorted by a column; those without a value there come last, equal ones keep their order."""
        at = self.column(name)
        sign = -1 if self.columns[at].best == "high" else 1

        def key(row: Row) -> tuple[bool, Any]:
            value = row.values[at]
            return value is None, sign * value if isinstance(value, int | float) else value or ""

        return tuple(sorted(self.rows, key=key))


@functools.cache
def load_table(name: str, root: Path = FOLDER) -> ResultTable:
    """The table in a file of assets/results.

    Raises: ValueError, naming the row, if its values do not fit the columns
    """
    data, sources = _read(root / f"{name}.json"), _read(root / f"{SOURCES}.json")
    columns = tuple(Column(**column) for column in data["columns"])
    return ResultTable(columns, tuple(_row(row, columns, sources) for row in data["rows"]))


def _read(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read


def _row(row: dict[str, Any], columns: Sequence[Column], sources: dict[str, Any]) -> Row:
    if len(row["values"]) != len(columns):
        raise ValueError(f"{row['name']} has {len(row['values'])} values for {len(columns)} columns")
    paper = sources[row["source"]]
    source = Source(paper["paper"], row["where"], paper["url"])
    return Row(row["name"], tuple(row["values"]), source, row.get("lesson") or "", row.get("part") or "")
