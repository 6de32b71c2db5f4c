"""The command that puts the small BERT, fine-tuned for four tasks, into the app."""

import copy
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from model.adapting.fine_tuned import FineTuned
from tests.family import small
from tests.training.task_files import write_tasks
from training import compare_pretraining
from training.loop import tasks
from training.loop.finetune_loop import Example
from training.loop.tasks import TASKS
from training.loop.updates import Loss
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
    learned: list[tuple[int, int, float]] = []

    def learn(model: FineTuned, examples: Sequence[Example], steps: int, rate: float, loss: Loss, hides: float) -> None:
        learned.append((len(examples), steps, hides))
        compare_pretraining.learn(model, examples, steps, rate, loss, hides)

    monkeypatch.setattr(publish_tasks, "learn", learn)
    monkeypatch.setattr(publish_tasks, "BATCH", 4)
    files, folder = write_tasks(tmp_path), tmp_path / "heads"
    command = ["publish_tasks", str(files), "--epochs", "2", "--examples"]
    monkeypatch.setattr(sys, "argv", [*command, "6", "--only", "pos", "sentiment"])
    assert main(folder) == 0
    assert not (folder / "README.md").exists(), "two tasks are missing"
    monkeypatch.setattr(sys, "argv", [*command, "99", "--only", "qa_babi", "paraphrase"])
    assert main(folder) == 0
    figures = json.loads((folder / "metrics.json").read_text())
    assert {task: (one["train"], one["n"]) for task, one in figures.items()} == {
        "sentiment": (6, 12), "paraphrase": (8, 12), "qa_babi": (8, 12), "pos": (6, 48),
    }  # fmt: skip
    assert {task: one.get("counted") for task, one in figures.items()} == {
        "sentiment": 1.0, "paraphrase": 1.0, "qa_babi": None, "pos": 1.0,
    }  # fmt: skip
    assert learned == [(6, 3, 0), (6, 3, 0.3), (8, 4, 0), (8, 4, 0.1)], "each example is read twice, four a step"
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
