"""A training of the visitor's own: start it, watch it, stop it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from serving.work_queue import TURN_SECONDS, WORKERS, Job, TooMuchWorkError, says_when, submit
from training.live.processes import CPU_SECONDS, WALL_SECONDS, LiveTraining, Task
from ui.text import magnitude
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.line_chart import line_chart
from ui.visitor import presence, visitor

REFRESH = 0.4  # seconds between two looks
NOTE = (
    f"A training takes at most {CPU_SECONDS} seconds of processor time, and at most {WALL_SECONDS // 60} minutes in "
    f"all. {WORKERS} trainings run at a time on this server, and the others wait. While somebody waits, a training "
    f"ends after {TURN_SECONDS:.0f} seconds with what it has. Each tab of your browser trains a model of its own. A "
    "training stops when you change what you chose for it, and soon after you leave this page or load it anew."
)
LOST = "A training ran here before this page was loaded anew. It was stopped with the old page; start it again."
RUN = "run"  # in the address: the training that was started here

Mine = tuple[Job, LiveTraining[Any]]


def current(slot: str, task: Task) -> Mine | None:
    """The visitor's training of just this task, if there is one. One of another task is stopped and forgotten.

    Args: slot: its name in the session
    """
    mine: Mine | None = st.session_state.get(slot)
    if mine and mine[1].task != task:
        mine[0].cancel()
        del st.session_state[slot]
        return None
    return mine


def under_way(mine: Mine | None) -> bool:
    return mine is not None and mine[0].look() in ("waiting", "running")


def still_learns(slot: str, task: Task) -> bool:
    """Whether a training of just this task waits or runs."""
    return under_way(current(slot, task))


def trained(slot: str, task: Task) -> LiveTraining[Any] | None:
    """The training of this task, if it has ended and left something."""
    mine = current(slot, task)
    if mine and not under_way(mine) and mine[1].reports:
        return mine[1]
    return None


def start(slot: str, task: Task) -> None:
    """Put a training in line; it is then the visitor's `current` one. A second click, come late, does nothing."""
    if under_way(current(slot, task)):
        return
    training = LiveTraining[Any](task)
    st.session_state[slot] = submit(training.run, visitor(), presence(), has_turn=True), training
    st.session_state[f"{slot}/started"] = True
    st.query_params[RUN] = slot


def was_lost(slot: str) -> bool:
    """Whether a training ran here before the page was loaded anew."""
    return st.query_params.get(RUN) == slot and f"{slot}/started" not in st.session_state


def watch(slot: str, task: Task, draw: Callable[[LiveTraining[Any]], None], label: str = "Start") -> None:
    """A button to start, or how the training goes, or how it ended.

    Args: draw: shows what has been reported; called again and again while the training runs; label: of the button
    """
    mine = current(slot, task)
    if mine is None:
        if was_lost(slot):
            st.info(LOST)
        st.button(label, key=f"{slot}/start", type="primary", on_click=start, args=(slot, task))
        st.caption(NOTE)
        return
    if under_way(mine):
        _watch(slot, mine, draw)
        return
    st.info(how_it_ended(mine))
    st.button(f"{label} again", key=f"{slot}/again", on_click=start, args=(slot, task))
    if mine[1].reports:
        draw(mine[1])


def how_it_ended(mine: Mine) -> str:
    """One sentence about a training that is not under way any more."""
    job, training = mine
    refused = str(job.error) if isinstance(job.error, TooMuchWorkError) else ""
    if job.was_cut:
        return f"Others wait, so the training ended after {TURN_SECONDS:.0f} seconds with what it had."
    return training.ended or refused or "The training was stopped before it began."


@st.fragment(run_every=REFRESH)
def _watch(slot: str, mine: Mine, draw: Callable[[LiveTraining[Any]], None]) -> None:
    """How the training goes, and a way to stop it; draws the page anew when it ends."""
    job, training = mine
    state = job.look()
    if state not in ("waiting", "running"):
        st.rerun()
    if state == "waiting":
        st.progress(0.0, says_when(job))
    else:
        st.progress(job.progress, f"{job.progress:.0%}" if training.reports else "Starting.")
    st.button("Stop", key=f"{slot}/stop", on_click=job.cancel)
    if training.reports:
        draw(training)


def gradients(report: Any) -> None:
    """The length of the gradient of each part at the last step, as columns."""
    if norms := report.gradient_norms:
        column_chart(
            list(norms),
            [Series("gradient", np.array(list(norms.values())))],
            alt=f"Length of the gradient of each part at step {report.step}",
            axis=f"length of the gradient at step {report.step}, layer by layer",
        )


def loss_curve(training: LiveTraining[Any], top: float) -> None:
    """The loss over the steps so far; the scale reaches to `top`, or further if need be."""
    so_far = list(training.reports)  # it grows meanwhile
    last = so_far[-1]
    line_chart(
        [one.step for one in so_far],
        [one.loss for one in so_far],
        alt=f"The loss over the steps; at step {last.step} it is {magnitude(last.loss)}",
        axis="loss, in nats a piece",
        ends=(training.task.n_steps, top),
    )
