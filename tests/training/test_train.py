"""The command: what it passes on, what it says, how it ends."""

import contextlib
import dataclasses
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from accelerate import PartialState
from rich.console import Console

from model.files import checkpoint
from tests.training.conftest import PAIRS
from training import train as command
from training.loop.data import NO_VARIATION, epoch_loader
from training.loop.recipe import RECIPES
from training.loop.resumable_run import Evaluation, Run, Task
from training.loop.updates import DivergedError, Step
from training.train import show

ROOT = Path(__file__).parents[2]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Task, int]]:
    """What the command asks of the run, which then does nothing."""
    calls: list[tuple[Task, int]] = []

    class Idle(Run):
        def __init__(self, task: Task) -> None:
            self.task, self.accelerator = task, PartialState()

        def records(self, save_every: int = 500) -> Iterator[Any]:
            calls.append((self.task, save_every))
            return iter(())

    monkeypatch.setattr(command, "Run", Idle)
    return calls


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["train", *map(str, arguments)])
    return command.main()


def test_what_is_typed_reaches_the_run(monkeypatch: pytest.MonkeyPatch, asked: list[tuple[Task, int]]) -> None:
    typed = ("multi30k-tiny", "a.tsv", "b.tsv", "--valid", "v.tsv", "--out", "runs/x")
    task = Task(
        "multi30k-tiny", [Path("a.tsv"), Path("b.tsv")], Path("v.tsv"), Path("runs/x"), RECIPES["multi30k-tiny"], 1
    )
    assert call(monkeypatch, *typed) == 0
    assert call(monkeypatch, *typed, "--steps", 77, "--seed", 5, "--save-every", 9) == 0
    longer = dataclasses.replace(task, recipe=dataclasses.replace(task.recipe, steps=77), seed=5)
    assert asked == [(task, 500), (longer, 9)]
    assert task.recipe.variation == NO_VARIATION


def test_the_command_trains(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    out = tmp_path / "out"
    typed = ("tiny", data, "--valid", data, "--out", out, "--save-every", 2, "--steps")
    assert call(monkeypatch, *typed, 2) == 0
    said = " ".join(capsys.readouterr().out.split())
    figures = json.loads((out / "training.json").read_text())
    assert f"step 2: validation loss {figures['validation_loss']:.4f} nats a token, epoch " in said
    assert figures["pairs"] == len(PAIRS)
    assert "going on" not in said
    checkpoint.load(out)
    assert call(monkeypatch, *typed, 3) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "going on from step 2" in said
    assert "step 3: validation loss" in said


def test_an_evaluation_in_words() -> None:
    evaluation = Evaluation(1500, 1.23456, True, epochs=2.345, target_tokens=60_000, seconds=240)
    assert command.in_words(evaluation) == (
        "step 1500: validation loss 1.2346 nats a token, epoch 2.35, 4.0 minutes, 250 target tokens a second"
    )


def test_progress_is_shown_as_the_run_makes_it() -> None:
    records: list[Step | Evaluation] = [
        Step(n, loss=n / 10, gradient_norm=1, learning_rate=1, target_tokens=1) for n in range(31, 43)
    ]
    records.append(Evaluation(42, 0.5, True, 1.0, 1, 1.0))
    console = Console(file=io.StringIO(), width=150, force_terminal=True)
    show(records, 42, console)
    said = re.sub(r"\x1b\[[\d;?]*\w", "", console.file.getvalue())  # without colours
    assert "going on from step 30" in said
    assert "loss 4.200" in said
    assert "42/42" in said
    assert "step 42: validation loss 0.5000" in said


def test_the_bar_of_a_resumed_run_starts_where_the_run_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    bars: list[tuple[float | None, int]] = []
    add_task = command.Progress.add_task

    def watched(self: Any, description: str, **more: Any) -> Any:
        bars.append((more["total"], more["completed"]))
        return add_task(self, description, **more)

    monkeypatch.setattr(command.Progress, "add_task", watched)
    for first in (1, 31):
        records = [Step(n, loss=1, gradient_norm=1, learning_rate=1, target_tokens=1) for n in (first, first + 1)]
        show(records, 90, Console(file=io.StringIO()))
    assert bars == [(90, 0), (90, 30)]


def test_a_run_that_diverges_ends_in_a_sentence(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def diverging(run: Run, save_every: int) -> Iterator[Step]:
        yield Step(1, 1.0, 1.0, 1.0, 1)
        raise DivergedError("step 2: the loss is nan")

    monkeypatch.setattr(Run, "records", diverging)
    assert call(monkeypatch, "tiny", data, "--valid", data, "--out", tmp_path / "out") == 1
    assert capsys.readouterr().err.endswith("step 2: the loss is nan\n")


@pytest.mark.slow  # starts three processes, two of which load torch
def test_two_processes_share_the_work(data: Path, tmp_path: Path) -> None:
    """Each takes every other batch, so an epoch takes half as many steps; one of them speaks and writes."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "-m", "training.train"]
    command += ["tiny", str(data), "--valid", str(data), "--out", str(out), "--steps"]
    environment = os.environ | {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*command, "4"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as launcher:
        try:
            said, _ = launcher.communicate(timeout=300)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(launcher.pid, signal.SIGKILL)  # the workers too
    assert launcher.returncode == 0
    assert said.count("validation loss") == 1
    figures = json.loads((out / "training.json").read_text())
    tokenizer, recipe = checkpoint.load_tokenizer(out), RECIPES["tiny"]
    n_batches = len(epoch_loader(PAIRS, tokenizer, recipe.batch_tokens, NO_VARIATION, 1, 0, 256, processes=2))
    assert figures["epochs"] == 4 / (n_batches / 2)
