"""Ridge's guess for the last x of the first task, step by step."""

import numpy as np
import streamlit as st

from explain import WorkedStep, tex
from explain.core import dot_product, factor
from pages.family.learning_without_learning.tasks import (
    DRAW,
    EXAMPLES,
    TRANSFORMER,
    chosen,
    guesses_of,
    name_of,
    prompts,
)
from ui.text import number
from ui.views.worked_steps import show_steps


def ridge_by_hand() -> None:
    regression, n, draw = chosen(), EXAMPLES.value(), int(DRAW.value())
    drawn = prompts(regression, draw)
    x, y = (drawn[name][0].double().numpy() for name in "xy")
    guess = regression.ridge(x[None, :n], y[None, :n], x[None, n])[0]
    show_steps(steps(x[:n], y[:n], x[n], (regression.sigma, regression.penalty), float(guess)))
    own = guesses_of(regression, draw).by[TRANSFORMER][0, n - 1]
    st.caption(
        f"The Transformer guesses {number(float(own), 3)} for {name_of(2 * n)}. Its y, drawn with the noise, is "
        f"{number(float(y[n]), 3)}."
    )


def steps(
    x: np.ndarray, y: np.ndarray, asked: np.ndarray, noise: tuple[float, float], guess: float
) -> list[WorkedStep]:
    """λ, one number of Xᵀy, β̂ and the guess. noise: σ and λ"""
    (sigma, penalty), d = noise, len(asked)
    beta = np.linalg.solve(x.T @ x + penalty * np.eye(d), x.T @ y)
    named, total = dot_product(x[:, 0], y)
    last, guessed = dot_product(asked, beta)
    value = float(x[:, 0] @ y)
    listed = ",\\ ".join(tex(float(one)) for one in beta)
    return [
        WorkedStep(
            "λ is the variance of the noise times the count of numbers in x.",
            rf"{tex(sigma)}\cdot {factor(sigma)}\cdot {d} = {tex(penalty)}",
            penalty,
        ),
        WorkedStep(
            "The first number of Xᵀy: the first number of every x times its y, added up. "
            + named.replace("dimensions", "examples"),
            f"{total} = {tex(value)}",
            value,
        ),
        WorkedStep(
            "Five such numbers, and the 25 of XᵀX with λ added on its diagonal, are five equations for the five "
            "numbers of β. Their solution:",
            rf"\hat\beta = ({listed})",
            float(beta[0]),
        ),
        WorkedStep(f"The last x times this β. {last}", f"{guessed} = {tex(guess)}", guess),
    ]
