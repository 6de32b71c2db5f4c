"""What the lesson on the encoder asks before it shows anything."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from experiments.inputs.contextual_vectors import (
    MONEY,
    RIVER,
    Shared,
    alike,
    different_words,
    shared_words,
    travelled,
    vectors,
)
from model.trace import Trace
from pages.blocks.encoder.change import MOVED, chosen_change, with_change
from pages.blocks.encoder.two_sentences import MANY, NEARLY_THE_SAME, chosen_word, second_trace
from ui import engine
from ui.course.quiz import Ask, Question
from ui.text import in_markdown, number


def predict(trace: Trace) -> Sequence[Ask]:
    other = second_trace(trace)
    shared = shared_words(trace.src, other.src)[:MANY]
    one, two = (trace, other) if shared else tuple(engine.trace(one, name=trace.model.name) for one in (MONEY, RIVER))
    shared = shared or shared_words(one.src, two.src)
    word = shared[chosen_word(shared)]
    return where_apart(one, two, word), partial(how_many_move, trace), partial(how_alike, one, two, word)


def pair_in_words(one: Trace, two: Trace, word: Shared) -> str:
    return f"*{in_markdown(one.text)}* and *{in_markdown(two.text)}* share the word **{in_markdown(word.word)}**."


def where_apart(one: Trace, two: Trace, word: Shared) -> Question:
    apart = np.abs(vectors(one, word.one) - vectors(two, word.two)).max(1)
    first = int(np.argmax(apart > 1e-6)) if (apart > 1e-6).any() else 3
    return Question(
        "apart",
        f"{pair_in_words(one, two, word)} Where do its two vectors differ for the first time?",
        (
            "already at the look-up",
            "once the positions are added",
            "after the first layer",
            "only higher up, or nowhere",
        ),
        frozenset({min(first, 3)}),
        f"The largest difference of a number is {number(float(apart[0]), 4)} at the look-up, "
        f"{number(float(apart[1]), 4)} with positions and {number(float(apart[2]), 4)} after the first layer. The "
        "look-up knows nothing but the id; positions differ only where the places do; the neighbours come in with "
        "attention.",
        wrong=without(
            min(first, 3),
            "The look-up gives the same row for the same id, whatever the sentence.",
            "They stand in the same place in both sentences, or they differ even before." if first != 1 else "",
            "By then they differ already, or not yet.",
            "They differ before that.",
        ),
    )


def how_many_move(trace: Trace) -> Question:
    row, word = chosen_change(trace)
    moved = (
        np.delete(engine.run(travelled, trace.model, trace.src_ids, with_change(trace, row, word))[:, 2], row) > MOVED
    )  # after layer 1
    right = 0 if not moved.any() else 2 if moved.all() else 1
    return Question(
        "travel",
        f"Replace **{in_markdown(trace.src[row].text)}** (piece {row + 1}) by *{in_markdown(word)}*. How many "
        "other rows have moved by more than a thousandth of their length after the first layer?",
        ("none", "some", "all"),
        frozenset({right}),
        f"It is {int(moved.sum())} of {len(moved)}. Every position sees all positions, in every layer; how much "
        f"it takes "
        "from each is another matter.",
        wrong=without(
            right,
            "Self-attention lets every row see the piece that changed.",
            f"The count is {int(moved.sum())} of {len(moved)}.",
            "Some rows take so little from that piece that they stay below a thousandth.",
        ),
    )


def how_alike(one: Trace, two: Trace, word: Shared) -> Question:
    top, different = float(alike(vectors(one, word.one), vectors(two, word.two))[-1]), different_words(one, two)[-1]
    right = 3 if not np.isfinite(different) else 0 if top > NEARLY_THE_SAME else 1 if top > different + 0.1 else 2
    return Question(
        "alike",
        f"{pair_in_words(one, two, word)} After the last layer its two vectors are…",
        (
            f"nearly the same (cosine above {NEARLY_THE_SAME})",
            "clearly apart, but more alike than two different words (by more than 0.1)",
            "hardly more alike than two different words (by 0.1 at most)",
            "not comparable: the sentences have no different words",
        ),
        frozenset({right}),
        f"Their cosine is {number(top, 2)}"
        + (
            f"; two different words of these sentences have {number(float(different), 2)} on average."
            if right < 3
            else "."
        )
        + " Each layer adds to the vector what the other pieces gave.",
        wrong=without(
            right,
            f"Their cosine is not above {NEARLY_THE_SAME}.",
            "Compare it with the two different words: it is not that.",
            "They have more in common than two different words.",
            "The sentences do have different words.",
        ),
    )


def without(right: int, *explanations: str) -> dict[int, str]:
    """What is wrong with each option but the right one, by its index."""
    return {option: says for option, says in enumerate(explanations) if option != right}
