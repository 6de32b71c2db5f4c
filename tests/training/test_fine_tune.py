"""The command that fine-tunes on four tasks: what it reads, what it prints and keeps."""

import copy
import dataclasses
import json
import sys
from pathlib import Path

import pytest

from model.build import build_network
from tests.family import small
from training import fine_tune
from training.fine_tune import TASKS, Accuracy, figures, main, spread
from training.fine_tuning import NO_LABEL, Example, for_a_writer

STORY = {"story": ["Tom has a cat.", "The dog sat."], "qa": [[1, "Who has it?", "Tom", 0, [0]]]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part in ("train", "test"):
        (tmp_path / f"sentiment.{part}.tsv").write_text(
            "label\ttext\n" + "pos\tThe cat sat.\nneg\tA dog sees it.\n" * 4
        )
        (tmp_path / f"paraphrase.{part}.tsv").write_text("label\ta\tb\n" + "1\tThe cat.\tA cat.\n0\tA dog.\tTom.\n" * 4)
        (tmp_path / f"pos.{part}.tsv").write_text("tokens\ttags\n" + "The cat sat .\tDET NOUN VERB PUNCT\n" * 8)
        (tmp_path / f"qa_babi.{part}.jsonl").write_text((json.dumps(STORY) + "\n") * 8)
    return tmp_path


@pytest.mark.parametrize("name", ["gpt-mini", "bert-mini"])
def test_four_tasks_are_learned_from_both_beginnings_and_kept(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = small(name)
    monkeypatch.setattr(fine_tune, "MAX_LEN", 30)
    monkeypatch.setattr(fine_tune, "load_untrained", lambda path: build_network(loaded.config))
    monkeypatch.setattr(
        fine_tune, "load_model", lambda name: dataclasses.replace(loaded, model=copy.deepcopy(loaded.model))
    )
    out = folder / "kept.json"
    monkeypatch.setattr(sys, "argv", ["fine_tune", str(folder), "--model", name, "--epochs", "2", "--out", str(out)])
    assert main() == 0
    kept = json.loads(out.read_text())
    assert kept["model"] == name
    assert [line["kind"] for line in kept["tasks"].values()] == ["sentence", "pair", "span", "tags"]
    assert {task: (line["train"], line["n"]) for task, line in kept["tasks"].items()} == {
        "sentiment": (8, 8), "paraphrase": (8, 8), "qa_babi": (8, 8), "pos": (8, 32),
    }  # fmt: skip
    assert capsys.readouterr().out.splitlines() == [
        f"{task}: {json.dumps(line)}" for task, line in kept["tasks"].items()
    ]


def test_how_far_two_shares_are_apart_is_counted_in_standard_errors() -> None:
    line = figures({"pretrained": Accuracy(0.8, 100), "random": Accuracy(0.5, 100)}, "pair", 7)
    assert line["standard_errors_apart"] == round(0.3 / (0.8 * 0.2 / 100 + 0.5 * 0.5 / 100) ** 0.5, 1)


def test_what_is_missing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fine_tune, "load_model", lambda name: small("gpt-mini"))
    monkeypatch.setattr(sys, "argv", ["fine_tune", str(tmp_path), "--only", "pos"])
    assert main() == 1
    assert "pos.train.tsv" in capsys.readouterr().err


def test_examples_come_from_all_parts_of_a_file() -> None:
    every = [Example((n,), (0,), n) for n in range(100)]
    assert [one.label for one in spread(iter(every), 4)] == [0, 25, 50, 75]


def test_a_gpt_is_asked_about_a_word_at_its_last_token() -> None:
    no = NO_LABEL
    one = Example((3, 11, 12, 13, 14, 4), (0,) * 6, (no, 5, no, 6, no, no))
    assert for_a_writer(one, at_ends=True) == Example((1, 11, 12, 13, 14, 2), (0,) * 6, (no, no, 5, no, 6, no))
    whole = Example((3, 11, 12, 4), (0,) * 4, (no, 5, 6, no))
    assert for_a_writer(whole, at_ends=True).label == whole.label
    assert set(TASKS) == {"sentiment", "paraphrase", "qa_babi", "pos"}
