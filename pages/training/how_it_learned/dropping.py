"""Dropout: in training some numbers are set to 0 at random, so the same sentence twice gives two results."""

import numpy as np
import streamlit as st

from experiments.blocks.dropout import probabilities_with_dropout
from model.files.loaded_model import Array
from model.trace import Trace
from pages.training.how_it_learned.snapshots import chosen, is_too_long, target_read
from ui import engine
from ui.controls.address import read_count, write_count
from ui.text import number
from ui.views.attention_kinds import READABLE
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import numbers_of_figure

DRAWS = 9


def dropping(trace: Trace) -> None:
    if is_too_long(trace):
        return
    step, draw = chosen(), read_count("dropped", DRAWS)
    read = target_read(trace, step)
    rate = read.model.config.dropout
    st.markdown(
        f"In training **dropout** sets each number that a sub-layer writes to 0 with a chance of {rate:g}, and each "
        f"number of the embeddings too. The others are divided by {1 - rate:g}, so that sums stay as large on average. "
        "So the same sentence through the same weights gives two results."
    )
    st.button("Draw other numbers", on_click=write_count, args=("dropped", (draw + 1) % DRAWS))
    on, again, off, off_again = (
        engine.run(probabilities_with_dropout, read.model, read.src_ids, read.label_ids, 2 * draw + n % 2, n < 2)
        for n in range(4)
    )
    series = {"dropout on": on, "on, once more": again, "off": off}
    texts = [token.text for token in read.labels[:READABLE]]
    column_chart(
        texts,
        [Series(name, values[:READABLE]) for name, values in series.items()],
        axis=f"probability at step {step:,}",
        limit=1.0,
        alt=f"Three bars for each of {len(texts)} pieces: its probability with dropout, with dropout again, without.",
    )
    st.markdown(
        f"With dropout on, two runs give probabilities that differ by up to **{largest(on, again)}**. With it off, two "
        f"runs differ by **{largest(off, off_again)}**. Dropout is on only while a model trains."
    )
    numbers_of_figure(
        ("piece", *series),
        [(text, *(number(float(values[n])) for values in series.values())) for n, text in enumerate(texts)],
    )


def largest(one: Array, other: Array) -> str:
    """The largest difference, as text."""
    return number(float(np.abs(one - other).max()))
