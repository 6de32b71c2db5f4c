"""The errors of the five ways to guess, by the number of examples: as lines, and at one number as a table."""

import numpy as np
import streamlit as st

from figures.chart import BLUE, GREEN, GREY, ORANGE, PURPLE
from pages.family.learning_without_learning.tasks import (
    LEAST,
    MOST,
    NEAREST,
    RIDGE,
    TRANSFORMER,
    ZERO,
    Guesses,
)
from ui.text import number
from ui.views.charts.curves import Axis, Line, curves
from ui.views.charts.tables import numbers_of_figure, table

COLOURS = {TRANSFORMER: BLUE, RIDGE: ORANGE, LEAST: PURPLE, NEAREST: GREEN, ZERO: GREY}
ROOM = 1.5  # the picture ends at so many times the error of always guessing 0
BEYOND = 10  # so many times its height a line goes on above it, where nobody sees it
LISTED = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40)


def error_lines(guesses: Guesses, sigma: float, n: int) -> None:
    """A line for each way, up to the edge of the picture. n: the number of examples to mark"""
    errors = {name: guesses.errors(name) for name in COLOURS}
    top = ROOM * float(errors[ZERO].max())
    said = ", ".join(f"{name} {number(float(of[n - 1]), 2)}" for name, of in errors.items())
    curves(
        [
            Line(name, [*enumerate(np.minimum(of, BEYOND * top).tolist(), 1)], COLOURS[name], dashed=name == RIDGE)
            for name, of in errors.items()
        ],
        Axis("examples in the prompt", 1, MOST, [(float(at), str(at)) for at in (1, 5, 10, 20, 30, 40)]),
        Axis("mean squared error of the guess", 0, top),
        alt=f"Mean squared error by the number of examples, 1 to {MOST}. With {n}: {said}.",
        upright=n,
        across=sigma**2,
    )
    if beyond := [(name, int(of.argmax()) + 1, float(of.max())) for name, of in errors.items() if of.max() > top]:
        most = ", ".join(f"{name} with {at} example{'s' * (at > 1)}: {number(error, 1)}" for name, at, error in beyond)
        st.caption(f"Some errors are too large for the picture. The largest of {most}.")


def error_table(guesses: Guesses, n: int) -> None:
    """The errors with n examples, and whose guesses are near ridge's."""
    lines = [
        (name, number(float(guesses.errors(name)[n - 1]), 3), number(guesses.apart(name, n), 3)) for name in COLOURS
    ]
    table((f"{n} example{'s' * (n > 1)}", "mean squared error", "mean squared distance to ridge's guesses"), lines)


def error_numbers(guesses: Guesses) -> None:
    numbers_of_figure(
        ("examples", *COLOURS),
        [(str(n), *(number(float(guesses.errors(name)[n - 1]), 3) for name in COLOURS)) for n in LISTED],
    )
