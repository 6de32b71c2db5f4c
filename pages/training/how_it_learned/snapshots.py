"""The snapshots of one training, and what each of them makes of the learner's sentence.

The lesson sends the sentence through the last of them: a `trace` here is what that one wrote.
"""

import functools

import streamlit as st

from experiments.training.forming import MEASURED, Measured, load_measured
from experiments.training.losses import with_losses
from model.decoding.strategies import Greedy
from model.files.checkpoint import SNAPSHOTS, broken
from model.files.loaded_model import AT, MODELS, LoadedModel, snapshot_steps
from model.trace import Trace
from training.loop.recipe import RECIPES
from ui import engine
from ui.controls.control import Stops

NAME = "plain-1"
RECIPE = RECIPES["sibling"]
LONGER = 10  # pieces by which a translation may be longer than the last snapshot's before it is cut


@functools.cache
def steps() -> tuple[int, ...]:
    """Raises: CheckpointError if no snapshot is there"""
    if not (found := snapshot_steps(NAME)):
        raise broken(MODELS / NAME / SNAPSHOTS, FileNotFoundError("no snapshot is in it"))
    return found


@functools.cache
def measured() -> Measured:
    """Raises: CheckpointError if it is missing, damaged, or of other snapshots"""
    if (file := load_measured(NAME)).steps != steps():
        raise broken(MODELS / NAME / MEASURED, ValueError("it was measured on other snapshots"))
    return file


@functools.cache
def snapshot_control() -> Stops[int]:
    """It opens with the last one, which has something to show: the first writes one word again and again."""
    return Stops("Steps of training so far", "snapshot", steps(), default=steps()[-1])


def chosen() -> int:
    """The step that the slider is set to."""
    return snapshot_control().value()


def at_step(step: int) -> LoadedModel:
    return engine.model(f"{NAME}{AT}{step}")


def last() -> LoadedModel:
    """Raises: CheckpointError if no snapshot is there, or the last one is broken"""
    return at_step(steps()[-1])


def is_too_long(trace: Trace) -> bool:
    """Whether the sentence has more pieces than any that this model learned from; then that is said."""
    most = last().config.max_len
    if len(trace.src) <= most:
        return False
    st.info(
        f"This translator learned from sentences of at most {most} pieces, and yours has {len(trace.src)}: type a "
        "shorter one."
    )
    return True


def written(trace: Trace, step: int) -> Trace:
    """What a snapshot writes for the sentence, cut where it is much longer than what the last one writes."""
    if step == steps()[-1]:
        return trace
    return engine.trace(trace.text, decoding=Greedy(len(trace.labels) + LONGER), name=at_step(step).name)


def target_read(trace: Trace, step: int) -> Trace:
    """A snapshot that reads the sentence and, by teacher forcing, the last one's translation; with its losses."""
    read = engine.trace(trace.text, trace.translation, name=at_step(step).name)
    return with_losses(read, RECIPE.label_smoothing)
