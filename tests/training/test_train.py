"""A training run learns, and goes on after a kill as if nothing had happened."""

import dataclasses
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from safetensors.torch import load_file
from torch import Tensor, nn

from model import checkpoint
from model.config import PRESETS
from model.tokenizer import PAD_ID
from training import train as training
from training.recipe import RECIPES, Recipe

NAMES, FOODS = ("Tom", "Mary", "John", "Anna", "Peter"), ("apples/Äpfel", "fish/Fisch", "bread/Brot", "cake/Kuchen")
PAIRS = [
    (f"{name} eats {food.split('/')[0]}.", f"{name} isst {food.split('/')[1]}.") for name in NAMES for food in FOODS
]
TINY = dataclasses.replace(RECIPES["tiny"], batch_tokens=50)  # 5 batches an epoch or so: runs cross its border


@pytest.fixture(autouse=True)
def fresh_accelerator() -> Iterator[None]:
    """accelerate keeps its settings for the whole process."""
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{english}\t{german}\n" for english, german in PAIRS), encoding="utf-8")
    return path


def run(data: Path, out: Path, recipe: Recipe, save_every: int = 1000) -> dict[str, object]:
    return training.train("tiny", [data], data, out, recipe, save_every=save_every)


def test_twenty_pairs_are_learned_by_heart(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    recipe = dataclasses.replace(TINY, steps=300, peak_learning_rate=5e-3)
    figures = run(data, out, recipe)
    assert len(PAIRS) == 20
    assert isinstance(figures["validation_loss"], float)
    assert figures["validation_loss"] < 0.3  # nats a token; a guess among 300 pieces would cost 5.7
    assert json.loads((out / "training.json").read_text()) == figures
    model, tokenizer = checkpoint.load(out)
    right = 0
    for english, german in PAIRS:
        src_ids = torch.tensor([[*tokenizer.encode(english), 2]])
        tgt_ids = torch.tensor([[1, *tokenizer.encode(german)]])
        right += tokenizer.decode(model(src_ids, tgt_ids)[0, :-1].argmax(-1).tolist()) == german
    assert right >= 18


def test_the_tiny_preset_learns_within_its_own_steps(data: Path, tmp_path: Path) -> None:
    figures = run(data, tmp_path / "out", RECIPES["tiny"])
    assert figures["steps"] == 40
    vocab_size = checkpoint.load_config(tmp_path / "out").vocab_size
    assert vocab_size < PRESETS["tiny"].vocab_size, "little data fills no large vocabulary"
    assert isinstance(figures["validation_loss"], float)
    assert figures["validation_loss"] < math.log(vocab_size) - 1


class Killed(Exception):
    pass


@pytest.mark.parametrize("killed_at", [7, 10, 12, 19])
def test_a_killed_run_goes_on_to_exactly_the_same_weights(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    """Saved every 5 steps, killed at a step, started again: all weights, averages included, equal to the last bit."""
    recipe = dataclasses.replace(TINY, steps=23)
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    expected = run(data, whole, recipe, save_every=5)

    steps = 0
    batch_loss = training.batch_loss

    def die(model: nn.Module, batch: dict[str, Tensor], label_smoothing: float, reduction: str = "mean") -> Tensor:
        nonlocal steps
        steps += reduction == "mean"
        if steps > killed_at:
            raise Killed
        return batch_loss(model, batch, label_smoothing, reduction)

    with monkeypatch.context() as patch:
        patch.setattr(training, "batch_loss", die)
        with pytest.raises(Killed):
            run(data, resumed, recipe, save_every=5)
    figures = run(data, resumed, recipe, save_every=5)

    for name in ("state/model.safetensors", "model.safetensors"):
        weights, same = load_file(whole / name), load_file(resumed / name)
        assert weights.keys() == same.keys()
        assert all(torch.equal(weights[key], same[key]) for key in weights)
    timed = {"seconds": 0}
    assert figures | timed == expected | timed


def test_a_kill_between_the_two_renames_loses_nothing(tmp_path: Path) -> None:
    state, old = tmp_path / "state", tmp_path / "state.old"
    assert training.find_state(state) is None
    old.mkdir()
    assert training.find_state(state) == old
    state.mkdir()
    assert training.find_state(state) == state


def test_the_best_weights_are_kept_not_the_last(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([3.0, 1.0, 2.0])
    saved = []
    monkeypatch.setattr(training, "validation_loss", lambda *_: next(losses))
    monkeypatch.setattr(training.checkpoint, "save", lambda *_: saved.append(len(saved)))
    run(data, tmp_path / "out", dataclasses.replace(TINY, steps=3), save_every=1)
    assert len(saved) == 2


class FixedLogits(nn.Module):
    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, src_ids: Tensor, tgt_ids: Tensor) -> Tensor:
        return self.logits


def test_the_loss_by_hand() -> None:
    """Two tokens of probability 1/2 and 1/4, and padding that does not count: (ln 2 + ln 4) / 2."""
    probabilities = torch.tensor([[[0.1, 0.2, 0.2, 0.5], [0.25, 0.25, 0.25, 0.25], [0.97, 0.01, 0.01, 0.01]]])
    batch = {"src_ids": torch.empty(0), "tgt_ids": torch.empty(0), "labels": torch.tensor([[3, 2, PAD_ID]])}
    model = FixedLogits(probabilities.log())
    assert training.batch_loss(model, batch, 0.0).item() == pytest.approx(1.5 * math.log(2))
    assert training.batch_loss(model, batch, 0.0, "sum").item() == pytest.approx(3 * math.log(2))
    smoothed = -(0.9 * math.log(1 / 2) + 0.1 * sum(map(math.log, (0.1, 0.2, 0.2, 0.5))) / 4)
    smoothed += -(0.9 * math.log(1 / 4) + 0.1 * math.log(1 / 4))
    assert training.batch_loss(model, batch, 0.1, "sum").item() == pytest.approx(smoothed)


def test_the_validation_loss_is_a_mean_over_tokens_not_over_batches(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(data, out, dataclasses.replace(TINY, steps=2))
    model, tokenizer = checkpoint.load(out)
    total = tokens = 0.0
    for english, german in PAIRS:
        labels = [*tokenizer.encode(german), 2]
        src_ids, tgt_ids = [*tokenizer.encode(english), 2], [1, *labels[:-1]]
        log_probabilities = model(torch.tensor([src_ids]), torch.tensor([tgt_ids])).log_softmax(-1)
        total -= sum(log_probabilities[0, t, label].item() for t, label in enumerate(labels))
        tokens += len(labels)
    AcceleratorState._reset_state(reset_partial_state=True)
    accelerator = Accelerator(mixed_precision="no", cpu=True)
    loss = training.validation_loss(model, PAIRS, tokenizer, 256, accelerator)
    assert loss == pytest.approx(total / tokens, abs=1e-4)
