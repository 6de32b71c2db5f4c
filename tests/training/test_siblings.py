"""The siblings differ in one part each; their training keeps a log and snapshots, and survives a kill."""

import dataclasses
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from model.build import build_model
from model.config import CHOICES, PRESETS
from model.files import checkpoint
from tests.training.conftest import Killed, killed_after, same_weights
from training import siblings as command
from training.loop import resumable_run as running
from training.loop.recipe import RECIPES
from training.loop.resumable_run import Run
from training.loop.updates import DivergedError, Step
from training.siblings import SIBLINGS, SNAPSHOT_STEPS, Log, is_finished, records, task_of

RECIPE = dataclasses.replace(RECIPES["tiny"], steps=23, batch_tokens=50)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes and a recipe that take no time."""
    monkeypatch.setitem(PRESETS, "sibling", dataclasses.replace(PRESETS["tiny"], d_model=4, d_ff=6, max_len=64))
    monkeypatch.setitem(RECIPES, "sibling", RECIPE)
    monkeypatch.setattr(command, "EVALUATE_EVERY", 10)
    monkeypatch.setattr(command, "SNAPSHOT_STEPS", (0, 4, 11))


def call(monkeypatch: pytest.MonkeyPatch, data: Path, out: Path, *more: str) -> int:
    monkeypatch.setattr(sys, "argv", ["siblings", str(data), "--valid", str(data), "--out", str(out), *more])
    return command.main()


def test_each_sibling_differs_from_the_plain_one_in_one_part_and_every_kind_of_part_has_one() -> None:
    plain = PRESETS["sibling"]
    kinds = [item for sibling in SIBLINGS.values() for item in sibling.parts.items()]
    others = [(name, kind) for name, kinds in CHOICES.items() for kind in kinds if kind != getattr(plain, name)]
    untried = {("attention", kind) for kind in ("windowed", "linear", "linear_exponential", "squeezed")}
    assert set(kinds) == {*others} - untried
    assert len(kinds) == len(others) - len(untried) + 1  # experts with one asked are trained with balancing and without
    assert {name: s.balance for name, s in SIBLINGS.items() if "feed_forward" in s.parts} == {
        "experts-balanced": 0.01,
        "experts-free": 0,
        "experts-two": 0.01,
    }
    assert all(len(sibling.parts) <= 1 for sibling in SIBLINGS.values())
    assert [(name, s.seed) for name, s in SIBLINGS.items() if not s.parts] == [(f"plain-{n}", n) for n in (1, 2, 3)]
    assert {s.seed for s in SIBLINGS.values() if s.parts} == {1}
    assert [name for name, s in SIBLINGS.items() if s.has_snapshots] == [next(iter(SIBLINGS))] == ["plain-1"]


def test_snapshots_stand_closer_at_the_start_and_there_are_twelve_with_the_last() -> None:
    gaps = [after - before for before, after in itertools.pairwise(SNAPSHOT_STEPS)]
    assert gaps == sorted(gaps)
    assert SNAPSHOT_STEPS[0] == 0
    assert len(SNAPSHOT_STEPS) == 11


def test_the_command_trains_those_that_are_not_finished(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    only = ("--only", "activation-gelu-tanh", "plain-1")
    assert call(monkeypatch, data, tmp_path, *only) == 0
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["activation-gelu-tanh", "plain-1"]
    for name in only[1:]:
        config = checkpoint.load_config(tmp_path / name)
        assert config == dataclasses.replace(PRESETS["sibling"], vocab_size=8000, **SIBLINGS[name].parts)
        tokenizer = (tmp_path / name / checkpoint.TOKENIZER).read_text()
        assert tokenizer == (checkpoint.SHIPPED / checkpoint.TOKENIZER).read_text()
        task = task_of(name, [data], data, tmp_path)
        assert is_finished(task)
        longer = dataclasses.replace(task.recipe, steps=task.recipe.steps + 1)
        assert not is_finished(dataclasses.replace(task, recipe=longer))
    assert not (tmp_path / "activation-gelu-tanh" / "snapshots").exists()
    assert "is finished" not in capsys.readouterr().out
    monkeypatch.setattr(command, "train", lambda *_: pytest.fail("it is finished"))
    assert call(monkeypatch, data, tmp_path, *only) == 0
    assert capsys.readouterr().out.count("is finished") == 2


def test_one_that_diverges_does_not_stop_the_others(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    trained = []

    def train(name: str, *_: Any) -> None:
        trained.append(name)
        if name == "plain-1":
            raise DivergedError("step 2: the loss is nan")

    monkeypatch.setattr(command, "train", train)
    assert call(monkeypatch, data, tmp_path) == 1
    assert trained == list(SIBLINGS)
    assert capsys.readouterr().err == "plain-1: step 2: the loss is nan\n"


def test_the_log_holds_every_tenth_step_and_every_evaluation(data: Path, tmp_path: Path) -> None:
    task = task_of("plain-2", [data], data, tmp_path)
    made = list(records(Run(task), has_snapshots=False))
    log = json.loads((task.out / "log.json").read_text())
    assert repr([row["step"] for row in log["steps"]]) == "[1, 10, 20]", "whole numbers"
    tenth = next(record for record in made if isinstance(record, Step) and record.step == 10)
    expected = {name: getattr(tenth, name) for name in ("step", "loss", "gradient_norm", "learning_rate")}
    assert log["steps"][1] == pytest.approx(expected, rel=1e-4)
    evaluations = [record for record in made if not isinstance(record, Step)]
    assert log["validation"] == [{"step": e.step, "loss": e.validation_loss} for e in evaluations]
    assert [row["step"] for row in log["validation"]] == [10, 20, 23]


def test_what_was_logged_of_steps_that_are_made_again_is_dropped(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.json", 0)
    for step in (10, 20, 30):
        log.add(Step(step, 1.0, 1.0, 1.0, 1))
    again = Log(tmp_path / "log.json", 20)
    assert [row["step"] for row in again.rows["steps"]] == [10, 20]


def test_the_first_snapshot_is_the_model_as_drawn_and_the_last_as_trained(data: Path, tmp_path: Path) -> None:
    task = task_of("plain-1", [data], data, tmp_path)
    run = Run(task)
    drawn = {name: w.clone() for name, w in run.learner.model.state_dict().items()}
    seen: dict[int, dict[str, Tensor]] = {}
    for record in records(run, has_snapshots=True):
        if isinstance(record, Step):
            seen[record.step] = {name: w.clone() for name, w in run.learner.model.state_dict().items()}
    snapshots = {int(path.stem): load_file(path) for path in (task.out / "snapshots").iterdir()}
    assert sorted(snapshots) == [0, 4, 11, 23]
    for step, weights in snapshots.items():
        expected = seen[step] if step else drawn
        assert weights.keys() == build_model(run.subject.config).state_dict().keys()
        assert all(torch.equal(weights[name], w.half()) for name, w in expected.items())


def test_a_killed_training_ends_with_the_same_weights_log_and_snapshots(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, resumed = (task_of("plain-1", [data], data, tmp_path / name) for name in ("whole", "resumed"))
    list(records(Run(whole), has_snapshots=True))
    with monkeypatch.context() as patch:
        patch.setattr(running, "batch_loss", killed_after(14, running.batch_loss))
        with pytest.raises(Killed):
            list(records(Run(resumed), has_snapshots=True))
    list(records(Run(resumed), has_snapshots=True))
    assert (whole.out / "log.json").read_text() == (resumed.out / "log.json").read_text()
    for name in ("model.safetensors", *(f"snapshots/{step:05}.safetensors" for step in (0, 4, 11, 23))):
        assert same_weights(whole.out / name, resumed.out / name)
