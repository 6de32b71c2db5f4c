"""The training of two models side by side, and what comes of it."""

import numpy as np
import streamlit as st

from model.adapting.fine_tuned import FineTuned
from model.files.loaded_model import Array
from model.trace import Trace
from pages.family.fine_tuning.choosing import KNOWN, chosen, labelled, pretrained, test_sentences, topic, with_error
from pages.family_models import family_model
from pages.live_training import still_learns, trained, watch
from training.live.head_alone import head_steps, rows_read
from training.live.labelling import (
    HEAD,
    PLUS,
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
from ui import engine
from ui.text import chance, number
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import numbers_of_figure

SLOT = "fine_tuning"
NAMES = (PRETRAINED, RANDOM)
BUTTON = "Train"


def watch_them_learn() -> None:
    if task := chosen():
        watch(SLOT, task, pictures, label=BUTTON)


def says(one: Standing) -> str:
    return with_error(one.test.right, one.test.n)


def parted(text: str, random: bool) -> Array:
    """After each step of a GPT's head alone on the learner's labels the probability of + for each new sentence and, at
    last, a text (21,61). random: with random weights below the head
    """
    learned, new = labelled(), test_sentences()
    labels, loaded = np.array([label == PLUS for _, label in learned]), family_model(KNOWN["GPT"])
    # One by one: the new sentences are the same for every text.
    texts = (tuple(one for one, _ in learned), tuple(one for one, _ in new), (text,))
    rows, *others = (engine.run(rows_read, loaded, some, random) for some in texts)
    return head_steps(rows, labels, np.concatenate(others))


def verdict(trace: Trace) -> None:
    """What the head alone makes of the learner's labels, at once."""
    if (task := chosen()) is None:
        return
    of, right = topic(), np.array([label == PLUS for _, label in task.test])
    chances = parted(trace.text, random=False)[-1]
    mine, share = float(chances[-1]), float(((chances[:-1] > 0.5) == right).mean())
    st.markdown(
        f"Your sentence: **{of.plus if mine > 0.5 else of.minus}**, {chance(max(mine, 1 - mine))}. So says GPT's head, "
        f"trained alone on these {len(task.labelled)} labels. Of {len(right)} new sentences it labels "
        f"**{with_error(share, len(right))}** as we did."
    )


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
    return engine.alone(lambda: classified(pretrained(), model, trace.text))


def no_classifier_yet(then: str) -> None:
    """Tell why there is none yet. Args: then: what one can do here once there is one, a whole sentence"""
    task = chosen()
    if task is None:
        st.caption(f"First mend the sentences in See: a note there says what is wrong. Then press *{BUTTON}*. {then}")
    elif still_learns(SLOT, task):
        st.caption(f"Your model still learns. {then}")
    else:
        st.caption(f"First press *{BUTTON}* in See. {then}")
