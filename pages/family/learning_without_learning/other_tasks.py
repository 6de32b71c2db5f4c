"""Tasks unlike those of training: other lengths of x and β, with what everyone guesses."""

from dataclasses import replace

import streamlit as st

from pages.family.learning_without_learning.errors import error_lines
from pages.family.learning_without_learning.tasks import DRAW, EXAMPLES, RIDGE, TRAINED, TRANSFORMER, chosen, guesses_of
from training.loop.in_context import Regression
from ui.controls.control import Choice
from ui.text import number
from ui.views.charts.tables import table

SIZES = ("0.5", "1", "2", "3")
OTHERWISE = "2"
X_SIZE = Choice("Deviation of the numbers of x (in training: 1)", "icl_x", SIZES, default=OTHERWISE)
BETA_SIZE = Choice("Length of β (in training: about 1)", "icl_beta", SIZES, default="1")
CHANGED = Regression(x_size=float(OTHERWISE))


def other_tasks() -> None:
    """The chosen tasks beside those of training, at the chosen number of examples."""
    st.subheader("Leave what it was trained on", anchor=False)
    st.markdown(
        "The rule stays as simple as it was: y is x times β, plus noise. But x, or β, is longer or shorter than in "
        "training. Ridge is told how much, the Transformer is not."
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        x_size, beta_size = float(X_SIZE.draw()), float(BETA_SIZE.draw())
    n, draw = EXAMPLES.value(), int(DRAW.value())
    other = replace(chosen(), x_size=x_size, beta_size=beta_size)
    guesses = guesses_of(other, draw)
    error_lines(guesses, other.sigma, n)
    rows = {
        "as in training": Regression(),
        **({f"noise σ = {other.sigma:g}, as in See": chosen()} if other.sigma != TRAINED else {}),
        f"σ = {other.sigma:g}, x times {x_size:g}, β times {beta_size:g}": other,
    }
    lines = []
    for name, regression in rows.items():
        one = guesses_of(regression, draw)
        errors = [float(one.errors(way)[n - 1]) for way in (TRANSFORMER, RIDGE)]
        lines.append((name, *(number(error, 3) for error in errors), number(one.ratio(n), 2)))
    table((f"tasks, {n} example{'s' * (n > 1)}", TRANSFORMER, RIDGE, "Transformer / ridge"), lines)
    st.caption(
        "Mean squared errors. A model that does just what ridge does in training would stay near 1 where only x "
        "changes: ridge's λ does not depend on x."
    )
