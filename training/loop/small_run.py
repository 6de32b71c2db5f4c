"""A short training of a small network that goes on after a kill, with nothing saved but one file of its state; and the
command that trains several of them.
"""

import argparse
import itertools
import json
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from rich.console import Console
from rich.progress import track
from torch import nn

from training.loop.recipe import Recipe
from training.loop.updates import Batch, Loss, new_learner, training_steps

Name = TypeVar("Name", str, int)


def train_several(
    parser: argparse.ArgumentParser,
    names: Sequence[Name],
    steps: int,
    train: Callable[[Name, Path, int], dict[str, Any]],
    finish: Callable[[Path], None],
) -> None:
    """What such a command does: it trains each into one folder, or one alone, and measures when all are trained.

    Args: names; steps: of each, unless others are typed; train: one of them, by its name, into a folder, in so many
          steps: it leaves NAME.json and its states, NAME.pt, there; finish: what is done with the folder in the end
    """
    parser.add_argument("--out", required=True, type=Path, help="folder for all")
    listed = ", ".join(map(str, names))
    parser.add_argument("--only", type=type(names[0]), choices=names, metavar="NAME", help=f"one of {listed}")
    parser.add_argument("--steps", type=int, default=steps)
    given = parser.parse_args()
    torch.set_num_threads(1)  # small products: more threads would only wait for one another
    out: Path = given.out
    out.mkdir(parents=True, exist_ok=True)
    for name in [given.only] if given.only else names:
        print(name, json.dumps(train(name, out, given.steps)), flush=True)
    reports: list[Path] = [out / f"{name}.json" for name in names]
    if all(report.exists() for report in reports):
        finish(out)
        for file in (*out.glob("*.pt"), *reports):
            file.unlink()


def train_small(
    network: nn.Module,
    batches: Iterable[Batch],
    recipe: Recipe,
    loss: Loss,
    state: Path,
    save_every: int = 500,
) -> float:
    """Train a network to the recipe's last step; its own weights change. `state` serves a resumed run.

    Args:    batches: the same at every start, those that were used included
    Returns: seconds of processor time spent on steps, those before a kill included
    """
    learner, done, seconds = new_learner(network, recipe), 0, 0.0
    if state.exists():
        saved = torch.load(state)
        network.load_state_dict(saved["network"])
        learner.optimizer.load_state_dict(saved["optimizer"])
        done, seconds = saved["steps"], saved["seconds"]
    started = time.process_time() - seconds
    steps = training_steps(learner, itertools.islice(batches, done, None), recipe, loss, done)
    for step in track(steps, "training", recipe.steps - done, console=Console(stderr=True)):
        if step.step % save_every == 0 or step.step == recipe.steps:
            seconds = time.process_time() - started
            saved = {"network": network.state_dict(), "optimizer": learner.optimizer.state_dict()}
            fresh = state.with_suffix(".new")
            torch.save({**saved, "steps": step.step, "seconds": seconds}, fresh)
            fresh.replace(state)  # at once: a kill leaves the old state or the new one whole
    return seconds
