"""Four kinds of task, each with another head: how well they are learned, with pre-training and without."""

import json

import streamlit as st

from model.trace import Trace
from training.fine_tune import KEPT
from training.fine_tuning import KINDS
from ui.text import number
from ui.views.tables import table

ASKS = {
    "sentence": ("a class for a sentence", "Is this film review kind or unkind?"),
    "pair": ("a class for a pair", "Do these two sentences mean the same?"),
    "span": ("the two ends of a span", "Which words of the story answer the question?"),
    "tags": ("a tag for every word", "Is it a noun, a verb, an adjective, …?"),
}
CLEAR = 2  # standard errors, beyond which a difference is hardly chance


def four_tasks(trace: Trace) -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    st.markdown(
        "**Four kinds of task.** Each needs another head, but the model below it is the same. We fine-tuned the small "
        "GPT on one task of each kind, from its pre-trained weights and from random ones."
    )
    found = sorted(kept["tasks"].values(), key=lambda one: KINDS.index(one["kind"]))
    table(
        ("the head gives", "for example", "learned from", "pre-trained: right", "random: right", "apart"),
        [
            (
                *ASKS[one["kind"]],
                str(one["train"]),
                share(one["pretrained"], one["n"]),
                share(one["random"], one["n"]),
                number(one["standard_errors_apart"], 1),
            )
            for one in found
        ],
    )
    clear = sum(one["standard_errors_apart"] > CLEAR for one in found)
    st.markdown(
        f"In **{clear}** of {len(found)} tasks the pre-trained model is better by more than {CLEAR} standard errors, "
        "which chance alone hardly gives."
    )
    st.caption(
        "Both learned alike: all weights, the same examples in the same order. *Right* is the share of test answers "
        "that are; a span is right if both its ends are. After ± stands the standard error of that share; *apart* "
        "counts how many standard errors of the difference lie between the two."
    )


def share(right: float, n: int) -> str:
    """A share with its standard error, in %."""
    return f"{number(100 * right, 1)}% ± {number(100 * (right * (1 - right) / n) ** 0.5, 1)}"
