"""Training the readers: the texts, the loss, a run that learns and that goes on after a kill."""

import dataclasses
import itertools
import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from model.families.readers import READERS, SHIPPED, UNTRAINED, Readers, ReadersConfig, load_readers, untrained_readers
from model.text.tokenizer import EOS_ID
from tests.training.conftest import Killed, killed_after, same_weights
from training import recurrent as training
from training.measure import distances
from training.recurrent import Texts

pytestmark = pytest.mark.slow  # trains

CONFIG = ReadersConfig(vocab_size=43, d_model=18, max_len=64)
RECIPE, TEXTS = training.readers_recipe(steps=23, warmup_steps=3), Texts(batch_size=4, max_tokens=17, joined=(1, 2))
SENTENCES = [[3 + (7 * n + i) % 40 for i in range(2 + n % 5)] for n in range(30)]


def test_a_text_is_a_sentence_with_perhaps_others_behind_it() -> None:
    rows = training.join(SENTENCES, dataclasses.replace(TEXTS, joined=(1, 2, 2)), random.Random(0))
    assert len(rows) == len(SENTENCES)
    joined = 0
    for sentence, row in zip(SENTENCES, rows, strict=True):
        assert row[-1] == EOS_ID
        assert row[: len(sentence)] == sentence
        rest = row[len(sentence) : -1]
        assert not rest or rest in SENTENCES
        joined += bool(rest)
    assert 15 <= joined <= 25


def test_too_long_texts_are_left_out() -> None:
    rows = training.join(SENTENCES, dataclasses.replace(TEXTS, joined=(1,), max_tokens=4), random.Random(0))
    assert [row[:-1] for row in rows] == [sentence for sentence in SENTENCES if len(sentence) <= 4]


def test_every_text_is_in_one_batch_and_every_batch_has_one_length() -> None:
    rows = [[n, *[5] * (n % 3)] for n in range(30)]
    batches = training.equal_length_batches(rows, 4, random.Random(0))
    assert sorted(row for ids in batches for row in ids.tolist()) == sorted(rows)
    assert Counter(len(ids) for ids in batches) == {4: 6, 2: 3}  # ten texts of each length
    again = training.equal_length_batches(rows, 4, random.Random(1))
    assert [ids.tolist() for ids in again] != [ids.tolist() for ids in batches]


def test_the_three_losses_are_added() -> None:
    readers, ids = Readers(CONFIG), torch.tensor([[5, 6, 7, 2], [8, 9, 10, 2]])
    expected = sum(training.recall_loss(readers(ids, name), ids).item() for name in READERS)
    assert training.all_readers(readers, {"labels": ids}).item() == pytest.approx(expected)


def test_the_loss_by_hand() -> None:
    """A text of two tokens with probabilities 1/2 and 1/4: (ln 2 + ln 4) / 2. `<eos>`, at 1/8, does not count."""
    logits = torch.tensor([[0.125, 0, 0.125, 0.5, 0.25]]).log()
    assert training.recall_loss(logits, torch.tensor([[3, 4, 2]])).item() == pytest.approx(1.5 * math.log(2))


def test_all_three_learn(tmp_path: Path) -> None:
    recipe = dataclasses.replace(RECIPE, steps=400, peak_learning_rate=1e-2)
    training.train(SENTENCES, CONFIG, tmp_path, recipe, TEXTS)
    readers = load_readers(tmp_path).model
    shares = training.recall(readers, SENTENCES, n_texts=5)
    untrained = training.recall(Readers(CONFIG), SENTENCES, n_texts=5)
    began_with = load_readers(tmp_path / UNTRAINED).model
    for name, weight in untrained_readers(CONFIG).state_dict().items():
        assert torch.equal(began_with.state_dict()[name], weight.half().float()), name
    for name in READERS:
        assert shares[name]["sentences"] > 0.9, name
        assert untrained[name]["sentences"] < 0.5, name


@pytest.mark.parametrize("killed_at", [4, 7, 16])
def test_a_killed_run_goes_on_to_exactly_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    """Saved every 5 steps, killed, started again: all weights equal to the last bit."""
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    training.train(SENTENCES, CONFIG, whole, RECIPE, TEXTS, save_every=5)
    with monkeypatch.context() as patch:
        patch.setattr(training, "recall_loss", killed_after(killed_at * len(READERS), training.recall_loss))
        with pytest.raises(Killed):
            training.train(SENTENCES, CONFIG, resumed, RECIPE, TEXTS, save_every=5)
    training.train(SENTENCES, CONFIG, resumed, RECIPE, TEXTS, save_every=5)
    assert same_weights(whole / "model.safetensors", resumed / "model.safetensors")


def test_processor_time_before_a_kill_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on 3 seconds with each batch: 10 steps, then a new start for the other 13."""
    now, recall_loss = 0.0, training.all_readers

    def slow(readers: Any, batch: Any) -> torch.Tensor:
        nonlocal now
        now += 3
        return recall_loss(readers, batch)

    monkeypatch.setattr("time.process_time", lambda: now)
    monkeypatch.setattr(training, "all_readers", slow)
    ten = dataclasses.replace(RECIPE, steps=10)
    assert training.train(SENTENCES, CONFIG, tmp_path, ten, TEXTS, save_every=5) == 30
    now = 1000.0  # another process, another clock
    assert training.train(SENTENCES, CONFIG, tmp_path, RECIPE, TEXTS, save_every=5) == 30 + 39


def test_a_window_is_a_run_of_tokens_from_the_sentences() -> None:
    rng, joined = random.Random(0), [1, 2, 3, 4, 5, 6, 7]
    for length in (1, 3, 20):
        for _ in range(50):
            row = training.window([joined], length, rng)
            assert row[-1] == EOS_ID
            assert len(row) == length + 1
            start = row[0] - 1
            assert row[:-1] == [(start + i) % 7 + 1 for i in range(length)]


def test_recall_is_measured_on_the_parts_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in remembers the first half of every text, so of its first quarter all and of its last nothing."""

    def first_half(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        length = ids.size(1) - 1
        return (torch.arange(length) < length / 2).expand(len(ids), length)

    monkeypatch.setattr(training, "remembered", first_half)
    figures = training.recall(Readers(CONFIG), SENTENCES, n_texts=3)["lstm"]
    assert figures["10"] == {"all": 0.5, "first quarter": 1.0, "last quarter": 0.0}
    halves = [math.ceil(len(sentence) / 2) for sentence in SENTENCES]
    assert figures["sentences"] == round(sum(halves) / sum(map(len, SENTENCES)), 3)


def test_a_share_has_three_digits() -> None:
    assert training.share(torch.tensor([True, False, False])) == 0.333
    assert training.share(torch.tensor([[True, False], [True, True], [True, True]])) == 0.833


def test_the_first_token_is_learned_where_it_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = dataclasses.replace(RECIPE, steps=150, warmup_steps=10, peak_learning_rate=1e-2)
    monkeypatch.setattr(distances, "RECIPE", recipe)
    monkeypatch.setattr(distances, "ReadersConfig", lambda: CONFIG)
    monkeypatch.setattr(distances, "N_TEST", 200)
    for name in READERS:
        assert distances.learn_the_first(name, 2, 1, SENTENCES, SENTENCES) > 0.9, name
        # Of pieces that it never met it knows nothing: what counts is how it does on the new texts.
        seen, others = ([s for s in SENTENCES if max(s) < 30], [s for s in SENTENCES if min(s) >= 30])
        assert distances.learn_the_first(name, 2, 1, seen, others) < 0.1, name


def test_a_guess_is_right_as_often_as_the_most_frequent_first_token() -> None:
    assert distances.most_frequent(3, [[7, 7, 7, 8]]) == pytest.approx(0.75, abs=0.05)


def test_the_shipped_figures_are_of_these_recipes() -> None:
    metrics = json.loads((SHIPPED / "metrics.json").read_text())
    assert metrics["training"]["recipe"] == training.recipe_figures(training.RECIPE)
    assert metrics["training"]["texts"] == json.loads(json.dumps(dataclasses.asdict(Texts())))
    assert list(metrics["test"]["recall"]) == list(READERS)
    far = json.loads((SHIPPED / "distances.json").read_text())
    expected = training.recipe_figures(distances.RECIPE) | {"batch_size": distances.BATCH_SIZE}
    assert far.pop("recipe") == expected
    assert list(far) == [*map(str, distances.DISTANCES), "40, twice the steps"]
    assert all(len(runs[name]) == len(distances.SEEDS) for runs in far.values() for name in READERS)


def test_the_shipped_card_says_the_shipped_figures() -> None:
    metrics = json.loads((SHIPPED / "metrics.json").read_text())
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    assert card == training.card(SHIPPED, metrics)
    recall = metrics["test"]["recall"]["lstm"]
    row = next(line for line in card.splitlines() if line.startswith("| LSTM"))
    assert row.split(" | ")[1] == f"{recall['sentences']:.2f}"
    ten = recall["10"]
    assert row.split(" | ")[3] == f"{ten['all']:.2f}: {ten['first quarter']:.2f}, {ten['last quarter']:.2f}"


def test_both_commands_write_what_they_promise(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, recall = tmp_path / "readers", training.recall
    monkeypatch.setattr(training, "recall", lambda readers, sentences: recall(readers, sentences[:3], n_texts=2))
    monkeypatch.setattr("sys.argv", ["", str(data), "--test", str(data), "--out", str(out), "--steps", "2"])
    training.main()
    assert {path.name for path in out.iterdir()} == {
        "model.safetensors", "config.json", "metrics.json", "README.md", "untrained",
    }  # fmt: skip
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["training"]["sentences"] == metrics["test"]["sentences"] == 20
    assert metrics["training"]["recipe"]["steps"] == 2

    runs: list[tuple[str, int, int]] = []

    def one_run(name: str, distance: int, seed: int, sentences: object, unseen: object, times: int) -> float:
        runs.append((name, times * distance, seed))  # twice the steps for 40 are written as 80
        return 0.25

    monkeypatch.setattr(distances, "learn_the_first", one_run)
    monkeypatch.setattr("sys.argv", ["", str(data), "--test", str(data), "--out", str(out)])
    distances.main()
    assert set(runs) == set(itertools.product(READERS, (2, 5, 10, 20, 40, 80), distances.SEEDS))
    assert len(runs) == len(set(runs))
    far = json.loads((out / "distances.json").read_text())
    del far["5"]["lstm"][1:]  # as if it had been killed
    (out / "distances.json").write_text(json.dumps(far))
    runs.clear()
    distances.main()
    assert runs == [("lstm", 5, 2), ("lstm", 5, 3)]
    capsys.readouterr()
