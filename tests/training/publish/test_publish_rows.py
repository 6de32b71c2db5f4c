"""The command that puts the small GPT, fine-tuned for tasks as one row, into the app."""

import copy
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from model.adapting.fine_tuned import FineTuned
from model.adapting.row_tasks import file_of, load_row_task
from model.families.decoder_only import DecoderOnly
from model.files.checkpoint import CheckpointError
from model.text.tokenizer import EOS_ID, SEP_ID, SOS_ID
from tests.family import small
from tests.training.task_files import write_tasks
from training import compare_pretraining
from training.loop.finetune_loop import Example
from training.loop.tasks import ENTAILS, ROW_TASKS
from training.loop.updates import Loss
from training.publish import rows
from training.publish.rows import main, other_order, right_answers


def test_each_task_is_kept_measured_and_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = small("gpt-mini")
    monkeypatch.setattr(rows, "load_model", lambda name: dataclasses.replace(loaded, model=copy.deepcopy(loaded.model)))
    learned: list[tuple[int, int, float]] = []

    def learn(model: FineTuned, examples: Sequence[Example], steps: int, rate: float, loss: Loss) -> None:
        assert all((one.ids[0], one.ids[-1]) == (SOS_ID, EOS_ID) for one in examples)
        learned.append((len(examples), steps, rate))
        compare_pretraining.learn(model, examples, steps, rate, loss)

    monkeypatch.setattr(rows, "learn", learn)
    monkeypatch.setattr(rows, "BATCH", 4)
    files, folder = write_tasks(tmp_path), tmp_path / "rows"
    command = ["rows", str(files), "--epochs", "2", "--rate", "0.01", "--only"]
    monkeypatch.setattr(sys, "argv", [*command, "entailment"])
    assert main(folder) == 0
    assert not (folder / "README.md").exists(), "two tasks are missing"
    monkeypatch.setattr(sys, "argv", [*command, "sentiment", "paraphrase"])
    assert main(folder) == 0
    figures = json.loads((folder / "metrics.json").read_text())
    assert {task: (one["train"], one["n"], one["counted"]) for task, one in figures.items()} == dict.fromkeys(
        ROW_TASKS, (8, 12, 1.0)
    )
    assert learned == [(8, 4, 0.01), (8, 4, 0.01), (16, 4, 0.01)], "a pair in both orders, each example twice"
    assert capsys.readouterr().out.splitlines() == [
        f"{task}: {json.dumps(figures[task])}" for task in ("entailment", "sentiment", "paraphrase")
    ]
    words = (folder / "README.md").read_text(encoding="utf-8")
    assert f"{figures['entailment']['right']:.1%} ± " in words
    assert "{" not in words
    network = loaded.model
    assert isinstance(network, DecoderOnly)
    assert_it_is_the_frozen_model_and_what_was_added(network, folder)


def assert_it_is_the_frozen_model_and_what_was_added(network: DecoderOnly, folder: Path) -> None:
    file = file_of("entailment", folder)
    ids, weights = torch.tensor([[SOS_ID, 9, SEP_ID, 11, EOS_ID]]), load_file(file)
    merged = copy.deepcopy(network)
    for name in {one.partition(".down.")[0].partition(".up.")[0] for one in weights if "classifier" not in one}:
        down, up = (weights[f"{name}.{side}.weight"].float() for side in ("down", "up"))
        assert down.shape[0] == 8
        merged.get_submodule(name.removeprefix("network.")).weight += 16 / 8 * up @ down  # type: ignore[operator]
    head = (weights[f"classifier.{part}"].float() for part in ("weight", "bias"))
    expected = torch.nn.functional.linear(merged.rows(ids)[:, -1], *head)
    torch.testing.assert_close(load_row_task(network, file)(ids), expected, atol=1e-4, rtol=1e-4)
    del weights["classifier.weight"]
    save_file(weights, file)
    with pytest.raises(CheckpointError, match="entailment"):
        load_row_task(network, file)


def test_texts_are_exchanged_and_marks_stay() -> None:
    one = Example((SOS_ID, 7, 8, SEP_ID, 9, EOS_ID), (0,) * 6, 1)
    assert other_order(one).ids == (SOS_ID, 9, SEP_ID, 7, 8, EOS_ID)
    assert other_order(one).label == 1


def test_the_scores_of_both_orders_are_added() -> None:
    def model(ids: torch.Tensor) -> torch.Tensor:
        return torch.tensor([[1.0, 0.0], [0.0, 1.0]] if ids[0, 1] == 7 else [[0.0, 3.0], [0.0, 1.0]])

    some = [Example((SOS_ID, id, SEP_ID, 9, EOS_ID), (0,) * 5, 1) for id in (7, 8)]
    found = right_answers(model, [some])  # type: ignore[arg-type]
    assert (found.right, found.n) == (0.5, 2)
    both = right_answers(model, [some, [other_order(one) for one in some]])  # type: ignore[arg-type]
    assert (both.right, both.n) == (1.0, 2)


def test_what_follows_has_three_classes() -> None:
    assert ENTAILS == ("entailment", "neutral", "contradiction")
    assert ROW_TASKS["entailment"].n_classes == 3
