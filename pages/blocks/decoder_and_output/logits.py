"""What the softmax makes of logits: a temperature, and one logit pushed."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
import torch

from experiments.blocks.logit_lens import LIKELIEST
from figures.statistics import entropy_bits, softmax
from model.decoding.strategies import filter_logits
from model.files.loaded_model import Array
from model.trace import Trace
from ui.controls.control import Number
from ui.controls.piece_control import choose_part
from ui.controls.vocabulary_entry import entries
from ui.text import in_markdown, magnitude, number
from ui.views.charts.bars import bars

ENOUGH = 0.9  # of the probability
TEMPERATURE = Number("Temperature τ", "temperature", 0.0, 3.0, 2.0, 0.1)
PUSH = Number("Add to its logit", "push", -10.0, 10.0, 3.0, 0.5)


def likeliest(logits: Array) -> list[int]:
    """Ids of the entries with the largest logits of a row (V), best first."""
    return [int(i) for i in np.argsort(-logits, kind="stable")[:LIKELIEST]]


def before_after_bars(
    names: Sequence[str], before: Array, after: Array, ids: Sequence[int], titles: tuple[str, str]
) -> None:
    """The probabilities of the same entries side by side, in the same order and on the same scale."""
    for column, title, shares in zip(st.columns(2, gap="large"), titles, (before, after), strict=True):
        with column:
            st.markdown(f"**{title}**")
            bars(names, [float(shares[i]) for i in ids], title)
            needed = int(np.searchsorted(np.cumsum(np.sort(shares)[::-1]), ENOUGH) + 1)
            st.markdown(
                f"Entropy **{number(float(entropy_bits(shares)), 2)} bits** · largest "
                f"**{number(float(shares.max()), 3)}** · entries that it takes to reach {ENOUGH}: **{needed:,}**"
            )


def temperature(trace: Trace, row: int) -> None:
    """The softmax of the logits divided by a temperature, as sampling uses it."""
    st.markdown(
        "Before the softmax, the logits may be divided by a number τ, the *temperature*. It is used when the next "
        "piece is drawn at random: below 1 the likely pieces gain, above 1 the unlikely ones."
    )
    tau = TEMPERATURE.draw()
    logits = trace.tensors["logits"][row]
    ids = likeliest(logits)
    before = softmax(logits)
    after = filter_logits(torch.tensor(np.log(before)), tau, 0, 1.0).numpy().astype(np.float64)
    before_after_bars(
        [entries()[i] for i in ids], before, after, ids, ("Before: τ = 1", f"After: τ = {number(tau, 1)}")
    )
    st.caption(
        f"Position {row + 1}, chosen under See. The entropy says how undecided the model is: 0 bits if one "
        f"entry has it "
        f"all, {number(float(np.log2(len(logits))), 2)} bits if all {len(logits):,} are alike. The order of the "
        "entries never changes. At τ = 0, where one cannot divide, the largest logit takes all. At a high τ the many "
        "unlikely entries add up, so people who sample often leave them out."
    )


def push(trace: Trace, row: int) -> None:
    """A number added to one logit: who gains, who loses."""
    st.markdown(
        "Add a number to one logit and nothing to the others. Above 0 that entry gains, and every other loses the same "
        "part of what it had; below 0 it is the other way round."
    )
    logits = trace.tensors["logits"][row].astype(np.float64)
    ids = likeliest(logits)
    names = [entries()[i] for i in ids]
    pushed = choose_part("Entry to push", names, 1, f"{trace.text} {row}", "entry_pushed")
    by = PUSH.draw()
    other = logits.copy()
    other[ids[pushed]] += by
    before, after = softmax(logits), softmax(other)
    before_after_bars(names, before, after, ids, ("Before", f"After: {number(by, 1)} added to one logit"))
    one, two = (n for n in range(3) if n != pushed) if pushed < 3 else (0, 1)
    ratios = [float(shares[ids[one]] / shares[ids[two]]) for shares in (before, after)]
    st.markdown(
        f"**{in_markdown(names[pushed])}** goes from {magnitude(float(before[ids[pushed]]))} to "
        f"{magnitude(float(after[ids[pushed]]))}. The others keep their ratios: **{in_markdown(names[one])}** was "
        f"{magnitude(ratios[0])} times as likely as **{in_markdown(names[two])}**, and now it is "
        f"{magnitude(ratios[1])} times."
    )
    st.caption(
        f"Position {row + 1}, chosen under See. A softmax turns differences of logits into ratios of probabilities."
    )
