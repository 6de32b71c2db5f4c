"""The oracle shares no code with what it checks: it imports the standard library, packages from outside, and itself."""

import ast
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OUTSIDE = {"numpy", "PIL", "tokenizers", "safetensors", "streamlit", "pytest", "torch", "transformers"}


def imported(code: str) -> set[str]:
    """Modules that some code imports, by name; whoever names a module in a text could import anything."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", sorted(HERE.rglob("*.py")), ids=lambda p: p.relative_to(HERE).as_posix())
def test_the_oracle_imports_nothing_of_what_it_checks(path: Path) -> None:
    names = imported(path.read_text(encoding="utf-8"))
    assert not {n for n in names if n.startswith("tests.") and not n.startswith(("tests.oracle", "tests.approve"))}
    assert {n.partition(".")[0] for n in names} - sys.stdlib_module_names - {"tests"} <= OUTSIDE
    # Only the walk loads modules by name, and only those of claims.
    assert "importlib" not in {n.partition(".")[0] for n in names} or path.name == "walk.py"
    # torch and transformers only where other people's models are read, or filters of pitch; torch's random numbers for
    # weights and draws.
    allowed = {"foreign.py": {"torch", "transformers"}, "untrained.py": {"torch"}, "draws.py": {"torch"}}
    allowed["sound.py"] = {"transformers"}
    assert {n.partition(".")[0] for n in names} & {"torch", "transformers"} <= allowed.get(path.name, set())
    # Of Streamlit only what runs a page for a test.
    assert {n for n in names if n.startswith("streamlit")} <= {"streamlit.testing.v1"}


def test_an_import_of_the_project_is_seen() -> None:
    assert imported("import model.trace\ndef f():\n    from ui import text") == {"model.trace", "ui"}
