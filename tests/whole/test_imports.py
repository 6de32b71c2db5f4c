"""Imports go one way, and this table says which. (Every folder may import itself and the standard library.)"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ALLOWED = {
    "app.py": "ui model serving classroom processes streamlit starlette",
    # Lessons run small experiments on the model.
    "pages": "ui explain experiments figures model hub training classroom serving streamlit numpy torch",
    "ui": "explain experiments model figures serving streamlit cachetools numpy torch PIL",
    "explain": "model figures numpy",
    "experiments": "model figures numpy torch",
    "figures": "numpy plotly",
    "hub": "model processes numpy torch tokenizers transformers bertviz captum safetensors cachetools huggingface_hub "
    "rich",
    "model": "numpy torch tokenizers safetensors typing_extensions",
    "processes": "",
    "serving": "streamlit starlette google",
    "classroom": "sqlalchemy alembic cachetools segno",
    "training": "model experiments processes numpy torch tokenizers safetensors PIL accelerate sacrebleu rich",
}
# May import anything; nothing else imports pages, whose own parts may import each other.
FREE = {"benchmarks", "screenshots", "tests"}
NOT_OURS = {"scratch", "runs"}  # ignored by git


def imported(code: str) -> set[str]:
    """Top-level packages that some code imports, at its head or inside a function; no standard library."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names


def home(path: Path) -> str:
    """The row of the table that holds for a file."""
    return path.relative_to(ROOT).parts[0]


def forbidden(where: str, code: str) -> set[str]:
    """What the code imports though the table does not let it."""
    if where in FREE:
        return set()
    return imported(code) - {where, *ALLOWED[where].split()}


def python_files() -> list[Path]:
    files = [*ROOT.glob("*.py"), *(p for p in ROOT.glob("*/**/*.py"))]
    return sorted(p for p in files if not home(p).startswith(".") and home(p) not in NOT_OURS)


def test_the_table_knows_every_folder() -> None:
    assert {home(path) for path in python_files()} <= ALLOWED.keys() | FREE


def test_imports_go_one_way() -> None:
    wrong = {path: forbidden(home(path), path.read_text(encoding="utf-8")) for path in python_files()}
    assert {path.relative_to(ROOT).as_posix(): names for path, names in wrong.items() if names} == {}


def test_nothing_may_import_pages_and_the_inner_layers_may_not_see_streamlit() -> None:
    assert not [where for where, allowed in ALLOWED.items() if "pages" in allowed.split()]
    assert not [
        where for where in ("model", "figures", "training", "classroom") if "streamlit" in ALLOWED[where].split()
    ]


@pytest.mark.parametrize(
    ("where", "code", "expected"),
    [
        ("model", "import streamlit as st", {"streamlit"}),
        ("model", "def f():\n    from streamlit.web import cli", {"streamlit"}),
        ("figures", "import math\nimport numpy as np, torch.nn", {"torch"}),
        ("ui", "from pages.home import x", {"pages"}),
        ("training", "from training.loop.data import collate\nimport rich.progress", set()),
    ],
)
def test_a_forbidden_import_is_seen(where: str, code: str, expected: set[str]) -> None:
    assert forbidden(where, code) == expected


READING = """
import sys
read = []
sys.addaudithook(lambda event, of: event == "open" and "/assets/" in str(of[0]) and read.append(str(of[0])))
import pages.course
sys.exit(", ".join(read) or 0)
"""


@pytest.mark.slow  # starts Python and torch
def test_no_lesson_reads_a_file_of_a_model_before_it_is_opened() -> None:
    """Else a file that is missing would keep the whole app from starting, not its own lesson alone."""
    done = subprocess.run([sys.executable, "-c", READING], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
