"""Four kinds of task, each with another head: how well they are learned, with pre-training and without."""

import functools
import json
import math
from typing import Any

import streamlit as st

from model.trace import Trace
from training.loop.finetune_loop import KINDS
from training.loop.tasks import KEPT
from ui.text import number
from ui.views.charts.tables import table

ASKS = {
    "sentence": ("a class for a sentence", "Is this film review kind or unkind?"),
    "pair": ("a class for a pair", "Do these two sentences mean the same?"),
    "span": ("the two ends of a span", "Which words of the story answer the question?"),
    "tags": ("a tag for every word", "Is it a noun, a verb, an adjective, …?"),
}
NAMES = {"gpt-mini": "GPT", "bert-mini": "BERT"}
CLEAR = 2  # standard errors, beyond which a difference is hardly chance


@functools.cache
def measured() -> dict[str, Any]:
    """By model: the settings, and the figures of each task."""
    kept: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return kept


def tasks_of(model: str) -> list[dict[str, Any]]:
    return sorted(measured()[model]["tasks"].values(), key=lambda one: KINDS.index(one["kind"]))


def with_and_without(trace: Trace) -> None:
    st.markdown(
        "**Does pre-training help?** We fine-tuned our small models on one task of each kind, from their pre-trained "
        "weights and from random ones. Each kind of task needs another head."
    )
    for model in filter(measured().__contains__, NAMES):
        table_of(model)
    st.caption(
        "Both learned alike: all weights, the same examples in the same order. Each had the learning rate that did "
        "best on texts kept apart for choosing. *Right* is the share of test answers that are; a span is right if both "
        "its ends are. After ± stands the standard error of that share; *apart* counts how many standard errors of the "
        "difference lie between the two. Pre-training read the sentences of the pairs, but no pairs and no answers."
    )


def table_of(model: str) -> None:
    found, settings = tasks_of(model), measured()[model]["settings"]
    st.markdown(
        f"**The small {NAMES[model]}**, on up to {settings['examples']:,} examples of each task, read "
        f"{settings['epochs']} times:"
    )
    table(
        ("the head gives", "for example", "pre-trained: right", "random: right", "apart"),
        [
            (
                *ASKS[one["kind"]],
                *(share(one["right"][way], one["n"]) for way in ("pretrained", "random")),
                number(one["standard_errors_apart"], 2),
            )
            for one in found
        ],
    )
    clear = sum(one["standard_errors_apart"] > CLEAR for one in found)
    st.markdown(
        f"In **{clear}** of {len(found)} tasks the pre-trained {NAMES[model]} is better by more than {CLEAR} standard "
        f"errors. If pre-training changed nothing, chance would do that in one or more of {len(found)} tasks in about "
        f"{by_chance(len(found)):.0f} of 100 such experiments."
    )
    behind = max(-one["standard_errors_apart"] for one in found)
    if 0 < behind <= CLEAR:
        st.markdown(
            f"Where *apart* is below 0, random weights did better: by at most {number(behind, 2)} standard errors, "
            "which may be chance."
        )


def by_chance(n: int) -> float:
    """In how many of 100 experiments one or more of n differences are above CLEAR standard errors by chance."""
    return 100 * (1 - (1 - math.erfc(CLEAR / math.sqrt(2)) / 2) ** n)


def share(right: float, n: int) -> str:
    """A share with its standard error, in %."""
    return f"{number(100 * right, 1)}% ± {number(100 * (right * (1 - right) / n) ** 0.5, 1)}"
