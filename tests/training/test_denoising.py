"""The command that trains a small BART and a small T5."""

import dataclasses
import json
import sys
from pathlib import Path

import pytest

from tests.training.family_text import RECIPE
from tests.training.restoring_family import NAMES, write_all
from training import denoising
from training.denoising import RECIPES

pytestmark = pytest.mark.slow  # trains


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    for name in NAMES:
        monkeypatch.setitem(RECIPES, name, dataclasses.replace(RECIPE, steps=2))
    return write_all(tmp_path, monkeypatch)


def call(monkeypatch: pytest.MonkeyPatch, *typed: object) -> int:
    monkeypatch.setattr(sys, "argv", ["denoising", *map(str, typed)])
    return denoising.main()


def test_both_are_trained_and_then_skipped(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ("--data", files[0], "--valid", files[1], "--out", tmp_path, "--tasks", tmp_path, "--threads", 1)
    assert call(monkeypatch, *typed, "--only", "t5-mini") == 0
    assert not (tmp_path / "bart-mini" / "training.json").exists()
    assert call(monkeypatch, *typed) == 0
    assert capsys.readouterr().out.count("t5-mini is finished") == 1
    for name in NAMES:
        figures = json.loads((tmp_path / name / "training.json").read_text())
        assert (figures["name"], figures["steps"]) == (name, 2)
        assert {path.name for path in (tmp_path / name).iterdir()} == {
            "config.json", "log.json", "model.safetensors", "state", "training.json",
        }  # fmt: skip


def test_what_is_missing_is_said_in_a_sentence(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ("--data", files[0], "--valid", files[1], "--out")
    with pytest.raises(SystemExit):
        call(monkeypatch, *typed, tmp_path)
    assert "--tasks is missing: the folder of the tasks that t5-mini learns" in capsys.readouterr().err
    assert call(monkeypatch, *typed, tmp_path / "new", "--only", "bart-mini") == 1
    assert capsys.readouterr().err.startswith(f"bart-mini: {tmp_path / 'new' / 'tokenizer.json'} is missing")
    assert call(monkeypatch, *typed, tmp_path, "--tasks", tmp_path / "gone") == 1  # and BART is trained
    assert "t5-mini: " in (said := capsys.readouterr().err)
    assert "pos.train.tsv" in said
    assert (tmp_path / "bart-mini" / "training.json").exists()
