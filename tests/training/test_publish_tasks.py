"""The command that puts the small BERT, fine-tuned for four tasks, into the app."""

import copy
import dataclasses
import json
import sys
from pathlib import Path

import pytest

from tests.family import small
from tests.training.task_files import write_tasks
from training.loop import tasks
from training.loop.tasks import TASKS
from training.publish import tasks as publish_tasks
from training.publish.tasks import main


def test_each_task_is_kept_measured_and_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = small("bert-mini")
    monkeypatch.setattr(tasks, "MAX_LEN", 30)
    monkeypatch.setattr(
        publish_tasks, "load_model", lambda name: dataclasses.replace(loaded, model=copy.deepcopy(loaded.model))
    )
    files, folder = write_tasks(tmp_path), tmp_path / "heads"
    command = ["publish_tasks", str(files), "--examples", "6", "--epochs", "2"]
    monkeypatch.setattr(sys, "argv", [*command, "--only", "pos", "sentiment"])
    assert main(folder) == 0
    assert not (folder / "README.md").exists(), "two tasks are missing"
    monkeypatch.setattr(sys, "argv", [*command, "--only", "qa_babi", "paraphrase"])
    assert main(folder) == 0
    figures = json.loads((folder / "metrics.json").read_text())
    assert {task: (one["train"], one["n"]) for task, one in figures.items()} == {
        "sentiment": (6, 8), "paraphrase": (6, 8), "qa_babi": (6, 8), "pos": (6, 32),
    }  # fmt: skip
    assert all((folder / f"{task}.safetensors").exists() for task in TASKS)
    assert capsys.readouterr().out.splitlines() == [
        f"{task}: {json.dumps(figures[task])}" for task in ("pos", "sentiment", "qa_babi", "paraphrase")
    ]
    words = (folder / "README.md").read_text(encoding="utf-8")
    assert "the last 2 layers" in words
    assert f"{figures['pos']['right']:.1%} ± " in words
    assert "{" not in words


def test_what_is_missing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(publish_tasks, "load_model", lambda name: small("bert-mini"))
    monkeypatch.setattr(sys, "argv", ["publish_tasks", str(tmp_path), "--only", "pos"])
    assert main(tmp_path / "heads") == 1
    assert "pos.train.tsv" in capsys.readouterr().err
