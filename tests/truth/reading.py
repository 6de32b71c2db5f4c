"""How the truth test reads a page: its parts, its matrices and the texts with numbers in them."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from json import loads
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from tests.oracle.forward import Forward
from tests.pages.kit import rows_of_table
from ui.text import in_markdown

SIGN = "[-−]?"
NUMBER = re.compile(rf"{SIGN}\d[\d,]*(?:\.\d+)?")


def close(shown: float, true: float, digits: int = 4) -> bool:
    """Whether a rounded number is the true one, given that the app computes in float32."""
    return bool(abs(shown - true) <= 0.5 * 10.0**-digits * 1.001 + 2e-5 * max(1.0, abs(true)))


def numbers_in(text: str) -> list[float]:
    return [float(found.replace("−", "-").replace(",", "").rstrip(".")) for found in NUMBER.findall(text)]


def floats(data: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(b64decode(data["values"]), "<f4").reshape(len(data["rows"]), len(data["columns"]))


@dataclass
class Seen:
    """What one part of a page shows."""

    components: list[dict[str, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # Markdown, captions, tables
    codes: list[str] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)  # keys of plotly figures
    sliders: list[float] = field(default_factory=list)
    buttons: list[Any] = field(default_factory=list)  # segmented controls

    @property
    def formulas(self) -> list[str]:
        return [f for text in self.texts for f in re.findall(r"\$(\\displaystyle [^$]*)\$", text)]

    @property
    def matrices(self) -> list[dict[str, Any]]:
        return [data for data in self.components if "values" in data]


def elements(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", {}).values():
        yield from elements(child)


def part(app: AppTest, key: str) -> Seen:
    """What stands in the container with this key."""
    (container,) = (n for n in elements(app.main) if getattr(n, "key", None) == key)
    seen = Seen()
    for element in elements(container):
        match element.type:
            case "bidi_component":
                seen.components.append(loads(element.proto.json))
            case "markdown" | "caption":
                seen.texts.append(element.value)
            case "html":
                if rows := rows_of_table(element.proto.body):
                    head, *lines = ("| " + " | ".join(map(in_markdown, row)) + " |" for row in rows)
                    seen.texts.append("\n".join([head, "|---" * len(rows[0]) + "|", *lines]))
            case "code":
                seen.codes.append(element.value)
            case "plotly_chart":
                seen.charts.append(element.key)
            case "slider":
                seen.sliders.append(element.value)
            case "button_group":
                seen.buttons.append(element)
    return seen


@dataclass
class Place:
    """Which tensor a matrix shows, or which head of it; which rows and columns, if not the first ones."""

    name: str
    head: int | None
    rows: list[int] | None = None
    columns: list[int] | None = None

    @property
    def layer(self) -> int:
        found = re.search(r"layers\.(\d+)", self.name)
        return int(found[1]) if found else 0

    def whole(self, oracle: Forward) -> np.ndarray:
        return oracle[self.name] if self.head is None else oracle[self.name][self.head]

    def index(self, cell: tuple[int, int]) -> tuple[int, ...]:
        """Where a cell of the matrix lies in the tensor."""
        row = cell[0] if self.rows is None else self.rows[cell[0]]
        column = cell[1] if self.columns is None else self.columns[cell[1]]
        return (row, column) if self.head is None else (self.head, row, column)


def place_of(data: dict[str, Any]) -> Place | None:
    """The place of a matrix whose download is named after a tensor; None for any other."""
    tensor = r"(cosines|logits|probabilities|(?:encoder|decoder)\.[a-z_.0-9]+)"
    found = re.fullmatch(tensor + r"(?: head (\d+))?(?: rows ([\d,]+))?(?: columns ([\d,]+))?", data["csv_name"])
    if not found:
        return None
    rows, columns = ([int(n) for n in part.split(",")] if part else None for part in found.group(3, 4))
    return Place(found[1], int(found[2]) - 1 if found[2] else None, rows, columns)


def only_place(seen: Seen) -> Place:
    (place,) = (p for d in seen.matrices if (p := place_of(d)))
    return place


Words = Callable[[str, Seen, Forward], None]  # checks the numbers of a text
Expected = Callable[[Forward, dict[str, Any]], np.ndarray]  # what a matrix should show


def expect(text: str, numbers: list[float]) -> None:
    """The numbers of a text, in order, to the digits shown; bold parts may hold a visitor's words and are left out."""
    found = [n.replace("−", "-").replace(",", "") for n in NUMBER.findall(text)]
    assert len(found) == len(numbers), (text, numbers)
    for shown, true in zip(found, numbers, strict=True):
        digits = len(shown.partition(".")[2])
        assert close(float(shown), true, digits) if digits else float(shown) == true, (text, shown, true)


def without_bold(text: str) -> str:
    return re.sub(r"\*\*.*?(?<!\\)\*\*", "", text)


def fixed(*numbers: float) -> Words:
    """Checks a text whose numbers are always these."""
    return lambda text, seen, oracle: expect(text, list(numbers))
