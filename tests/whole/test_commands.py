"""The commands a user types: the model without the app, and the app without its model."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from model.files.checkpoint import CONFIG, TOKENIZER, WEIGHTS
from tests.browser.conftest import free_port

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow  # each starts Python and torch


def python(*arguments: str, cwd: Path = ROOT, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, **options)  # type: ignore


def test_translate_takes_arguments() -> None:
    done = python("-m", "model.translate", "I ate an apple.", "Where is the dog?", "--beam", "1")
    assert done.returncode == 0
    apple, dog = done.stdout.splitlines()
    assert "gegessen" in apple or "aß" in apple
    assert "Hund" in dog
    assert done.stderr == ""


def test_translate_takes_lines_and_answers_each_with_one() -> None:
    lines = "I ate an apple.\n\nWhere is the dog?\n<script>\n" + "dog " * 500 + "\n"
    done = python("-m", "model.translate", "--beam", "1", input=lines)
    assert done.returncode == 0
    answers = done.stdout.split("\n")
    assert len(answers) == 6
    assert answers[-1] == answers[1] == ""
    assert "Hund" in answers[2]


FOLDERS = "assets classroom experiments explain figures hub model pages processes serving training ui".split()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The app in a folder of its own, to be damaged."""
    for name in ("app.py", ".streamlit", *FOLDERS):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name)  # with what Python has compiled of it
        else:
            shutil.copy(source, tmp_path / name)
    return tmp_path


def remove(path: Path) -> None:
    path.unlink()


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize(
    ("name", "damage"),
    [(WEIGHTS, remove), (CONFIG, truncate), (TOKENIZER, truncate)],
)
def test_a_missing_or_damaged_file_stops_the_start_and_is_named(
    name: str, damage: Callable[[Path], None], copy: Path
) -> None:
    file = copy / "assets" / "models" / "translator" / name
    damage(file)
    arguments = ("--server.headless=true", "--server.address=127.0.0.1", f"--server.port={free_port()}")
    done = python("-m", "streamlit", "run", "app.py", *arguments, cwd=copy)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert f"The model file {file.relative_to(copy)} " in said
    assert f"run in the project's folder: git checkout -- {file.parent.relative_to(copy)}\n" in said
    assert "Traceback" not in said


def test_translate_says_the_same(copy: Path) -> None:
    file = copy / "assets" / "models" / "translator" / WEIGHTS
    truncate(file)
    done = python("-m", "model.translate", "A dog.", cwd=copy)
    assert done.returncode == 1
    assert f"The model file {file.relative_to(copy)} " in done.stderr
    assert "git checkout" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("lint", "tests"), [(0, 0), (3, 0), (0, 5)])
def test_what_runs_everything_fails_where_one_part_fails(lint: int, tests: int, tmp_path: Path) -> None:
    for name, code in (("make", f'[ "$1" = lint ] && exit {lint} || exit {tests}'), ("apt-get", "exit 0")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{code}\n")
        (tmp_path / name).chmod(0o755)
    path = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    assert subprocess.run(["bash", ".ci/run"], cwd=ROOT, env=path, timeout=60).returncode == (lint or tests)
