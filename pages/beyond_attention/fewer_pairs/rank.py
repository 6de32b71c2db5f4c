"""Singular values of one head's weights, and what the head returns if only some of them are kept."""

import streamlit as st

from experiments.attention.rank import SHARE, spectrum
from figures.chart import BLUE, ORANGE
from model.trace import Trace
from pages.beyond_attention.fewer_pairs.readers import GPT, READER, TRANSLATOR, sparse
from ui.controls.control import Stops
from ui.controls.head_control import HeadControl
from ui.text import number
from ui.views.charts.curves import Axis, Line, curves

HEADS = {GPT: HeadControl(("decoder",), "decoder"), TRANSLATOR: HeadControl()}
RANK = Stops("Singular values kept, r", "rank", (1, 2, 4, 8, 16, 32, 64), default=4)


def low_rank(trace: Trace) -> None:
    st.markdown(
        "**Are the weights of low rank?** Any matrix is a sum of products of one column and one row. Its *singular "
        "values* say how much each product counts in the best such sum. If a few are enough, the *rank* is low."
    )
    reading = sparse(trace)
    head, r = HEADS[READER.value()].draw(reading.model), RANK.draw()
    weights, values = (reading.attention(head.attention, head.layer, of)[head.head] for of in ("weights", "v"))
    sizes, needed, errors = spectrum(weights, values)
    n = len(sizes)
    r = min(r, n)
    across = Axis("number of singular values, r", 0, n, [(i, str(i)) for i in range(0, n + 1, -(-n // 6))])
    named = {"singular value, % of the largest": sizes / sizes[0], "error of what the head returns, %": errors}
    lines = [
        Line(name, list(enumerate((100 * many).tolist(), n + 1 - len(many))), colour, dotted=True)
        for (name, many), colour in zip(named.items(), (BLUE, ORANGE), strict=True)
    ]
    curves(
        lines,
        across,
        Axis("%", 0, 105 * max(1.0, float(errors.max()))),
        alt="Singular values, and the error without the smaller ones",
        upright=r,
    )
    st.markdown(
        f"It takes **{needed}** of {n} singular values to hold {SHARE:.0%} of the sum of their squares. With r = {r}, "
        f"what the head returns is off by **{number(100 * float(errors[r]), 1)}%** of its length."
    )
    if head.attention == "decoder":
        st.caption(
            f"Exactly, a causal map has full rank, here {n}: zeros above the diagonal, weights above 0 on it. So each "
            "product that is left out is missed, if only a little."
        )
    st.caption(
        "*Linformer* (Wang et al. 2020) builds on this. Its theorem 1: a matrix whose rank grows only with log N can "
        "stand for the N × N weights, with a small error. It squeezes N keys and values to k and makes N × k weights. "
        "Here all weights are made first, then cut: that saves nothing. A short text says little about long ones."
    )
