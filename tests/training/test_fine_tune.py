"""The command that fine-tunes on four tasks: what it reads, what it prints and keeps."""

import copy
import dataclasses
import json
import sys
from pathlib import Path

import pytest
import torch

from model.build import build_network
from model.families.recurrent_language_model import RecurrentConfig, RecurrentLanguageModel
from model.files import checkpoint
from tests.family import small
from tests.training.task_files import write_tasks
from training import compare_pretraining
from training.compare_pretraining import WAYS, Accuracy, Settings, main, standard_errors_apart
from training.loop import tasks
from training.loop.finetune_loop import NO_LABEL, Example, for_a_writer
from training.loop.tasks import TASKS, spread


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tasks(tmp_path)


def small_models(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Small ones in the place of those that come with the app."""
    loaded = small(name)
    sizes = RecurrentConfig(loaded.tokenizer.vocab_size, 12, 7, 2)
    monkeypatch.setattr(tasks, "MAX_LEN", 30)
    monkeypatch.setattr(compare_pretraining, "load_untrained", lambda path: build_network(loaded.config))
    monkeypatch.setattr(compare_pretraining, "load_lstm", lambda: RecurrentLanguageModel(sizes).requires_grad_(False))
    monkeypatch.setattr(
        compare_pretraining, "load_model", lambda name: dataclasses.replace(loaded, model=copy.deepcopy(loaded.model))
    )


@pytest.mark.parametrize("name", ["gpt-mini", "bert-mini"])
def test_four_tasks_are_learned_in_all_ways_and_kept(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small_models(monkeypatch, name)
    out = folder / "kept.json"
    out.write_text(json.dumps({"another": {"settings": {}, "tasks": {}}}))
    command = ["fine_tune", str(folder), "--model", name, "--epochs", "2", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", command)
    assert main() == 0
    kept = json.loads(out.read_text())
    assert list(kept) == ["another", name]
    lines = kept[name]["tasks"]
    assert kept[name]["settings"] == {"examples": 2000, "tests": 1066, "epochs": 2, "rates": [3e-4, 1e-3]}
    assert [line["kind"] for line in lines.values()] == ["sentence", "pair", "span", "tags"]
    assert {task: (line["train"], line["n"]) for task, line in lines.items()} == {
        "sentiment": (8, 12), "paraphrase": (8, 12), "qa_babi": (8, 12), "pos": (8, 48),
    }  # fmt: skip
    ways = [*compare_pretraining.OF_A_READER] if name == "bert-mini" else [*WAYS]
    for line in lines.values():
        assert [*line["right"]] == [*line["rates"]] == ways
        assert {*line["rates"].values()} <= {3e-4, 1e-3}
    told = [f"{task}: {json.dumps(line)}" for task, line in lines.items()]
    assert capsys.readouterr().out.splitlines() == told


def test_a_model_of_another_folder_is_kept_under_the_name_of_that(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, out = small("bert-mini"), folder / "kept.json"
    monkeypatch.setattr(tasks, "MAX_LEN", 30)
    checkpoint.save(folder / "trained", model.config, model.tokenizer, model.model.state_dict())
    given = ["--model", f"{folder}/trained", "--only", "pos", "--ways", "pretrained", "--epochs", "1"]
    monkeypatch.setattr(sys, "argv", ["fine_tune", str(folder), *given, "--out", str(out)])
    assert main() == 0
    assert [*json.loads(out.read_text())] == ["trained"]


def test_after_a_kill_it_goes_on_but_not_with_other_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_models(monkeypatch, "gpt-mini")
    measured: list[tuple[float, ...]] = []

    def instead(way: object, name: str, task: object, parts: object, settings: Settings) -> tuple[Accuracy, float]:
        measured.append(settings.rates)
        return Accuracy(0.5, 8), settings.rates[0]

    monkeypatch.setattr(compare_pretraining, "measured", instead)
    out = folder / "kept.json"
    command = ["fine_tune", str(folder), "--only", "pos", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", [*command, "--ways", "random"])
    assert main() == 0
    monkeypatch.setattr(sys, "argv", command)
    assert main() == 0
    assert len(measured) == len(WAYS), "what was there is not measured again"
    monkeypatch.setattr(sys, "argv", [*command, "--rates", "0.1"])
    assert main() == 0
    assert measured[len(WAYS) :] == [(0.1,)] * len(WAYS)


def test_the_learning_rate_that_does_best_on_val_is_measured_on_test(monkeypatch: pytest.MonkeyPatch) -> None:
    small_models(monkeypatch, "gpt-mini")
    one = Example((1, 7, 8, 2), (0,) * 4, 1)
    shares, asked = iter([0.4, 0.6, 0.5, 0.9]), []

    def accuracy(model: torch.nn.Module, kind: str, examples: object) -> Accuracy:
        asked.append((model, examples))
        return Accuracy(next(shares), 10)

    monkeypatch.setattr(compare_pretraining, "accuracy", accuracy)
    settings = Settings(1, 1, 1, (0.1, 0.2, 0.3))
    found, rate = compare_pretraining.measured(
        WAYS["pretrained"],
        "gpt-mini",
        TASKS["sentiment"],
        ([one], ["val"], ["test"]),
        settings,  # type: ignore[list-item]
    )
    assert (found.right, rate) == (0.9, 0.2)
    assert [examples for _, examples in asked] == [["val"]] * 3 + [["test"]]
    assert asked[3][0] is asked[1][0]


def test_how_far_two_shares_are_apart_is_counted_in_standard_errors() -> None:
    apart = standard_errors_apart({"pretrained": 0.8, "random": 0.5, "lstm": 0.1}, 100)
    assert apart == round(0.3 / (0.8 * 0.2 / 100 + 0.5 * 0.5 / 100) ** 0.5, 2)


def test_what_is_missing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compare_pretraining, "load_model", lambda name: small("gpt-mini"))
    monkeypatch.setattr(sys, "argv", ["fine_tune", str(tmp_path), "--only", "pos"])
    assert main() == 1
    assert "pos.train.tsv" in capsys.readouterr().err


def test_examples_come_from_all_parts_of_a_file() -> None:
    every = [Example((n,), (0,), n) for n in range(100)]
    assert [one.label for one in spread(iter(every), 4)] == [0, 25, 50, 75]
    assert [one.label for one in spread(iter(every), 60)][-1] == 98
    assert spread(iter(every), 1000) == every


def test_a_gpt_is_asked_about_a_word_at_its_last_token() -> None:
    no = NO_LABEL
    one = Example((3, 11, 12, 13, 14, 4), (0,) * 6, (no, 5, no, 6, no, no))
    assert for_a_writer(one, at_ends=True) == Example((1, 11, 12, 13, 14, 2), (0,) * 6, (no, no, 5, no, 6, no))
    whole = Example((3, 11, 12, 4), (0,) * 4, (no, 5, 6, no))
    assert for_a_writer(whole, at_ends=True).label == whole.label
    assert set(TASKS) == {"sentiment", "paraphrase", "qa_babi", "pos"}
