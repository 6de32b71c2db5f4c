"""The tiny model: its training, and what it has learned."""

import streamlit as st

from model.files.loaded_model import LoadedModel
from model.kept import kept
from pages.live_training import (
    LOST,
    Mine,
    current,
    gradients,
    how_it_ended,
    loss_curve,
    still_learns,
    trained,
    under_way,
    was_lost,
    watch,
)
from pages.training.train_it_yourself.choosing import KINDS, MAPS, chosen
from serving.work_queue import says_when
from training.live.processes import LiveTraining
from training.live.toy import BLIND_GUESS, STEPS, Choice, Report, held_out, loaded
from ui import engine
from ui.components.head_grid import head_grid
from ui.text import magnitude, number
from ui.views.charts.line_chart import line_chart

SLOT = "tiny_training"


@kept
def untrained(choice: Choice) -> Report:
    """The random weights with which a training begins, and what they can do."""
    return engine.alone(lambda: next(choice.reports(lambda step: False)))


@kept
def at_first(choice: Choice) -> LoadedModel:
    """The model with the random weights that its training begins with."""
    return loaded(choice, untrained(choice).weights)


def watch_it_learn() -> None:
    watch(SLOT, chosen(), pictures)


def stage() -> tuple[Choice, Mine | None, bool]:
    """What is chosen, the training of just that, and whether it is under way."""
    mine = current(SLOT, chosen())
    return chosen(), mine, under_way(mine)


def learned() -> tuple[Choice, LoadedModel] | None:
    """What was chosen and the model that came of it, if its training has ended."""
    training = trained(SLOT, chosen())
    return (chosen(), loaded(chosen(), training.reports[-1].weights)) if training else None


def no_model_yet(then: str) -> None:
    """Tell why there is no model yet. Args: then: what one can do here once there is one, a whole sentence"""
    st.caption(f"{'Your model still learns.' if still_learns(SLOT, chosen()) else 'First press *Start*.'} {then}")


def pictures(training: LiveTraining[Report]) -> None:
    """Loss and share of right answers so far; the last report's attention maps and gradients."""
    so_far = list(training.reports)  # it grows meanwhile
    last = so_far[-1]
    right = number(100 * last.right, 1)
    st.markdown(
        f"**Step {last.step} of {STEPS}:** loss {magnitude(last.loss)}, {right}% of the held-out texts exactly right"
    )
    left_side, right_side = st.columns(2)
    with left_side:
        loss_curve(training, BLIND_GUESS)
    with right_side:
        line_chart(
            [one.step for one in so_far],
            [100 * one.right for one in so_far],
            alt=f"The share of right texts over the steps; at step {last.step} it is {right}%",
            axis="texts exactly right, in %",
            ends=(STEPS, 100),
        )
    maps = last.maps[KINDS[MAPS.value()]]
    head_grid(maps, key="toy_maps", selected=None, title=f"{MAPS.value()} attention at step {last.step}")
    gradients(last)


def in_words(choice: Choice, report: Report, cost: str, mine: Mine | None) -> str:
    """How the training stands. Args: report: its newest; cost: of each of the learner's letters"""
    blind = number(BLIND_GUESS, 2)
    if mine is None:
        said = f"{LOST} " if was_lost(SLOT) else ""
        return (
            f"{said}Its weights are random: your letters cost **{cost}** each, a blind guess {blind}. Press **Start**."
        )
    if mine[0].look() == "waiting":
        return says_when(mine[0])
    return (
        ("" if under_way(mine) else f"{how_it_ended(mine)} ")
        + f"Step **{report.step:,}** of {choice.n_steps:,}: your letters cost **{cost}** each; a blind guess costs "
        f"{blind}. Of {len(held_out())} texts that it never saw, **{number(100 * report.right, 1)}%** are right."
    )
