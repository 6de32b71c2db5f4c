"""The questions of the lesson on inference."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from experiments.writing.sampling import narrowed_at
from model.trace import Trace
from pages.inference.inference import state
from pages.inference.inference.another import total
from ui.course.quiz import Ask, Question
from ui.text import bold, number

BEGINNINGS = 5  # of the beam
LISTED = 6  # probabilities that the question on top-p names; of them at most one less is kept
THRESHOLDS = 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05  # top-p: the first that keeps so few

PARALLEL = Question(
    "parallel",
    "Training computes all rows of the decoder at once. Why does inference not?",
    (
        "Because the model is too large to run in parallel.",
        "Because each piece is part of the input of the next step, and does not exist before it is written.",
        "Because the cache allows one position at a time only.",
        "Because the causal mask forbids it.",
    ),
    frozenset({1}),
    "In training the right translation is known, so all inputs are there from the start.",
    wrong={
        0: "It is the same model in training, where all rows run at once.",
        2: "The cache only saves work. Without it a step has to wait for the piece before all the same.",
        3: "The mask is there in training too. It is what makes the parallel pass give the same numbers.",
    },
)


def predict(trace: Trace) -> Sequence[Ask]:
    return PARALLEL, partial(likelier, trace), partial(nucleus, trace), partial(gpt, trace)


def nucleus(trace: Trace) -> Question:
    """How many pieces top-p keeps, at the step where the model is least sure: to be added up by hand."""
    step = int(np.argmin([one.candidates[0].probability for one in trace.steps]))
    order = np.sort(narrowed_at(trace, step, 1.0, 0, 1.0)[0])[::-1]
    sums = order[:LISTED].cumsum()
    kept = {p: int((narrowed_at(trace, step, 1.0, 0, p)[1] > 0).sum()) for p in THRESHOLDS}
    few = [p for p in THRESHOLDS if kept[p] < LISTED]
    # Rounded to three decimals the numbers must not leave it open; a last resort is any that keeps few.
    clear = [p for p in few if np.abs(sums - p).min() > 0.004]
    p = (clear or few or THRESHOLDS[-1:])[0]
    right = min(kept[p], LISTED - 1)
    names = ", ".join(
        f"{bold(state.text_of(trace, one.id))} {number(one.probability, 3)}"
        for one in trace.steps[step].candidates[:LISTED]
    )
    wrong = {
        n - 1: f"The sum of the first {n} is {number(float(sums[n - 1]), 3)}, which is less than {p}."
        if n < right
        else f"{n} is more than it needs: the sum of the first {right} reaches {p} already."
        for n in range(1, LISTED)
        if n != right
    }
    return Question(
        "nucleus",
        "The next piece need not be the likeliest. One can also draw it at random, as often as its probability says. "
        "*Top-p* draws from the likeliest pieces only: the fewest whose probabilities together reach p. "
        f"At step {step + 1} the likeliest are {names}. How many of them does top-p {p} keep?",
        tuple(str(n) for n in range(1, LISTED)),
        frozenset({right - 1}),
        f"The sum of the first {right} is {number(float(sums[right - 1]), 3)}. Where the model is sure of one piece, "
        "top-p keeps just that one.",
        wrong=wrong,
    )


def likelier(trace: Trace) -> Question:
    """Whether beam search finds a likelier translation than greedy search."""
    best = state.beam(trace, BEGINNINGS, ())[-1]
    likeliest = max(best.finished or best.hypotheses, key=lambda one: one.log_probability)
    own, other = total(trace), likeliest.log_probability
    same = likeliest.ids == trace.label_ids
    right = 2 if same else 0 if other > own else 1
    compared = f"{number(other, 2)} is {'closer to' if other > own else 'further from'} 0 than {number(own, 2)}."
    wrong = {0: compared, 1: compared, 2: "It finds another sentence here."}
    if same:
        finds = "It finds the very same sentence here, so it cannot be"
        wrong = {0: f"{finds} likelier.", 1: f"{finds} less likely."}
    return Question(
        "beam",
        f"*Greedy search* takes the likeliest piece at every step. *Beam search* keeps {BEGINNINGS} beginnings of a "
        "translation and goes on from each of them. On this sentence, its likeliest translation is…",
        ("likelier than the greedy one", "less likely than the greedy one", "the very same"),
        frozenset({right}),
        f"Greedy: {bold(trace.translation or '(nothing)')} with a log-probability of {number(own, 2)}. Beam: "
        f"{bold(state.as_text(trace, likeliest) or '(nothing)')} with {number(other, 2)}. (A log-probability adds up "
        "the logarithms of the pieces' probabilities; closer to 0 is likelier.) Nothing guarantees that a beam does "
        "better: it, too, drops beginnings.",
        wrong={n: says for n, says in wrong.items() if n != right},
    )


def gpt(trace: Trace) -> Question:
    here = f"{trace.model.n_parameters / 1e6:.1f} million"
    return Question(
        "gpt",
        "The first GPT writes one piece at a time as this decoder does, but it has no encoder to read from. Its count "
        "of parameters (learned numbers) is closest to…",
        ("117", "117 thousand", "117 million", "117 billion"),
        frozenset({2}),
        f"About 117 million (Radford et al. 2019). The model here has {here}.",
        wrong={
            0: f"That is less than one row of the embedding here, {trace.model.config.d_model} numbers.",
            1: f"The small model here has more: {here}.",
            3: "GPT-3 came near that, two years later: 175 billion (Brown et al. 2020).",
        },
    )
