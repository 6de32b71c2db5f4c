"""The questions of the lesson on several heads."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from model.interventions import Head
from model.trace import Trace
from pages.attention.multi_head.cost import learned, multiplications
from pages.attention.multi_head.measures import change_without
from ui.controls.head_control import HEAD
from ui.course.quiz import Ask, Question
from ui.text import in_markdown, magnitude, number
from ui.views.head_names import name_of

LIMITS = 0.9, 0.5, 0.1  # how likely a translation still is without one head: between these lie the options


def predict(trace: Trace) -> Sequence[Ask]:
    return different(trace, HEAD.value(trace.model).layer), partial(more, trace), partial(matters, trace)


def different(trace: Trace, layer: int) -> Question:
    """On how many different pieces the heads of an encoder layer have their largest weight, in one row."""
    row = len(trace.src) // 2
    weights = trace.attention("encoder", layer)[:, row]  # (H,S)
    most = weights.argmax(-1)
    n_heads, right = len(weights), len(set(most.tolist()))
    looks = [
        f"head {n + 1} at {in_markdown(trace.src[j].text)} (piece {j + 1}, {number(float(weights[n, j]), 2)})"
        for n, j in enumerate(most)
    ]
    wrong = {
        n - 1: f"{n} is too few." if n < right else f"{n} is too many: some heads look at the same piece."
        for n in range(1, n_heads + 1)
        if n != right
    }
    return Question(
        "different",
        f"Layer {layer + 1} of the encoder has {n_heads} heads. Look at one row, that of "
        f"**{in_markdown(trace.src[row].text)}** (piece {row + 1}): each head has its largest weight on some piece. On "
        "how many different pieces are these?",
        ("1: all heads on the same", *(str(n) for n in range(2, n_heads)), f"{n_heads}: each on another"),
        frozenset({right - 1}),
        f"Each looks most at one: {', '.join(looks)}.",
        wrong=wrong,
    )


def more(trace: Trace) -> Question:
    """What twice as many heads would cost in the encoder."""
    config, t = trace.model.config, len(trace.src)
    n_heads, d_k, d_model = config.n_heads, config.d_k, config.d_model
    to_learn = [learned(d_model, h) for h in (n_heads, 2 * n_heads)]
    totals = [sum(multiplications(t, t, d_model, h).values()) for h in (n_heads, 2 * n_heads)]
    return Question(
        "more",
        f"We give a layer {2 * n_heads} heads of {d_k // 2} numbers instead of {n_heads} of {d_k}. What becomes of the "
        "numbers that it has to learn, and of its multiplications?",
        ("Both double.", "Both stay the same.", "Both halve.", "The learned numbers stay, the work doubles."),
        frozenset({1}),
        f"It learns {to_learn[0]:,} numbers before and {to_learn[1]:,} after, and multiplies {totals[0]:,} times "
        f"before and {totals[1]:,} after (in the encoder, on your sentence). Twice as many heads are half as wide.",
        wrong={
            0: "They would, if the new heads were as wide as the old ones.",
            2: "Each head is half as wide, but there are twice as many of them.",
            3: "The work of one head halves with its width, just as the numbers do that it learns.",
        },
    )


def matters(trace: Trace) -> Question:
    """How much the head costs that the translation needs most."""
    change_of = change_without(trace)
    left = {head: math.exp(change) for head, change in change_of.items()}
    worst: Head = min(left, key=lambda head: left[head])
    right = sum(left[worst] < limit for limit in LIMITS)
    return Question(
        "matters",
        f"The model has {len(left)} heads. Switch them off one at a time, all others on, and let it read the same "
        "translation again. Without the head that costs most: how likely is the translation still, compared with "
        "before?",
        (
            "At least 0.9 times as likely.",
            "Less than 0.9 times, but at least half as likely.",
            "Less than half, but at least a tenth as likely.",
            "Less than a tenth as likely.",
        ),
        frozenset({right}),
        f"Without {name_of(worst)} it is {magnitude(left[worst])} times as likely as before. Most heads cost far less: "
        f"the middle one of all {len(left)} leaves it {magnitude(float(np.median(list(left.values()))))} times as "
        "likely.",
        wrong={
            n: f"It falls further: below {LIMITS[n]}."
            if n < right
            else f"On this sentence no single head brings it below {LIMITS[n - 1]}."
            for n in range(len(LIMITS) + 1)
            if n != right
        },
    )
