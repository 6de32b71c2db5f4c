"""Lesson: which pairs a trained model can do without: its attention narrowed by a pattern, on the learner's text."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.attention.patterns import ALL, PATTERNS, SIZES, figures, read_sparsely, strided, top, window
from experiments.attention.patterns import window_and_first as with_first
from model.trace import Trace
from pages.family.gpt.reading import gpt, perplexity, read, say_what_is_cut
from pages.family_models import GPT
from ui import engine
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
LAYER = "decoder.layers.3.self_attn"
STOPS = SIZES[1:]  # of the scene, after "all"
DRAWN, SHARE = 16, 0.65  # rows of its matrix; it opens where fewer than this share of the pairs are left


def sparse(trace: Trace, pattern: str, k: int) -> Trace:
    """The text as GPT reads it under a pattern."""
    return read(trace) if pattern == ALL else engine.run(read_sparsely, gpt(), trace.text, pattern, k)


def left(reading: Trace) -> tuple[int, int]:
    """Of the pairs of one head that the causal mask leaves: those that the pattern keeps, and all."""
    n = len(reading.tgt)
    return int(np.isfinite(reading.tensors[f"{LAYER}.scores"][0]).sum()), n * (n + 1) // 2


def scene(trace: Trace) -> Scene:
    """The map of the last layer, trimmed to a band, and what that costs on texts of books."""
    kept = [left(sparse(trace, "window", k)) for k in STOPS]
    return Scene(
        "The map of GPT's last layer on your text, averaged over its heads. A band of pairs is left: each asks itself "
        "and those just before it. GPT is not trained anew.",
        "Pieces that each may ask",
        [scene_frame(trace, k) for k in (0, *STOPS)],
        by="slider",
        start=1 + next(n for n, (some, every) in enumerate(kept) if some < SHARE * every or n == len(kept) - 1),
        wide=(1, 1.4),
        plays=True,
    )


def scene_frame(trace: Trace, k: int) -> Frame:
    measured, reading = figures(GPT), sparse(trace, "window" if k else ALL, k)
    whole, costs = measured[ALL], [measured[ALL], *(measured["window"][str(one)] for one in STOPS)]
    at = STOPS.index(k) + 1 if k else 0
    names = [(n, str(one or "all")) for n, one in enumerate((0, *STOPS))]
    kept, pairs = left(reading)
    mine = f"your text's perplexity is {number(perplexity(reading), 1)}"
    answer = f"All **{pairs}** pairs: {mine}, that of books **{number(whole, 1)}**: as unsure as among so many pieces."
    if k:
        more = number(100 * (costs[at] / whole - 1), 0)
        before = number(perplexity(read(trace)), 1)
        answer = (
            f"**{kept}** of {pairs} pairs are left. {mine[0].upper()}{mine[1:]}, before {before}; that of books is "
        )
        answer += f"**{more}%** higher."
    weights = reading.tensors[f"{LAYER}.weights"].mean(0)[:DRAWN, :DRAWN]
    texts = [token.text for token in reading.tgt[:DRAWN]]
    curve = Curve(
        [Line("books", list(enumerate(costs)), "output"), Line("all pairs", [(0, whole), (6, whole)], "plain", True)],
        Axis("pieces that each may ask", 0, len(STOPS), names),
        Axis("perplexity", 0, costs[-1]),
        "Perplexity: as unsure as among so many pieces",
        knob=(at, costs[at]),
    )
    return Frame(str(k or "all"), answer, [[Matrix(weights, "Who asks whom", rows=texts, ends=1.0), curve]])


def idea(trace: Trace) -> None:
    st.markdown(
        "**Sparse attention** keeps some pairs and leaves out the others. A **pattern** says which: a *window*, a "
        "window and the *first* piece, a window and every k-th piece (*strided*), or the *k largest* scores. This "
        "GPT was trained with all pairs. How much does it lose without some?"
    )
    st.caption("*Perplexity*: e to the mean of −ln P over the pieces. At 10 it is as unsure as among 10 pieces.")


def see(trace: Trace) -> Shown:
    pattern, k = PATTERN.draw(), KEPT.draw()
    reading = sparse(trace, pattern, k)
    say_what_is_cut(reading)
    (kept, pairs), last = left(reading), min(len(reading.tgt), READABLE) - 1
    caption = Caption(f"{pattern}, k = {k}: layer 4, head 1", "A row asks, a column answers; hatched: hidden.")
    shown = checked_matrix(reading, f"{LAYER}.weights", caption, head=0, start=(last, last))
    st.caption(
        f"The pattern holds in all heads of all layers. Of {pairs} pairs it keeps **{kept}**; perplexity of your text: "
        f"{number(perplexity(read(trace)), 1)} with all pairs, **{number(perplexity(reading), 1)}** with these."
    )
    return shown


def do(trace: Trace) -> None:
    measured, k = figures(GPT), KEPT.value()
    st.markdown(f"**What does each pattern cost, at k = {k}?** On your text, and on {measured['tokens']:,} of books.")
    whole, base = perplexity(read(trace)), measured[ALL]
    lines = [(ALL, str(left(read(trace))[1]), number(whole, 1), number(base, 1), "0%")]
    for pattern in PATTERNS:
        reading, of_books = sparse(trace, pattern, k), measured[pattern][str(k)]
        more = f"{number(100 * (of_books / base - 1), 1)}%"
        kept = str(left(reading)[0])
        lines.append((pattern, kept, number(perplexity(reading), 1), number(of_books, 1), more))
    table(("", "pairs left of yours", "perplexity of yours", "of books", "more than with all"), lines)
    st.caption(
        "To find the k largest scores, all scores must be computed. The strided pattern keeps every k-th piece too: "
        "at k = 1 that is all of them. A model trained with a pattern may lose less: that is not measured here."
    )


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
    code=(window, with_first, strided, top, read_sparsely),
    on_map=OnMap(readers=(GPT,), scene=scene),
)
