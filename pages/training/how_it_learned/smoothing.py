"""What is made small: the loss of each right piece, and what label smoothing asks for instead of certainty."""

import math

import streamlit as st

from experiments.training.losses import LOSSES, SMOOTHED
from model.trace import Trace
from pages.training.how_it_learned.snapshots import RECIPE, chosen, is_too_long, target_read
from ui.controls.piece_control import choose_part
from ui.text import bold, chance, number
from ui.views.attention_kinds import READABLE
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import table


def least_smoothed(vocab_size: int, epsilon: float) -> float:
    """The smallest smoothed loss there is: of a model that gives just the smoothed target."""
    right, other = 1 - epsilon + epsilon / vocab_size, epsilon / vocab_size
    return -right * math.log(right) - (vocab_size - 1) * other * math.log(other)


def smoothing(trace: Trace) -> None:
    if is_too_long(trace):
        return
    step = chosen()
    read = target_read(trace, step)
    losses, smoothed = (read.tensors[name][:, 0] for name in (LOSSES, SMOOTHED))
    size, epsilon = read.model.config.vocab_size, RECIPE.label_smoothing
    st.markdown(
        "Nobody gave your sentence a right translation, so the last snapshot's stands for it. Each bar is the **loss** "
        f"of a piece: −ln P at step {step:,}. Training makes their mean small."
    )
    texts = [token.text for token in read.labels[:READABLE]]
    column_chart(
        texts,
        [Series("loss", losses[:READABLE]), Series("smoothed loss", smoothed[:READABLE])],
        axis="nats",
        alt=f"Two bars for each of {len(texts)} pieces: its loss, and its smoothed loss.",
    )
    st.markdown(
        f"The mean loss is **{number(float(losses.mean()))}** nats. A blind guess among {size:,} pieces costs "
        f"ln {size:,} = {number(math.log(size), 2)}."
    )
    st.markdown(
        f"**Label smoothing.** A model that wants a loss of 0 must be quite certain, always. So training asked for a "
        f"little less: {epsilon:g} of the target is shared by all {size:,} pieces alike."
    )
    at = choose_part("A right piece", texts, 0, f"{trace.text}/{read.translation}", "smoothed")
    p = read.probabilities[at]
    right, other = 1 - epsilon + epsilon / size, epsilon / size
    costs = right * -math.log(p), smoothed[at] - right * -math.log(p)
    table(
        ("piece", "target", "the model's P", "target · −ln P"),
        [
            (texts[at], number(right, 6), chance(p), number(costs[0])),
            (f"the other {size - 1:,} together", number(other * (size - 1), 6), chance(1 - p), number(float(costs[1]))),
        ],
    )
    st.caption(
        f"The last column adds up to the smoothed loss of {bold(texts[at])}: **{number(float(smoothed[at]))}**. Each "
        f"of the others has a target of {number(other, 7)} and a −ln P of its own. No model can bring the smoothed "
        f"loss below **{number(least_smoothed(size, epsilon))}**."
    )
