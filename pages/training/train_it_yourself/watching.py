"""The visitor's own training: start it, watch it, stop it."""

import numpy as np
import streamlit as st

from pages.training.train_it_yourself.choosing import KINDS, MAPS, chosen
from training.live import CPU_SECONDS, LiveTraining
from training.toy import BLIND_GUESS, STEPS
from ui.components.head_grid import head_grid
from ui.queue import WORKERS, Job, submit
from ui.text import magnitude, number
from ui.views.column_chart import Series, column_chart
from ui.views.line_chart import line_chart

SLOT = "toy_training"  # in the session: the job and the training
REFRESH = 0.4  # seconds between two looks


def current() -> tuple[Job, LiveTraining] | None:
    """The training with what is chosen now, if there is one. One with something else is stopped and forgotten."""
    mine: tuple[Job, LiveTraining] | None = st.session_state.get(SLOT)
    if mine and mine[1].choice != chosen():
        mine[0].cancel()
        del st.session_state[SLOT]
        return None
    return mine


def trained() -> LiveTraining | None:
    """The training, if it has ended and left a model."""
    mine = current()
    if mine and mine[0].look() not in ("waiting", "running") and mine[1].reports:
        return mine[1]
    return None


def start() -> None:
    training = LiveTraining(chosen())
    st.session_state[SLOT] = submit(training.run), training


def watch() -> None:
    """A button to start, or how the training goes, or how it ended."""
    mine = current()
    if mine is None:
        st.button("Start", key="start", type="primary", on_click=start)
        st.caption(
            f"A training takes at most {CPU_SECONDS} seconds of processor time. {WORKERS} trainings run at a time on "
            "this server, and the others wait. Each tab of your browser trains a model of its own. A training stops "
            "when you choose something else above, and soon after you leave this page."
        )
        return
    job, training = mine
    if job.look() in ("waiting", "running"):
        _watch(job, training)
        return
    st.info(training.ended or "The training was stopped before it began.")
    st.button("Start again", key="start_again", on_click=start)
    if training.reports:
        pictures(training)


@st.fragment(run_every=REFRESH)
def _watch(job: Job, training: LiveTraining) -> None:
    """How the training goes, and a way to stop it; draws the page anew when it ends."""
    state = job.look()
    if state not in ("waiting", "running"):
        st.rerun()
    if state == "waiting":
        st.progress(0.0, f"Waiting: {job.ahead} ahead of you.")
    else:
        st.progress(job.progress, f"{job.progress:.0%}" if training.reports else "Starting.")
    st.button("Stop", key="stop", on_click=job.cancel)
    if training.reports:
        pictures(training)


def pictures(training: LiveTraining) -> None:
    """Loss and share of right answers so far; the last report's attention maps and gradient norms."""
    so_far = list(training.reports)  # it grows meanwhile
    last = so_far[-1]
    st.markdown(
        f"**Step {last.step} of {STEPS}:** loss {magnitude(last.loss)}, "
        f"{number(100 * last.right, 1)}% of the held-out texts exactly right"
    )
    steps = [one.step for one in so_far]
    left, right = st.columns(2)
    with left:
        line_chart(
            steps,
            [one.loss for one in so_far],
            alt=f"The loss over the steps; at step {last.step} it is {magnitude(last.loss)}",
            axis="loss, in nats a letter",
            ends=(STEPS, BLIND_GUESS),
        )
    with right:
        line_chart(
            steps,
            [100 * one.right for one in so_far],
            alt=f"The share of right texts over the steps; at step {last.step} it is {number(100 * last.right, 1)}%",
            axis="texts exactly right, in %",
            ends=(STEPS, 100),
        )
    maps = last.maps[KINDS[MAPS.value()]]
    head_grid(maps, key="toy_maps", selected=None, title=f"{MAPS.value()} attention at step {last.step}")
    if last.gradient_norms:
        column_chart(
            list(last.gradient_norms),
            [Series("gradient", np.array(list(last.gradient_norms.values())))],
            alt=f"Length of the gradient of each part at step {last.step}",
            axis=f"length of the gradient at step {last.step}, layer by layer",
        )
