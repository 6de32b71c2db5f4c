"""The training of two models side by side, and what comes of it."""

import numpy as np
import streamlit as st

from model.adapting.fine_tuned import FineTuned
from model.trace import Trace
from pages.family.fine_tuning.choosing import chosen, pretrained
from pages.live_training import current, trained, watch
from training.live.labelling import (
    HEAD,
    PRETRAINED,
    RANDOM,
    STEPS,
    Labelling,
    Progress,
    Standing,
    classified,
    classifier,
)
from training.live.processes import LiveTraining
from ui.engine import model_lock
from ui.text import number
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import numbers_of_figure

SLOT = "fine_tuning"
NAMES = (PRETRAINED, RANDOM)
BUTTON = "Train"


def watch_them_learn() -> None:
    if task := chosen():
        watch(SLOT, task, pictures, label=BUTTON)


def says(one: Standing) -> str:
    """A share of right labels with its standard error, in %."""
    return f"{number(100 * one.test.right, 0)}% ± {number(100 * one.test.standard_error, 0)}"


def pictures(training: LiveTraining[Progress]) -> None:
    """The share of new sentences that both label rightly, and how far the pre-trained one moved."""
    task: Labelling = training.task  # type: ignore[assignment]
    so_far = list(training.reports)  # it grows meanwhile
    last = so_far[-1]
    st.markdown(
        f"**Step {last.step} of {STEPS}:** of {last.runs[PRETRAINED].test.n} new sentences, the pre-trained model "
        f"labels **{says(last.runs[PRETRAINED])}** as we did; the one from random weights "
        f"**{says(last.runs[RANDOM])}**."
    )
    steps = [str(one.step) for one in so_far]
    column_chart(
        steps,
        [Series(name, np.array([100 * one.runs[name].test.right for one in so_far])) for name in NAMES],
        alt="The share of new sentences that each model labels rightly, after so many steps",
        axis="new sentences labelled rightly, in %, after so many steps",
        limit=100,
    )
    lines = [
        (step, *(cell for name in NAMES for cell in (says(one.runs[name]), number(one.runs[name].loss, 2))))
        for step, one in zip(steps, so_far, strict=True)
    ]
    head = [cell for name in NAMES for cell in (f"{name}: right", f"{name}: loss")]
    numbers_of_figure(("step", *head), lines)
    what_moved(task, last)


def what_moved(task: Labelling, last: Progress) -> None:
    with st.expander("Which layers moved, and how far"):
        st.markdown(f"**{last.n_learning:,}** numbers may change.")
        if task.learns == HEAD:
            st.caption("Only the head learns, so nothing that was pre-trained moves.")
            return
        column_chart(
            list(last.moved),
            [Series("moved", np.array([100 * share for share in last.moved.values()]))],
            alt=f"How far each part of the pre-trained model is from where it was, at step {last.step}",
            axis="distance from the pre-trained weights, in % of their length",
        )
        st.caption(
            "All weights of a part, written in a row, are one long list. Its length is the root of the sum of their "
            "squares. The distance is that between the list now and the pre-trained one."
        )


def learned() -> FineTuned | None:
    """The classifier that came of what is chosen, if its training has ended; rebuilt only when another one ended."""
    task = chosen()
    training = trained(SLOT, task) if task else None
    if training is None:
        return None
    last: Progress = training.reports[-1]
    kept = st.session_state.get(f"{SLOT}/classifier")
    if kept is None or kept[0] is not last:
        kept = last, classifier(pretrained(), last.weights)
        st.session_state[f"{SLOT}/classifier"] = kept
    model: FineTuned = kept[1]
    return model


def read(trace: Trace) -> Trace[FineTuned] | None:
    """The visitor's sentence through their classifier."""
    if (model := learned()) is None:
        return None
    with model_lock:
        return classified(pretrained(), model, trace.text)


def no_classifier_yet(then: str) -> None:
    """Tell why there is none yet. Args: then: what one can do here once there is one, a whole sentence"""
    task = chosen()
    if task and current(SLOT, task):
        st.caption(f"Your model still learns. {then}")
    else:
        st.caption(f"First press *{BUTTON}* in See. {then}")
