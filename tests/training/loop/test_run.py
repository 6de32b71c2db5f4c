"""A training run learns, does what its recipe says, and goes on after a kill as if nothing had happened."""

import dataclasses
import itertools
import json
import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from model.build import build_model
from model.config import PRESETS
from model.files import checkpoint
from model.text.tokenizer import EOS_ID, PAD_ID, SOS_ID, Tokenizer
from tests.training.conftest import PAIRS, Killed, killed_after, same_weights, write_pairs
from training.loop import resumable_run as running
from training.loop.data import Variation, epoch_loader, read_pairs
from training.loop.recipe import RECIPES, Recipe
from training.loop.resumable_run import Evaluation, Run, Task
from training.loop.updates import Step

TINY = dataclasses.replace(RECIPES["tiny"], batch_tokens=50)  # 5 batches an epoch or so: runs cross its border


def run(data: Path, out: Path, recipe: Recipe, save_every: int = 1000) -> dict[str, Any]:
    """Train to the end; returns the figures of the run."""
    for _ in Run(Task("tiny", [data], data, out, recipe)).records(save_every):
        pass
    return json.loads((out / "training.json").read_text())


@pytest.mark.slow
def test_twenty_pairs_are_learned_by_heart(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    figures = run(data, out, dataclasses.replace(TINY, steps=300, peak_learning_rate=5e-3))
    assert len(PAIRS) == 20
    assert figures["validation_loss"] < 0.3  # nats a token; a guess among 300 pieces would cost 5.7
    model, tokenizer = checkpoint.load(out)
    right = 0
    for english, german in PAIRS:
        src_ids = torch.tensor([[*tokenizer.encode(english), EOS_ID]])
        tgt_ids = torch.tensor([[SOS_ID, *tokenizer.encode(german)]])
        right += tokenizer.decode(model(src_ids, tgt_ids)[0, :-1].argmax(-1).tolist()) == german
    assert right >= 18


RECIPE = Recipe(
    steps=12,
    batch_tokens=50,
    peak_learning_rate=0.01,
    warmup_steps=3,
    decay_fraction=0.5,
    label_smoothing=0.3,
    max_grad_norm=1.1,
    average_decay=0.6,
    variation=Variation(0.3, 0.3, 0.3, 0.3, 0.3),
)
SEED = 6


def replayed(pairs: list[tuple[str, str]], tokenizer: Tokenizer, preset: str) -> list[dict[str, Any]]:
    """The same training in plain PyTorch, without the loop, accelerate or a generator; a row a step."""
    random.seed(SEED)
    torch.manual_seed(SEED)
    config = dataclasses.replace(PRESETS[preset], vocab_size=tokenizer.vocab_size)
    model = build_model(config).train()
    weights = dict(model.named_parameters())
    m, v = ({name: torch.zeros_like(w) for name, w in weights.items()} for _ in "mv")
    average: dict[str, Tensor] = {}
    rows: list[dict[str, Any]] = []
    for epoch in itertools.count():
        for batch in epoch_loader(pairs, tokenizer, 50, RECIPE.variation, SEED, epoch, config.max_len):
            t = len(rows) + 1
            if t > RECIPE.steps:
                return rows
            labels = batch["labels"]
            log_probabilities = model(batch["src_ids"], batch["tgt_ids"]).log_softmax(-1)[labels != PAD_ID]
            right = log_probabilities.gather(-1, labels[labels != PAD_ID][:, None]).mean()
            loss = -(0.7 * right + 0.3 * log_probabilities.mean())
            gradients = dict(zip(weights, torch.autograd.grad(loss, list(weights.values())), strict=True))
            norm = math.sqrt(sum(float((g**2).sum()) for g in gradients.values()))
            rate = 0.01 * min(1, t / 3, (13 - t) / 6)
            with torch.no_grad():
                for name, w in weights.items():
                    g = gradients[name] * min(1, 1.1 / norm)
                    m[name] = 0.9 * m[name] + 0.1 * g
                    v[name] = 0.98 * v[name] + 0.02 * g**2
                    w -= rate * (m[name] / (1 - 0.9**t)) / ((v[name] / (1 - 0.98**t)).sqrt() + 1e-9)
                    average[name] = 0.6 * average[name] + 0.4 * w if t > 1 else w.clone()
            rows.append(
                {
                    "loss": loss.item(),
                    "gradient_norm": norm,
                    "learning_rate": rate,
                    "target_tokens": int((labels != PAD_ID).sum()),
                    "weights": {name: w.detach().clone() for name, w in weights.items()},
                    "average": dict(average),
                }
            )
    raise AssertionError


@pytest.fixture
def full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "pick_precision", lambda: "no")


def close(weights: Mapping[str, Tensor], expected: Mapping[str, Tensor], tolerance: float) -> bool:
    assert weights.keys() == expected.keys()
    return all(torch.allclose(weights[name].float(), expected[name], atol=tolerance) for name in expected)


def mean_loss(weights: Mapping[str, Tensor], tokenizer: Tokenizer, pairs: list[tuple[str, str]]) -> float:
    """Nats a token of a tiny model with these weights, one sentence at a time."""
    model = build_model(dataclasses.replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size)).eval()
    model.load_state_dict(dict(weights))
    total = tokens = 0.0
    for english, german in pairs:
        labels = [*tokenizer.encode(german), EOS_ID]
        src_ids, tgt_ids = [*tokenizer.encode(english), EOS_ID], [SOS_ID, *labels[:-1]]
        log_probabilities = model(torch.tensor([src_ids]), torch.tensor([tgt_ids]))[0].log_softmax(-1)
        total -= sum(log_probabilities[t, label].item() for t, label in enumerate(labels))
        tokens += len(labels)
    return total / tokens


@pytest.mark.usefixtures("full_precision")
def test_a_run_does_what_its_recipe_says(data: Path, tmp_path: Path) -> None:
    """Beside a second training, written out: every step's record, the weights, their average, the validation."""
    more_pairs = [("Mary sees fish.", "Mary sieht Fisch.")] * 3
    valid_pairs = [("Tom eats.", "Tom isst."), ("Go!", "Geh!")]
    more, valid = write_pairs(tmp_path / "more.tsv", more_pairs), write_pairs(tmp_path / "valid.tsv", valid_pairs)
    out = tmp_path / "out"
    records = list(Run(Task("tiny", [data, more], valid, out, RECIPE, SEED)).records(save_every=5))
    assert [(type(record), record.step) for record in records] == [
        *[(Step, n) for n in range(1, 6)],
        (Evaluation, 5),
        *[(Step, n) for n in range(6, 11)],
        (Evaluation, 10),
        *[(Step, n) for n in (11, 12)],
        (Evaluation, 12),
    ]

    tokenizer = checkpoint.load_tokenizer(out)
    rows = replayed([*PAIRS, *more_pairs], tokenizer, "tiny")
    for record, row in zip([r for r in records if isinstance(r, Step)], rows, strict=True):
        written = dataclasses.asdict(record)
        del written["step"]
        assert written == pytest.approx({name: row[name] for name in written}, rel=1e-3)
    assert min(r["gradient_norm"] for r in rows) < RECIPE.max_grad_norm < max(r["gradient_norm"] for r in rows)
    assert close(load_file(out / "state" / "model.safetensors"), rows[-1]["weights"], 1e-3)

    losses = {n: mean_loss(rows[n - 1]["average"], tokenizer, valid_pairs) for n in (5, 10, 12)}
    evaluations = [record for record in records if isinstance(record, Evaluation)]
    lowest = [losses[n] == min(losses[m] for m in losses if m <= n) for n in losses]
    for evaluation, is_best in zip(evaluations, lowest, strict=True):
        assert evaluation.validation_loss == pytest.approx(losses[evaluation.step], abs=1e-3)
        assert evaluation.target_tokens == sum(row["target_tokens"] for row in rows[: evaluation.step])
        assert evaluation.is_best == is_best
    kept = load_file(out / "model.safetensors")
    assert {w.dtype for w in kept.values()} == {torch.float16}
    assert close(kept, rows[min(losses, key=losses.__getitem__) - 1]["average"], 2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("killed_at", [3, 7, 10, 19])
def test_a_killed_run_goes_on_to_exactly_the_same_weights(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    """Saved every 5 steps, killed at a step, started again: all weights, averages included, equal to the last bit."""
    recipe = dataclasses.replace(TINY, steps=23)
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    expected = run(data, whole, recipe, save_every=5)

    with monkeypatch.context() as patch:
        patch.setattr(running, "batch_loss", killed_after(killed_at, running.batch_loss))
        with pytest.raises(Killed):
            run(data, resumed, recipe, save_every=5)
    figures = run(data, resumed, recipe, save_every=5)

    for name in ("state/model.safetensors", "model.safetensors"):
        assert same_weights(whole / name, resumed / name)
    timed = {"seconds": 0}
    assert figures | timed == expected | timed


def test_a_run_goes_on_where_the_saved_state_was(data: Path, tmp_path: Path) -> None:
    task = Task("tiny", [data], data, tmp_path / "out", dataclasses.replace(TINY, steps=9))
    records = Run(task).records(save_every=3)
    assert [next(records).step for _ in range(6)] == [1, 2, 3, 3, 4, 5]
    records.close()
    spent = Run(task).clock
    assert (spent.step, spent.best_step) == (3, 3)
    assert spent.seconds > 0
    assert [record.step for record in Run(task).records(save_every=3)] == [4, 5, 6, 6, 7, 8, 9, 9]
    assert list(Run(task).records()) == [], "a run that has ended makes no further step"
    longer = dataclasses.replace(task, recipe=dataclasses.replace(task.recipe, steps=11))
    assert [record.step for record in Run(longer).records()] == [10, 11, 11]


def test_a_reversed_run_reads_german_and_writes_english(data: Path, tmp_path: Path) -> None:
    task = Task("tiny", [data], data, tmp_path / "out", dataclasses.replace(TINY, steps=1), reverse=True)
    subject = Run(task).subject
    assert subject.figures()["reversed"]
    assert subject.pairs == subject.valid_pairs == [(german, english) for english, german in read_pairs([data])]


@pytest.mark.parametrize("name", ["state", "state.old"])
def test_the_state_is_found_after_a_kill_between_the_renames(data: Path, tmp_path: Path, name: str) -> None:
    task = Task("tiny", [data], data, tmp_path / "out", dataclasses.replace(TINY, steps=4))
    list(Run(task).records())
    (task.out / "state").rename(task.out / name)
    assert Run(task).clock.step == 4


def test_half_a_state_left_by_a_kill_is_overwritten(data: Path, tmp_path: Path) -> None:
    task = Task("tiny", [data], data, tmp_path / "out", dataclasses.replace(TINY, steps=2))
    (task.out / "state.new").mkdir(parents=True)
    (task.out / "state.new" / "half").touch()
    list(Run(task).records())
    assert not (task.out / "state" / "half").exists()
    assert {path.name for path in task.out.iterdir()} == {
        "state", "training.json", "config.json", "tokenizer.json", "model.safetensors",
    }  # fmt: skip


def test_half_a_vocabulary_left_by_a_kill_is_not_used(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task("tiny", [data], data, tmp_path / "out", dataclasses.replace(TINY, steps=2))
    save = Tokenizer.save

    def half(tokenizer: Tokenizer, path: Path) -> None:
        save(tokenizer, path)
        path.write_bytes(path.read_bytes()[:1000])
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Tokenizer, "save", half)
        with pytest.raises(Killed):
            list(Run(task).records())
    assert len(list(Run(task).records())) == 3


def test_the_vocabulary_is_made_of_both_sides_of_the_training_pairs_alone(data: Path, tmp_path: Path) -> None:
    pairs = [("abcd", "xyzu")] * 9
    train, valid = (
        write_pairs(tmp_path / "train.tsv", pairs),
        write_pairs(tmp_path / "valid.tsv", [("mnop", "mnop")] * 9),
    )
    tokenizer = Run(Task("tiny", [train], valid, tmp_path / "out", TINY)).subject.tokenizer
    assert [len(tokenizer.encode(word)) for word in ("abcd", "xyzu", "mnop")] == [1, 1, 5]


def test_the_best_weights_are_kept_not_the_last(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([3.0, 1.0, 2.0, 1.0])
    saved = []
    monkeypatch.setattr(running, "validation_loss", lambda *_: next(losses))
    monkeypatch.setattr(running.checkpoint, "save", lambda out, *_: saved.append(out))
    task = Task("tiny", [data], data, tmp_path / "out", dataclasses.replace(TINY, steps=4))
    evaluations = [record for record in Run(task).records(save_every=1) if isinstance(record, Evaluation)]
    assert [evaluation.is_best for evaluation in evaluations] == [True, True, False, False]
    assert [evaluation.validation_loss for evaluation in evaluations] == [3, 1, 2, 1]
    assert saved == [task.out] * 2
    figures = json.loads((task.out / "training.json").read_text())
    assert (figures["validation_loss"], figures["kept_step"], figures["steps"]) == (1.0, 2, 4)


def test_the_figures_of_a_run(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "pick_precision", lambda: "bf16")
    out, recipe = tmp_path / "out", dataclasses.replace(RECIPE, steps=7)
    more = write_pairs(tmp_path / "more.tsv", [("Go!", "Geh!")])
    *_, last = Run(Task("tiny", [data, more], data, out, recipe, seed=3)).records()
    figures = json.loads((out / "training.json").read_text())
    tokenizer = checkpoint.load_tokenizer(out)
    epochs = [
        list(epoch_loader([*PAIRS, ("Go!", "Geh!")], tokenizer, 50, recipe.variation, 3, epoch, 256))
        for epoch in (0, 1)
    ]
    assert len(epochs[0]) < 7 < len(epochs[0]) + len(epochs[1])
    used = [*epochs[0], *epochs[1]][:7]
    assert isinstance(last, Evaluation)
    assert last.epochs == pytest.approx(1 + (7 - len(epochs[0])) / len(epochs[1]))
    assert figures == {
        "preset": "tiny",
        "parts": {},
        "reversed": False,
        "balance": 0.0,
        "data": "pairs.tsv, more.tsv",
        "pairs": 21,
        "steps": 7,
        "epochs": round(last.epochs, 2),
        "target_tokens": sum(int((batch["labels"] != PAD_ID).sum()) for batch in used),
        "seconds": round(last.seconds),
        "device": "cpu",
        "hardware": running.hardware(),
        "precision": "bf16",
        "seed": 3,
        "validation_loss": round(last.validation_loss, 4),
        "kept_step": 7,
        "recipe": dataclasses.asdict(recipe),
    }


def test_the_readers_time_and_the_evaluations_do_not_count(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that stands still, but for 7 in each step, 100 in each evaluation and 1000 at each record read."""
    now = 0.0
    batch_loss, validation_loss = running.batch_loss, running.validation_loss

    def passing(seconds: float, function: Any) -> Any:
        def slow(*args: Any, **kwargs: Any) -> Any:
            nonlocal now
            now += seconds
            return function(*args, **kwargs)

        return slow

    monkeypatch.setattr(running.time, "perf_counter", lambda: now)
    monkeypatch.setattr(running, "batch_loss", passing(7, batch_loss))
    monkeypatch.setattr(running, "validation_loss", passing(100, validation_loss))
    task = Task("tiny", [data], data, tmp_path / "out", dataclasses.replace(TINY, steps=4))
    seconds = []
    for record in Run(task).records(save_every=2):
        now += 1000
        seconds += [record.seconds] if isinstance(record, Evaluation) else []
    assert seconds == [14, 28]
    assert json.loads((task.out / "training.json").read_text())["seconds"] == 28


def test_the_state_is_saved_at_least_once_a_minute(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of 25 seconds: the state is saved after the third, the fifth (an evaluation), the eighth."""
    now = 0.0
    batch_loss = running.batch_loss

    def slow(*args: Any, **kwargs: Any) -> Any:
        nonlocal now
        now += 25
        return batch_loss(*args, **kwargs)

    monkeypatch.setattr(running.time, "perf_counter", lambda: now)
    monkeypatch.setattr(running, "batch_loss", slow)
    task = Task("tiny", [data], data, tmp_path / "out", dataclasses.replace(TINY, steps=9))
    saved_at = {}
    records = Run(task).records(save_every=5)
    for record in itertools.islice(records, 9):
        saved_at[record.step] = Run(task).clock.step
    assert saved_at == {1: 0, 2: 0, 3: 0, 4: 3, 5: 5, 6: 5, 7: 5, 8: 5}


def test_parts_make_another_model_of_the_preset(data: Path, tmp_path: Path) -> None:
    parts = {"positions": "learned", "activation": "swiglu"}
    task = Task("tiny", [data], data, tmp_path / "out", dataclasses.replace(TINY, steps=1), parts=parts)
    list(Run(task).records())
    config = checkpoint.load_config(task.out)
    assert config == dataclasses.replace(PRESETS["tiny"], vocab_size=config.vocab_size, **parts)
    assert json.loads((task.out / "training.json").read_text())["parts"] == parts
    checkpoint.load(task.out)


@pytest.mark.parametrize(
    ("cuda", "bf16_there", "bf16_cpu", "expected"),
    [(True, True, False, "bf16"), (True, False, True, "no"), (False, False, True, "bf16"), (False, True, False, "no")],
)
def test_half_precision_only_where_the_hardware_has_it(
    monkeypatch: pytest.MonkeyPatch, cuda: bool, bf16_there: bool, bf16_cpu: bool, expected: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: bf16_there)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: bf16_cpu)
    assert running.pick_precision() == expected


def test_the_hardware_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    monkeypatch.setattr(running.platform, "machine", lambda: "abacus")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert running.hardware() == "7 CPU cores (abacus)"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Big GPU")
    assert running.hardware() == "Big GPU"
