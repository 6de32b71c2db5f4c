"""Idea, one click deeper: rules that fail as an encoding, and a table small enough to check by hand."""

import numpy as np
import streamlit as st

from figures.positions import candidate, closest, rule_figure
from model.parts.positions import sinusoidal_encoding
from model.trace import Trace
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.control import Choice
from ui.text import magnitude, number
from ui.views.charts.tables import numbers_of_figure

# What is tried before sines and cosines, with constants worth trying, and why it must fail.
CONSTANTS = {
    "P(t) + c": ("1", "0.1", "0.01"),
    "P(t) · c": ("1.1", "0.9", "−1"),
    "e^(P(t) · c)": ("1", "0.1"),
    "P(t) · t · c": ("1", "0.1"),
}
REASONS = {
    "P(t) + c": "A steady climb has no end: large steps soon drown the word, small ones make neighbours alike.",
    "P(t) · c": "A factor above 1 explodes, one below 1 fades to nothing, and −1 goes round in a circle of two.",
    "e^(P(t) · c)": "Either it explodes, or it settles on one number and all later positions look the same.",
    "P(t) · t · c": "The factor grows with t: below 1 it shrinks, at 1 two neighbours are equal, above 1 it explodes.",
}
LARGEST, NEAREST = 10, 0.05  # beyond the first a number is no longer bounded here, below the second no longer unique
SHOWN = 20  # positions in the picture
RULE = Choice("P(t + 1) =", "rule", (*CONSTANTS, "sine and cosine"))
CONSTANT = {rule: Choice("c", f"constant_{n}", constants) for n, (rule, constants) in enumerate(CONSTANTS.items())}


@st.fragment
def candidates(trace: Trace) -> None:
    st.markdown(
        "Let one number stand for the position. Begin with P(1) = 1, and make each next one from the one before "
        "(here t counts positions from 1):"
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        rule = RULE.draw()
        constant = CONSTANT[rule].draw() if rule in CONSTANT else ""
    config = trace.model.config
    length, d_model = config.max_len, config.d_model
    if constant:
        values = candidate(rule, float(constant.replace("−", "-")), length)
        curves, names, why = values[:SHOWN, None], ["P(t)"], REASONS[rule]
    else:
        values = sinusoidal_encoding(length + 1, d_model).numpy()[1:]
        shown = [0, 1, d_model // 4]
        names = [f"dimension {d + 1}" for d in shown]
        curves = values[:SHOWN, shown]
        why = (
            f"One wave alone would repeat; {d_model // 2} pairs of waves, each slower than the last, do not. The "
            f"distance is that between vectors of {d_model} numbers."
        )
    judge(trace, rule, values, why)
    end = 5 if constant else 1.2
    st.plotly_chart(
        rule_figure(curves, names, end),
        key="candidate_figure",
        config={"displayModeBar": False},
        alt=f"The first {SHOWN} positions under the rule {rule}. {why}",
    )
    st.caption(f"The picture ends at {end} and −{end}; what is larger leaves it.")
    numbers_of_figure(("t", *names), [(str(t), *(magnitude(float(v)) for v in row)) for t, row in enumerate(curves, 1)])


def judge(trace: Trace, rule: str, values: np.ndarray, why: str) -> None:
    """Whether a rule stays bounded and tells positions apart, by its numbers."""
    largest, nearest = float(np.abs(values).max()), closest(values)
    st.markdown(
        f"Over {len(values)} positions: the largest size is **{magnitude(largest)}** "
        f"({'bounded' if largest <= LARGEST else 'not bounded'}), the two closest positions are "
        f"**{magnitude(nearest)}** apart ({'unique' if nearest >= NEAREST else 'not to be told apart'}). {why}"
    )
    stack = trace.model.anatomy.stacks[0]
    embedded = np.abs(trace.tensors[f"{stack.embedding}.scaled"]).max()
    st.caption(
        f"Here a size above {LARGEST} counts as not bounded, a distance below {NEAREST} as not to be told apart. For "
        f"comparison: the embeddings of your sentence, to which this is added, reach {number(float(embedded), 2)}."
    )


def small_table() -> None:
    matrix(
        sinusoidal_encoding(5, 5).numpy().T,
        Labels(
            [f"dim {d + 1}" for d in range(5)], [str(t) for t in range(5)], describe="position {column}, {row}: {value}"
        ),
        Caption(
            "Positions 0 to 4, d_model = 5",
            "A column is a position, counted from 0 as in the formula; a row is a dimension, counted from 1: sine, "
            "cosine, sine, cosine, sine.",
            csv_name="encoding of 5 positions in 5 dimensions",
        ),
        key="small_table",
        scale=Scale("signed", limit=1.0, digits=3),
    )
    st.caption(
        "Computed just now by the function under *Code*. Five is odd, so the last sine has no cosine. Each pair turns "
        "more slowly than the one before."
    )
