"""The parts of the lesson on fewer pairs."""

import math
from collections.abc import Sequence

import streamlit as st

from experiments.attention import patterns
from experiments.attention.patterns import ALL, PATTERNS, SIZES, Cost, figures
from experiments.attention.rank import spectrum
from model.parts.efficient_attention import causal_linear_as_matrix
from model.parts.squeezed_attention import CausalSqueezedAttention, squeeze
from model.trace import Trace
from pages.beyond_attention.fewer_pairs.by_hand import by_hand
from pages.beyond_attention.fewer_pairs.rank import low_rank
from pages.beyond_attention.fewer_pairs.readers import (
    READER,
    cost,
    last,
    left,
    of_text,
    path,
    sparse,
    sureness,
    written,
)
from pages.beyond_attention.fewer_pairs.trained import trained
from pages.family.gpt.reading import read, say_what_is_cut, unsure
from pages.family_models import GPT
from ui.components.matrix import Caption
from ui.components.scene import Axis, Curve, Frame, Line, Matrix, Scene
from ui.controls.control import Choice, Stops
from ui.course.check import Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import number
from ui.views.attention_kinds import READABLE
from ui.views.charts.tables import table

PATTERN = Choice("Pattern", "pattern", tuple(PATTERNS))
KEPT = Stops("Pieces that a piece may ask, k", "keeps", tuple(reversed(SIZES)), default=2)
STOPS = SIZES[1:]  # of the scene, after "all"
DRAWN, SHARE = 16, 0.65  # rows of its matrix; it opens where fewer than this share of the pairs are left


def scene(trace: Trace) -> Scene:
    """The map of the last layer, trimmed to a band, and what that costs on texts of books."""
    costs = [of_text(trace), *(of_text(trace, "window", k) for k in STOPS)]
    return Scene(
        "The map of GPT's last layer on your text, averaged over its heads. A band of pairs is left: each asks itself "
        "and those just before it. GPT is not trained anew.",
        "Pieces that each may ask",
        [scene_frame(trace, at, costs) for at in range(len(costs))],
        by="slider",
        start=next((n for n, one in enumerate(costs) if one.left < SHARE * costs[0].left), len(STOPS)),
        wide=(1, 1.4),
        plays=True,
    )


def scene_frame(trace: Trace, at: int, costs: Sequence[Cost]) -> Frame:
    """costs: with all pairs, and at each of the stops"""
    measured, here, pairs = figures(GPT), costs[at], costs[0].left
    whole, books = measured[ALL], [measured[ALL], *(measured["window"][str(one)] for one in STOPS)]
    stops = ["all", *map(str, STOPS)]
    mine, before = (unsure(one.perplexity) for one in (here, costs[0]))
    if at:
        answer = (
            f"**{here.left}** of {pairs} pairs are left. Your text's perplexity is {mine}, with all pairs "
            f"{before}; that of books grows by **{number(100 * (books[at] / whole - 1), 0)}%**."
        )
    else:
        answer = f"All **{pairs}** pairs: your text's perplexity is {mine}, that of books "
        answer += f"**{number(whole, 1)}**: as unsure as among so many pieces."
    curve = Curve(
        [Line("books", list(enumerate(books)), "output"), Line("all pairs", [(0, whole), (6, whole)], "plain", True)],
        Axis("pieces that each may ask", 0, len(STOPS), list(enumerate(stops))),
        Axis("perplexity", 0, math.ceil(books[-1])),
        "Perplexity: as unsure as among so many pieces",
        knob=(at, books[at]),
    )
    weights, texts = here.weights[:DRAWN, :DRAWN], [token.text for token in read(trace).tgt[:DRAWN]]
    return Frame(stops[at], answer, [[Matrix(weights, "Who asks whom", rows=texts, ends=1.0), curve]])


def idea(trace: Trace) -> None:
    st.markdown(
        "**Sparse attention** keeps some pairs and leaves out the others. A **pattern** says which: a *window*, a "
        "window and the *first* piece, a window and every k-th piece (*strided*), or the *k largest* scores. "
        "GPT and the translator here were trained with all pairs. How much do they lose without some?"
    )
    st.caption("*Perplexity*: e to the mean of −ln P over the pieces. At 10 it is as unsure as among 10 pieces.")


def seen(trace: Trace) -> Trace:
    """Read under the pattern that See shows."""
    return sparse(trace, PATTERN.value(), KEPT.value())


def see(trace: Trace) -> Shown:
    READER.draw()
    pattern, k = PATTERN.draw(), KEPT.draw()
    reading = seen(trace)
    where, said = "layer 4", ""
    if reading.src:
        where, said = (
            "encoder, layer 3",
            " of both stacks. In the encoder, whose pairs are counted, it reaches to both sides",
        )
    else:
        say_what_is_cut(reading)
    caption = Caption(f"{pattern}, k = {k}: {where}, head 1", "A row asks, a column answers; hatched: hidden.")
    at = min(len(last(reading, "scores")[0]), READABLE) - 1
    shown = checked_matrix(reading, f"{path(reading)}.weights", caption, head=0, start=(at, at))
    st.markdown(cost(trace, reading))
    st.caption(f"The pattern holds in all heads of all layers{said}.")
    return shown


def compare(trace: Trace) -> None:
    measured, k, lines = figures(GPT), KEPT.value(), []
    whole = sparse(trace)
    own = "On your sentence." if whole.src else f"On your text, and on {measured['tokens']:,} pieces of books."
    st.markdown(f"**What does each pattern cost, at k = {k}?** {own}")
    for pattern in (ALL, *PATTERNS):
        if whole.src:
            reading = sparse(trace, pattern, k)
            lines.append((pattern, str(left(reading)[0]), sureness(reading), written(reading)))
            continue
        yours, of_books = of_text(trace, pattern, k), measured[ALL] if pattern == ALL else measured[pattern][str(k)]
        more = f"{number(100 * (of_books / measured[ALL] - 1), 1)}%"
        lines.append((pattern, str(yours.left), unsure(yours.perplexity), number(of_books, 1), more))
    of_books_too = "pairs left of yours", "perplexity of yours", "of books", "more than with all"
    of_sentence = "pairs left", "mean probability of the first translation", "writes"
    table(("", *(of_sentence if whole.src else of_books_too)), lines)
    st.caption(
        "To find the k largest scores, all scores must be computed. The strided pattern keeps every k-th piece too: "
        "at k = 1 that is all of them. A model that learned with fewer pairs may lose less: see *Trained so from the "
        "start*."
    )


TRIALS = {
    "Compare the patterns": compare,
    "By hand": lambda trace: by_hand(trace, seen(trace)),
    "Are the weights of low rank?": low_rank,
    "Trained so from the start": trained,
}
TRIAL = Choice("Try", "pairs_trial", tuple(TRIALS))


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


def predict(trace: Trace) -> Sequence[Question]:
    n, measured = len(read(trace).tgt), figures(GPT)
    right, wrong = (measured[name]["8"] for name in ("top k", "window"))
    return (
        Question(
            "pairs",
            f"GPT reads {n} rows of your text. Each may ask itself and the one before. How many pairs are left?",
            (str(n), str(2 * n - 1), str(n * n)),
            frozenset({1}),
            f"Two for each of {n} rows, but the first has nothing before it: {2 * n - 1}.",
            wrong={
                0: "Each also asks the one before.",
                2: "That is each row with each: more than the causal mask leaves.",
            },
        ),
        Question(
            "which",
            "Eight keys for each query: which choice makes GPT less sure of books?",
            ("the eight nearest", "the eight with the largest scores"),
            frozenset({0}),
            f"The nearest bring the perplexity from {number(measured[ALL], 1)} to {number(wrong, 1)}, the largest to "
            f"{number(right, 1)}.",
            wrong={1: "With the largest scores it stays nearer to what it was with all pairs."},
        ),
    )


LESSON = Lesson(
    "fewer-pairs",
    "Fewer pairs",
    asks="Which pairs can it do without?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do),
    code=(
        *PATTERNS.values(),
        patterns.keeping,
        patterns.translate_sparsely,
        spectrum,
        squeeze,
        CausalSqueezedAttention,
        causal_linear_as_matrix,
    ),
    on_map=OnMap(readers=(GPT,), scene=scene),
)
