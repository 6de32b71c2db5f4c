"""The sizes that keep the house easy to read, held for every file at once."""

import ast
import inspect
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from model.parts.layers import DecoderLayer
from tests.lesson_cost import cost
from tests.oracle.shown.course import COURSE

ROOT = Path(__file__).parents[2]
FILE_LINES, FUNCTION_LINES, ARGUMENTS, UI_LINES = 350, 60, 8, 3500
VENDOR = "hub/vendor"  # other people's code, carried as it is


def tracked(*endings: str) -> list[Path]:
    """Files of the project with these endings, tests and vendored code left out."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    kept = (n for n in names if n.endswith(endings) and not n.startswith(("tests/", VENDOR)))
    return [ROOT / name for name in kept if (ROOT / name).exists()]


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def test_no_file_is_too_long() -> None:
    assert {place(p): n for p in tracked(".py", ".js", ".css", ".md") if (n := lines(p)) > FILE_LINES} == {}


def test_no_function_is_too_long() -> None:
    found = {
        f"{place(path)}:{node.lineno} {node.name}": length
        for path in tracked(".py")
        for node in nodes(path)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    }
    assert found == {}


def test_no_call_of_a_page_takes_too_many_arguments() -> None:
    found = [
        f"{place(path)}:{node.lineno}"
        for path in tracked(".py")
        if place(path).startswith(("ui/", "pages/"))
        for node in nodes(path)
        if isinstance(node, ast.Call) and len(node.args) + len(node.keywords) > ARGUMENTS
    ]
    assert found == []


def test_the_kit_stays_small() -> None:
    kit = [path for path in tracked(".py") if place(path).startswith("ui/") and "ui/components" not in place(path)]
    assert sum(map(lines, kit)) <= UI_LINES


def test_a_decoder_layer_takes_four_arguments_beside_the_tap() -> None:
    assert list(inspect.signature(DecoderLayer.forward).parameters) == ["self", "x", "mask", "memory", "cache", "tap"]


@pytest.mark.slow  # reads every file of the project
def test_what_a_lesson_costs_is_told_as_it_is() -> None:
    slugs = [place.slug for place in COURSE]
    mean = sum(cost(slug, slugs)["all told"] for slug in slugs) / len(slugs)
    told = re.search(r"One costs ([\d,]+) lines on average", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert told
    assert abs(int(told[1].replace(",", "")) / mean - 1) < 0.05, f"python -m tests.lesson_cost says {mean:,.0f}"
