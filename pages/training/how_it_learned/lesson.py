"""Lesson: one training, looked at through snapshots of the weights."""

import math

import streamlit as st

from experiments.blocks.dropout import probabilities_with_dropout
from experiments.training.forming import aligned_shares, first_above
from experiments.training.losses import LOSSES, SMOOTHED
from model.trace import Trace
from pages.training.how_it_learned.dropping import dropping
from pages.training.how_it_learned.forcing import forcing
from pages.training.how_it_learned.heads_formed import heads_formed
from pages.training.how_it_learned.learned_first import learned_first
from pages.training.how_it_learned.looking import look
from pages.training.how_it_learned.questions import predict
from pages.training.how_it_learned.scene import scene
from pages.training.how_it_learned.schedule import schedule
from pages.training.how_it_learned.smoothing import smoothing
from pages.training.how_it_learned.snapshots import chosen, is_too_long, last, snapshot_control, steps, target_read
from training.loop.loss import batch_loss
from training.loop.schedule import learning_rate_factor
from training.loop.updates import training_steps
from ui.components.matrix import Caption, Labels, Scale
from ui.controls.control import Choice
from ui.course.check import check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap

TRIALS = {
    "When heads formed": heads_formed,
    "What came first": learned_first,
    "Label smoothing": smoothing,
    "Teacher forcing": forcing,
    "Dropout": dropping,
    "Warm-up and schedule": schedule,
}
TRIAL = Choice("Try", "learned_trial", tuple(TRIALS))
INSIDE = {"Loss": LOSSES, "Smoothed loss": SMOOTHED}
TENSOR = Choice("What to work out", "learned_inside", tuple(INSIDE))


def idea(trace: Trace) -> None:
    loaded = last()
    st.markdown(
        "A model learns from sentences with their right translations. For each right piece training looks at the "
        "probability P that the model gives it, after the right pieces before it. The **loss** is −ln P: 0 if the "
        "model is certain, large if it is surprised. Each step changes the weights a little, so that the mean of the "
        "losses gets smaller."
    )
    st.latex(r"L=-\frac{1}{T}\sum_{t=1}^{T}\ln P(y_t\mid y_1\dots y_{t-1},\,x)")
    st.caption(
        "x is the English; y₁, y₂ and so on are the T pieces of its German. The logarithm is the natural one, so the "
        "loss is counted in *nats*."
    )
    st.markdown(
        f"This small translator has {loaded.n_parameters / 1e6:.1f} million weights, which were random at first. In "
        f"{steps()[-1]:,} steps they were saved {len(steps())} times: these are its **snapshots**."
    )


def see(trace: Trace) -> None:
    if not is_too_long(trace):
        look(trace, snapshot_control().draw())


def check(trace: Trace) -> None:
    inside = TENSOR.draw()
    if is_too_long(trace):
        return
    read = target_read(trace, chosen())
    rows = tuple(token.text for token in read.labels)
    caption = Caption(f"{inside} at step {chosen():,}", "A row for each piece of the last translation; in nats.")
    # One scale for all snapshots, so that one sees the losses pale: a little more than a blind guess costs.
    scale = Scale("positive", limit=math.ceil(math.log(read.model.config.vocab_size)) + 1.0, digits=4)
    shown = checked_matrix(read, INSIDE[inside], caption, labels=Labels(rows, ("loss",)), scale=scale)
    check_cell(shown)


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


LESSON = Lesson(
    "how-it-learned",
    "How it learned",
    asks="When did it know?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check, do=do),
    code=(batch_loss, training_steps, learning_rate_factor, probabilities_with_dropout, aligned_shares, first_above),
    on_map=OnMap(model=last, pictured=("small translator", lambda: [last()]), scene=scene),
)
