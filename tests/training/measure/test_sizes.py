"""What size buys, measured."""

import json
import math
import sys
from pathlib import Path

import pytest

from experiments.family.scaling import size_figures
from tests.training.task_files import write_tasks
from training.measure import sizes


def test_reviews_are_told_by_the_likelier_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Each leans to "good"; more so on the good reviews, on one without measure; with four examples less so.
    asked = set()

    def said(name: str, text: str, n: int) -> tuple[float, float]:
        if n < 4 and "cat" in text and (name, n) not in asked:
            asked.add((name, n))
            return 1e9, 0.5
        return (0.9 if ("cat" in text) == (n < 4) else 0.6), 0.5

    monkeypatch.setattr(sizes, "load_model", lambda name, models: name)
    monkeypatch.setattr(sizes, "verdict_chances", said)
    monkeypatch.setattr(sys, "argv", ["x", str(write_tasks(tmp_path)), "--out", str(tmp_path / "kept.json")])
    assert sizes.main() == 0
    found = json.loads((tmp_path / "kept.json").read_text())
    assert found == json.loads(capsys.readouterr().out)
    assert (found["texts"], found["good"]) == (12, 0.5)
    for one in found["models"].values():
        assert [*one] == ["0", "1", "2", "3", "4"]
        for n, told in one.items():
            assert (told["right"], told["says_good"]) == ([0.5, round(math.sqrt(0.25 / 12), 4)], 1.0)
            assert told["against_the_middle"] == [float(n != "4"), 0.0]


def test_the_shipped_figures_are_of_as_many_reviews() -> None:
    assert size_figures()["texts"] == sizes.N_TEXTS


def test_a_missing_folder_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["x", "/nowhere"])
    assert sizes.main() == 1
    assert "/nowhere/sentiment.test.tsv" in capsys.readouterr().err
