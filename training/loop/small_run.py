"""A short training of a small network that goes on after a kill, with nothing saved but one file of its state."""

import itertools
import time
from collections.abc import Iterable
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import track
from torch import nn

from training.loop.recipe import Recipe
from training.loop.updates import Batch, Loss, new_learner, training_steps


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
