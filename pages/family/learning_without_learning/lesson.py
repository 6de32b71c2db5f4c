"""The lesson's six parts. It needs no sentence: its model reads numbers."""

from collections.abc import Sequence

import streamlit as st

from model.families.in_context import InContext
from model.files.load_special_models import loaded_in_context
from model.trace import Trace
from pages.family.learning_without_learning.errors import error_lines, error_numbers, error_table
from pages.family.learning_without_learning.looking import all_heads, one_weight
from pages.family.learning_without_learning.other_tasks import CHANGED, OTHERWISE, other_tasks
from pages.family.learning_without_learning.published import measured_after_training
from pages.family.learning_without_learning.ridge import ridge_by_hand
from pages.family.learning_without_learning.scene import scene
from pages.family.learning_without_learning.tasks import (
    DRAW,
    EXAMPLES,
    LEAST,
    MOST,
    N_TASKS,
    RIDGE,
    SIGMA,
    TRAINED,
    TRANSFORMER,
    ZERO,
    chosen,
    guesses_of,
)
from training.loop.in_context import Regression, least_squares, nearest_neighbours
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Ask, Question
from ui.text import number


def idea(trace: Trace) -> None:
    st.markdown(
        "So far, learning meant that training changes the weights. Here no weight changes. In every task a new hidden "
        "rule β makes y from x, with some noise. To guess well, the small Transformer must work out the rule **while "
        "it reads** the examples. This is *in-context learning*."
    )
    st.latex(r"y_i = x_i^\top\beta+\varepsilon_i,\qquad x_1,\,y_1,\,x_2,\,y_2,\,\ldots,\,x_{N+1},\;?")
    with st.expander("How a task is drawn, and how well one can guess at all"):
        st.markdown(
            "The numbers of x are drawn from a bell curve with deviation 1, those of β with deviation 1/√5, and the "
            "noise ε with deviation σ. With this knowledge the best way to guess is *ridge regression*: it weighs how "
            "well a β fits the examples against how long it is."
        )
        st.latex(
            r"\hat\beta=(X^\top X+\lambda I)^{-1}X^\top y,\qquad \lambda=\sigma^2 d,\qquad \hat y=x_{N+1}^\top\hat\beta"
        )
        st.markdown(
            "The rows of X are the examples' x, and d = 5. On average over all tasks no way to guess has a smaller "
            "squared error: ridge gives what Bayes' rule expects. *Least squares* is the same with λ = 0. *Nearest "
            "neighbours* takes the mean y of the three examples whose x is nearest. Nobody told the Transformer any "
            "of this: in training it saw many such tasks, and guessed."
        )
        st.caption(
            "After Garg et al. 2022, who trained larger ones, and Bai et al. 2023, who showed that a Transformer can "
            "compute ridge regression."
        )
    st.caption("The model reads numbers alone. From your sentence comes the seed that draws the rule of the picture.")


def controls(trace: Trace) -> None:
    for control in (EXAMPLES, SIGMA, DRAW):
        control.draw()


def see(trace: Trace) -> None:
    st.markdown(
        "**How good is a guess after 1, 2, 3 … examples?** Beside the Transformer stand four plain ways to guess. "
        "**Ridge** regression knows how the tasks are drawn: on average no method does better. **Least squares** takes "
        "the β that fits the examples best, noise and all. Then the mean y of the **3 nearest** examples, and **always "
        "0**."
    )
    regression, n = chosen(), EXAMPLES.value()
    guesses = guesses_of(regression, int(DRAW.value()))
    error_lines(guesses, regression.sigma, n)
    unlike = f" It was trained with σ = {TRAINED:g} only, and is not told that σ is another now; ridge is."
    st.caption(
        f"Means over {N_TASKS} tasks that it has never seen. With {n} example{'s' * (n > 1)} the Transformer's error "
        f"is **{number(guesses.ratio(n), 2)} times** ridge's. The dotted line across is the noise, σ² = "
        f"{number(regression.sigma**2, 2)}, which no method can predict." + unlike * (regression.sigma != TRAINED)
    )
    error_table(guesses, n)
    error_numbers(guesses)


def check(trace: Trace) -> None:
    one_weight()
    with st.expander("Ridge's guess for the same x, worked out"):
        ridge_by_hand()


def do(trace: Trace) -> None:
    other_tasks()
    all_heads()
    measured_after_training()


def predict(trace: Trace) -> Sequence[Ask]:
    return nothing_changes(), against_zero, longer_x


def nothing_changes() -> Question:
    n = loaded_in_context().n_parameters
    return Question(
        "weights",
        f"The model has {n:,} weights. It reads {MOST} examples and guesses. How many weights have changed?",
        ("none", "those of the last layer", "all of them"),
        frozenset({0}),
        "None changes. What it has found out stands in the rows of numbers that it computes, and is gone with them.",
        wrong={1: "No layer is trained while it reads.", 2: "That would be training; this model only reads."},
    )


def against_zero() -> Question:
    errors = {name: guesses_of(Regression(), DRAW.otherwise).errors(name)[4] for name in (LEAST, ZERO, RIDGE)}
    options = ("smaller than that of always guessing 0", "larger than that of always guessing 0")
    right = int(errors[LEAST] > errors[ZERO])
    return Question(
        "five",
        "An x has five numbers. From five noisy examples, least squares finds the one β that fits all five exactly. "
        "How large is its error on the next x?",
        options,
        frozenset({right}),
        f"Least squares {number(float(errors[LEAST]), 2)}, always 0 {number(float(errors[ZERO]), 2)}, ridge "
        f"{number(float(errors[RIDGE]), 2)}. A β that fits the noise as well is often far too long.",
        wrong={1 - right: f"It is {options[right]}."},
    )


def longer_x() -> Question:
    n = int(EXAMPLES.default)
    ratios = [guesses_of(one, DRAW.otherwise).ratio(n) for one in (Regression(), CHANGED)]
    own, best = (float(guesses_of(CHANGED, DRAW.otherwise).errors(name)[n - 1]) for name in (TRANSFORMER, RIDGE))
    low, high = number(1.1 * best, 2), number(2 * best, 2)
    says = (f"at most {low}", f"from {low} to {high}", f"above {high}")
    options = ("up to 1.1 times ridge's", "1.1 to 2 times ridge's", "more than twice ridge's")
    right, before = (sum(ratio > limit for limit in (1.1, 2)) for ratio in (ratios[1], ratios[0]))
    return Question(
        "longer",
        f"In training the numbers of x had a deviation of 1. There the Transformer's error with {n} examples is "
        f"{options[before]}. Now every x is {OTHERWISE} times as long, and the rule is as simple as before. How large "
        "is its error?",
        options,
        frozenset({right}),
        f"It is {number(own, 2)}, {number(ratios[1], 2)} times ridge's; before it was {number(ratios[0], 2)} times.",
        wrong={at: f"That would be an error {says[at]}." for at in {0, 1, 2} - {right}},
    )


LESSON = Lesson(
    "learning-without-learning",
    "Learning without learning",
    asks="Can it find your rule while it reads?",
    idea=idea,
    predict=predict,
    bench=Bench(controls=controls, see=see, check=check, do=do),
    code=(InContext, Regression, least_squares, nearest_neighbours),
    on_map=OnMap(readers=(), pictured=("small Transformer", lambda: [loaded_in_context()]), scene=scene),
)
