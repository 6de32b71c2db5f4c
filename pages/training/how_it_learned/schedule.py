"""The whole training as curves: learning rate, loss, length of the gradient."""

import functools

import numpy as np
import streamlit as st

from experiments.training.training_log import TrainingLog, load_log
from figures.training_curves import training_curves
from model.trace import Trace
from pages.training.how_it_learned.snapshots import NAME, RECIPE
from training.loop.schedule import phases
from ui.course.lesson import COURSE
from ui.text import number
from ui.views.charts.tables import table

SMOOTH = 20  # logged steps: of so many the mean is told, since batches differ


@functools.cache
def log() -> TrainingLog:
    """Raises: CheckpointError"""
    return load_log(NAME)


def schedule(trace: Trace) -> None:
    of, three = log(), phases(RECIPE.warmup_steps, RECIPE.steps, RECIPE.decay_fraction)
    rise, level, fall = three
    st.markdown(
        f"The learning rate says how far a step moves the weights. In the **warm-up** it rises to "
        f"{RECIPE.peak_learning_rate:g}, until step {rise.last:,}. Then it stays there. From step {fall.first:,} on it "
        "falls to 0, and the weights come to rest."
    )
    st.plotly_chart(
        training_curves(
            of.steps, (of.learning_rates, of.losses, of.gradient_norms), (of.validation_steps, of.validation_losses),
            (rise.last, level.last),
        ),
        key="training_chart",
        config={"displayModeBar": False},
        alt=f"Learning rate, loss and length of the gradient over {of.steps[-1]:,} steps; dotted lines after the "
        f"warm-up, at step {rise.last:,}, and where the fall begins, at step {level.last:,}.",
    )  # fmt: skip
    rows = []
    for phase in three:
        inside = [n for n, step in enumerate(of.steps) if phase.first <= step <= phase.last]
        first, last = inside[:SMOOTH], inside[-SMOOTH:]
        rows.append(
            (
                phase.name,
                f"{phase.first:,} to {phase.last:,}",
                f"{number(mean(of.losses, first), 2)} → {number(mean(of.losses, last), 2)}",
                f"{number(mean(of.gradient_norms, first), 2)} → {number(mean(of.gradient_norms, last), 2)}",
            )
        )
    table(("phase", "steps", "loss", "length of the gradient"), rows)
    st.caption(
        f"Loss and gradient in the table: the mean of the first and of the last {SMOOTH} logged steps of each phase; "
        "each step learns from other sentences. The loss is the smoothed one, with dropout on. Diamonds: the "
        "validation loss, on sentences kept apart, without smoothing and dropout. It is that of the running average "
        "of the weights, which lags behind at first."
    )
    st.markdown("Why begin with small steps? A deep stack shows it:")
    there = COURSE.lesson("where-to-normalise")
    st.page_link(COURSE.page(there), label=there.title)


def mean(values: tuple[float, ...], at: list[int]) -> float:
    return float(np.mean([values[n] for n in at]))
