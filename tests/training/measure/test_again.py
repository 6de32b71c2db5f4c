"""What is measured of the four that read a small text again and again."""

import dataclasses
import json
import math
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from model.build import build_network
from model.config import PRESETS
from model.files import checkpoint
from pages.descendants.read_again import told
from tests.training.family_text import SIZES, texts, write_texts
from training.loop.blanks_again import KEPT
from training.loop.corpus import read_corpus
from training.loop.objectives import save_network
from training.loop.text_rows import Masking, collate_read, masked, text_rows
from training.measure import again
from training.measure.again import NAMES, TURNS, difference, each_token, measure
from training.measure.family import load_network

TRAINING = {"documents": 3, "tokens": 57, "steps": 9, "epochs": 20.5, "seed": 1, "seconds": 7}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    write_texts(tmp_path)
    (tmp_path / "test.txt").write_text(texts(5, 3))
    size = checkpoint.load_tokenizer(tmp_path).vocab_size
    config = dataclasses.replace(PRESETS["bert-mini"], vocab_size=size, **SIZES)
    for n, name in enumerate(NAMES.values()):
        (tmp_path / name).mkdir()
        save_network(tmp_path / name, config, build_network(config).state_dict())
        (tmp_path / name / "training.json").write_text(json.dumps(TRAINING))
        (tmp_path / name / "log.json").write_text(json.dumps({"validation": [{"step": 3, "loss": n + 0.12345}]}))
    return tmp_path


class Sure(nn.Module):
    """Gives one token 1 and all others 0."""

    def __init__(self, token: int, size: int) -> None:
        super().__init__()
        self.token, self.size = token, size

    def forward(self, ids: torch.Tensor, segments: torch.Tensor, asked: torch.Tensor) -> tuple[torch.Tensor, None]:
        logits = torch.zeros(int(asked.sum()), self.size)
        logits[:, self.token] = 1
        return logits, None


def test_every_masked_token_is_told_and_costs_what_its_probability_says(runs: Path) -> None:
    tokenizer = checkpoint.load_tokenizer(runs)
    documents, size = read_corpus([runs / "test.txt"], tokenizer), tokenizer.vocab_size
    (*_, token) = tokenizer.encode(".")
    right, losses = each_token(Sure(token, size), documents, 32, size)
    assert 0 < right.mean() < 1
    sum_of_all = size - 1 + math.e
    np.testing.assert_allclose(losses, np.where(right == 1, math.log(sum_of_all) - 1, math.log(sum_of_all)), rtol=1e-6)
    rows = masked(
        text_rows(documents, 32, random.Random(0)), size, np.random.default_rng(0), Masking(masked=1.0, random=0.0)
    )
    labels = collate_read(rows)["labels"]
    assert len(right) == int((labels != 0).sum())
    assert right.sum() == int((labels == token).sum())


def test_a_difference_is_taken_token_by_token() -> None:
    first = np.array([1.0, 0, 1, 0]), np.array([1.0, 2, 3, 4])
    second = np.array([1.0, 1, 1, 0]), np.array([0.5, 1, 2.5, 3])
    found = difference(first, second)
    assert found["accuracy"] == [0.25, 0.25]  # 0, 1, 0, 0
    assert found["loss"] == [-0.75, round(np.std([0.5, 1, 0.5, 1], ddof=1) / 2, 4)]


def test_what_is_kept_says_how_each_was_trained(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        sys, "argv", ["x", str(runs), "--test", str(runs / "test.txt"), "--out", str(runs / "kept.json")]
    )
    assert again.main() == 0
    found = json.loads((runs / "kept.json").read_text())
    assert found == json.loads(capsys.readouterr().out) == json.loads(json.dumps(measure(runs, [runs / "test.txt"])))
    assert found["models"].keys() == NAMES.keys()
    assert found["differences"].keys() == TURNS.keys()
    for n, one in enumerate(found["models"].values()):
        assert one["validation"] == [[3, round(n + 0.12345, 4)]]
        assert TRAINING.items() <= one.items()
    for turn, (a, b) in TURNS.items():
        of = {name: found["models"][name]["loss"][0] for name in (a, b)}
        assert found["differences"][turn]["loss"][0] == pytest.approx(of[b] - of[a], abs=2e-4)
    network = load_network(runs / NAMES["pairs, new blanks"])
    documents = read_corpus([runs / "test.txt"], checkpoint.load_tokenizer(runs))
    right, losses = each_token(network, documents, SIZES["max_len"], network.embedding.matrix.num_embeddings)  # type: ignore[arg-type, index]
    one = found["models"]["pairs, new blanks"]
    assert (one["accuracy"][0], one["loss"][0]) == pytest.approx((right.mean(), losses.mean()), abs=1e-4)
    assert one["parameters"] == sum(p.numel() for p in network.parameters())
    assert found["masked_tokens"] == len(right)


def test_each_turn_changes_one_thing_and_in_the_order_it_says() -> None:
    assert NAMES == {
        "pairs, the same blanks": "roberta-pairs-static",
        "pairs, new blanks": "roberta-pairs-dynamic",
        "texts, the same blanks": "roberta-texts-static",
        "texts, new blanks": "roberta-texts-dynamic",
    }
    assert TURNS == {
        "new blanks, with pairs": ("pairs, the same blanks", "pairs, new blanks"),
        "new blanks, with texts alone": ("texts, the same blanks", "texts, new blanks"),
        "no pairs, with the same blanks": ("pairs, the same blanks", "texts, the same blanks"),
        "no pairs, with new blanks": ("pairs, new blanks", "texts, new blanks"),
    }


def test_the_four_that_the_lesson_shows_were_trained_alike() -> None:
    models = json.loads(KEPT.read_text())["models"].values()
    alike = ("documents", "tokens", "steps", "parameters", "seed")
    assert len({tuple(one[what] for what in alike) for one in models}) == 1


@pytest.mark.parametrize(
    ("by", "said"), [(-2.5, "less"), (-1.9, "within the noise"), (1.9, "within the noise"), (2.5, "more")]
)
def test_a_change_is_told_from_noise_at_two_errors(by: float, said: str) -> None:
    assert told(by, 1.0, "more", "less") == said


def test_a_missing_run_is_named(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / NAMES["texts, new blanks"] / "config.json").unlink()
    monkeypatch.setattr(sys, "argv", ["x", str(runs), "--test", str(runs / "test.txt")])
    assert again.main() == 1
    assert "roberta-texts-dynamic" in capsys.readouterr().err
