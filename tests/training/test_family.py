"""The command for the family: it learns, does what its recipes say, and goes on after a kill as if nothing had been."""

import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from model.files import checkpoint
from model.files.loaded_model import MODELS
from model.text.tokenizer import MORE_SPECIALS, SOS_ID, SPECIALS, Tokenizer
from tests.training.conftest import Killed, killed_after, same_weights
from tests.training.family_text import LEARNED, RECIPE, family_task, shrink, write_texts
from training import family
from training.family import RECIPES, FamilyTask, records
from training.loop import resumable_run
from training.loop.data import NO_VARIATION
from training.loop.resumable_run import Evaluation, Run
from training.loop.updates import DivergedError, Step
from training.measure.family import load_network

pytestmark = pytest.mark.slow  # trains

WEIGHTS = ("state/model.safetensors", "model.safetensors")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    shrink(monkeypatch)
    monkeypatch.setattr(resumable_run, "pick_precision", lambda: "no")
    return write_texts(tmp_path)


def train(task: FamilyTask, save_every: int = 1000) -> list[Step | Evaluation]:
    return list(records(Run(task), save_every))


@pytest.mark.parametrize("name", LEARNED)
def test_a_killed_run_goes_on_to_exactly_the_same_weights(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Saved every 7 steps, killed at step 13, started again: all weights equal to the last bit, and so is the log."""
    whole, resumed = (family_task(name, files, tmp_path) for _ in range(2))
    train(whole, 7)
    whole.out.rename(tmp_path / "whole")
    learner = type(family.LEARNERS[name](resumed))
    loss, dying = learner.loss, killed_after(13, learner.loss)
    with monkeypatch.context() as patch:
        # Validation needs the loss too.
        patch.setattr(learner, "loss", lambda *args: (dying if args[1].training else loss)(*args))
        with pytest.raises(Killed):
            train(resumed, 7)
    assert train(resumed, 7)[0].step == 8
    for file in WEIGHTS:
        assert same_weights(tmp_path / "whole" / file, resumed.out / file)
    logs = [json.loads((folder / "log.json").read_text())["steps"] for folder in (tmp_path / "whole", resumed.out)]
    assert logs[0] == logs[1]
    assert [row["step"] for row in logs[0]] == [1, 10, 20]


@pytest.mark.parametrize(
    ("name", "steps", "limit"), [("gpt-mini", 300, 1.7), ("lstm", 300, 2.0), ("bert-mini", 500, 2.6)]
)
def test_each_that_reads_texts_learns(
    files: tuple[Path, Path], tmp_path: Path, name: str, steps: int, limit: float
) -> None:
    """From what a blind guess costs to much less, on texts that it has not seen; what is kept is opened again."""
    recipe = dataclasses.replace(RECIPE, steps=steps, warmup_steps=50, average_decay=0.95)
    task = dataclasses.replace(family_task(name, files, tmp_path), recipe=recipe)
    evaluations = [one for one in train(task, steps // 2) if isinstance(one, Evaluation)]
    assert evaluations[-1].validation_loss < limit
    figures = json.loads((task.out / "training.json").read_text())
    assert (figures["name"], figures["steps"], figures["recipe"]["steps"]) == (name, steps, steps)
    kept = load_file(task.out / "model.safetensors")
    assert {weight.dtype for weight in kept.values()} == {torch.float16}
    network = load_network(task.out)
    assert all(torch.equal(kept[key].float(), weight) for key, weight in network.state_dict().items())
    if name != "bert-mini":  # which has guessed too little in so few steps
        assert knows_what_one_paints(network, checkpoint.load_tokenizer(tmp_path))


@torch.inference_mode()
def knows_what_one_paints(network: Any, tokenizer: Tokenizer) -> bool:
    """Whether "Tom paints the" goes on with "moon"."""
    moon, *_ = tokenizer.encode("moon")
    before = tokenizer.encode("Mary sees bread. Tom paints the")
    return int(network(torch.tensor([[SOS_ID, *before]]))[0, -1].argmax()) == moon


def test_the_recipes_numbers() -> None:
    """All that learn to write are compared, so they learn from equally many tokens at one rate; texts stay as is."""
    assert RECIPES.keys() == family.LEARNERS.keys()
    assert all(RECIPES[name] == RECIPES["gpt-mini"] for name in ("gpt-linear", "gpt-squeezed", "lstm"))
    assert {recipe.variation for recipe in RECIPES.values()} == {NO_VARIATION}
    assert {recipe.label_smoothing for recipe in RECIPES.values()} == {0.0}
    for recipe in RECIPES.values():
        assert recipe.warmup_steps < recipe.steps * (1 - recipe.decay_fraction)


def test_the_shipped_models_learned_by_these_recipes() -> None:
    for name, recipe in RECIPES.items():
        if name == "gpt-squeezed":  # whose weights are not shipped
            continue
        training = json.loads((MODELS / name / "metrics.json").read_text())["training"]
        assert (training["recipe"], training["steps"]) == (dataclasses.asdict(recipe), recipe.steps), name
    tokenizer = checkpoint.load_tokenizer(MODELS / "gpt-mini")
    assert tokenizer.vocab_size == family.VOCAB_SIZE
    assert [token.text for token in tokenizer.tokens(range(6))] == [*SPECIALS, *MORE_SPECIALS]


# --- the command ------------------------------------------------------------------------------------------------------


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["family", *map(str, arguments)])
    return family.main()


def test_first_the_tokenizer_then_a_model(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    train_file, valid, out = *files, tmp_path / "family"
    typed = ("--data", train_file, "--valid", valid, "--out", out)
    monkeypatch.setitem(RECIPES, "gpt-mini", RECIPE)
    assert call(monkeypatch, "gpt-mini", *typed) == 1
    assert "tokenizer.json is missing: first run the same command for the tokenizer" in capsys.readouterr().err
    assert call(monkeypatch, "tokenizer", "--data", train_file, "--out", out) == 0
    size = checkpoint.load_tokenizer(out).vocab_size
    assert capsys.readouterr().out == f"{size} entries in {out / 'tokenizer.json'}\n"
    first = [token.text for token in checkpoint.load_tokenizer(out).tokens(range(6))]
    assert first == [*SPECIALS, *MORE_SPECIALS]
    assert call(monkeypatch, "gpt-mini", *typed, "--steps", 3, "--seed", 7, "--save-every", 2) == 0
    figures = json.loads((out / "gpt-mini" / "training.json").read_text())
    assert (figures["steps"], figures["recipe"]["steps"], figures["seed"]) == (3, 3, 7)
    assert {path.name for path in (out / "gpt-mini").iterdir()} == {
        "config.json", "log.json", "model.safetensors", "state", "training.json",
    }  # fmt: skip
    assert [row["step"] for row in json.loads((out / "gpt-mini" / "log.json").read_text())["validation"]] == [2, 3]
    assert "step 3: validation loss" in " ".join(capsys.readouterr().out.split())


def test_what_is_typed_reaches_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[FamilyTask, int]] = []
    threads: list[int] = []

    class Idle:
        def __init__(self, task: FamilyTask) -> None:
            self.task, self.accelerator = task, type("One", (), {"is_main_process": True})

    def idle_records(run: Any, save_every: int) -> Iterator[Step]:
        asked.append((run.task, save_every))
        return iter(())

    monkeypatch.setattr(family, "Run", Idle)
    monkeypatch.setattr(family, "records", idle_records)
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    a, b, v = Path("a.txt"), Path("b.tsv"), Path("v.txt")
    assert call(monkeypatch, "bert-mini", "--data", a, b, "--valid", v, "--out", tmp_path, "--threads", 1) == 0
    assert call(monkeypatch, "in-context", "--out", tmp_path) == 0
    assert asked == [
        (FamilyTask("bert-mini", (a, b), (v,), tmp_path, RECIPES["bert-mini"], 1), 500),
        (FamilyTask("in-context", (), (), tmp_path, RECIPES["in-context"], 1), 500),
    ]
    assert threads == [1]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["gpt-mini", "--valid", "v.txt"], "--data is missing"),
        (["tokenizer"], "--data is missing"),
        (["lstm", "--data", "d.txt"], "--valid is missing"),
        (["gpt-maxi"], "invalid choice: 'gpt-maxi'"),
    ],
)
def test_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: list[str], said: str
) -> None:
    with pytest.raises(SystemExit):
        call(monkeypatch, *typed, "--out", "nowhere")
    assert said in capsys.readouterr().err


def test_a_run_that_cannot_go_on_ends_in_a_sentence(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    typed = ("--valid", files[1], "--out", tmp_path)
    assert call(monkeypatch, "gpt-mini", "--data", tmp_path / "empty.txt", *typed) == 1
    assert capsys.readouterr().err.endswith("empty.txt holds no text\n")
    assert call(monkeypatch, "tokenizer", "--data", tmp_path / "gone.txt", "--out", tmp_path) == 1
    assert "gone.txt" in capsys.readouterr().err

    def diverging(run: Run, save_every: int) -> Iterator[Step]:
        raise DivergedError("step 2: the loss is nan")
        yield

    monkeypatch.setattr(family, "records", diverging)
    assert call(monkeypatch, "gpt-mini", "--data", files[0], *typed) == 1
    assert capsys.readouterr().err.endswith("step 2: the loss is nan\n")


def test_half_a_vocabulary_left_by_a_kill_is_not_used(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (tmp_path / "tokenizer.json").read_bytes()

    def half(tokenizer: Tokenizer, path: Path) -> None:
        path.write_text("{")
        raise Killed

    monkeypatch.setattr(Tokenizer, "save", half)
    with pytest.raises(Killed):
        family.train_tokenizer((files[1],), tmp_path)
    assert (tmp_path / "tokenizer.json").read_bytes() == before
