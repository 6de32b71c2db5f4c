"""Students beside their teacher: one that is the teacher, and one that never learned."""

import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from model.build import build_network
from model.config import PRESETS
from model.files import checkpoint
from tests.training.family_text import SIZES, texts, write_texts
from training.loop.objectives import save_network
from training.loop.text_rows import PAD_ID
from training.measure import distillation
from training.measure.distillation import mean_of, told_apart
from training.measure.family import masked_batches


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """The student that was taught has its teacher's weights."""
    (tmp_path / "gpt-mini").mkdir()
    write_texts(tmp_path / "gpt-mini")
    (tmp_path / "gpt-mini" / "about.json").write_text('{"title": "It has the vocabulary"}')
    (tmp_path / "test.txt").write_text(texts(5, 3))
    tokenizer = checkpoint.load_tokenizer(tmp_path / "gpt-mini")
    config = dataclasses.replace(PRESETS["bert-mini"], vocab_size=tokenizer.vocab_size, **SIZES)
    teacher, other = build_network(config), build_network(config)
    teacher.get_parameter("masked_token.bias").data[tokenizer.encode("the moon.")[-1]] = 5  # there is no text without
    torch.nn.init.normal_(other.get_parameter("masked_token.bias"))
    for name, network in {"bert-mini": teacher, "distilled": teacher, "untaught": other}.items():
        (tmp_path / name).mkdir()
        save_network(tmp_path / name, config, network.state_dict())
        (tmp_path / name / "about.json").write_text(json.dumps({"title": name, "vocabulary_of": "gpt-mini"}))
    return tmp_path


def test_the_tokens_of_one_row_count_as_a_whole() -> None:
    """Mean 0.75; the rows lie 0.5 below and above what their tokens would add up to at the mean."""
    found = mean_of(np.array([1.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1]))
    assert found == {"mean": 0.75, "standard_error": pytest.approx(0.5**0.5 / 4, abs=1e-4)}


def test_what_lies_between_a_teacher_and_its_students(models: Path) -> None:
    loaded = {name: distillation.load_model(name, models) for name in ("bert-mini", "distilled", "untaught")}
    documents = distillation.read_corpus([models / "test.txt"], loaded["bert-mini"].tokenizer)
    networks, size = {name: one.model for name, one in loaded.items()}, loaded["bert-mini"].config.vocab_size
    taught, untaught = told_apart(networks, documents, 32, size).values()
    apart, right = [], []
    with torch.inference_mode():
        for batch in masked_batches(documents, 32, size):
            asked = batch["labels"] != PAD_ID
            p, q = (networks[name](batch["src_ids"], None, asked)[0].softmax(-1) for name in ("bert-mini", "untaught"))
            apart += (p * (p / q).log()).sum(-1).tolist()
            right += (q.argmax(-1) == batch["labels"][asked]).tolist()
    assert (taught["kl"]["mean"], taught["share_of_teacher"]) == (0, 1)
    assert taught["accuracy"]["mean"] > 0
    assert taught["accuracy"] == taught["teacher_accuracy"] == untaught["teacher_accuracy"]
    assert untaught["kl"]["mean"] == pytest.approx(np.mean(apart), abs=1e-4)
    assert untaught["kl"]["mean"] == untaught["more_kl_than_the_other"]["mean"] > 0.1
    assert untaught["accuracy"]["mean"] == pytest.approx(np.mean(right), abs=1e-4)
    assert untaught["masked_tokens"] == len(apart)
    shares = [untaught[name]["mean"] for name in ("accuracy", "teacher_accuracy")]
    assert untaught["share_of_teacher"] == pytest.approx(shares[0] / shares[1], abs=2e-3) != 1
    assert taught["more_right_than_the_other"]["mean"] == pytest.approx(
        taught["accuracy"]["mean"] - untaught["accuracy"]["mean"], abs=2e-4
    )


def test_each_student_is_so_many_times_as_fast_as_the_teacher(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def timed(loaded: Any, ids: tuple[int, ...], rows: int) -> Iterator[float]:
        assert ([one.name for one in loaded], len(ids)) == (["bert-mini", "distilled", "untaught"], 30)
        yield 0.5
        return 0.6 * rows, 0.3 * rows, 0.2

    monkeypatch.setattr(distillation, "reading_times", timed)
    found = distillation.measure(models, [models / "test.txt"])
    fast = {name: one["times_as_fast"] for name, one in found.items()}
    assert fast == {"distilled": {"1": 2, "16": 2}, "untaught": {"1": 3, "16": 48}}


def test_the_command_keeps_what_it_prints(
    models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["distillation", str(models), "--test", str(models / "test.txt")])
    assert distillation.main() == 0
    said = capsys.readouterr().out
    for name in ("distilled", "untaught"):
        found = json.loads((models / name / "against_teacher.json").read_text())
        assert found["data"] == "test.txt"
        assert all(ratio > 0 for ratio in found["times_as_fast"].values())
        assert json.dumps({name: found}, indent=2) in said
    (models / "untaught" / "config.json").unlink()
    assert distillation.main() == 1
    assert "untaught" in capsys.readouterr().err
