"""Lesson: what attention costs as a text grows, and two kinds of attention that do not make all pairs."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from experiments.attention import price
from experiments.exchange import REACH, Exchange, exchanged_encoding
from model.parts.attention import scaled_dot_product_attention
from model.parts.efficient_attention import causal_linear_attention, features, linear_attention, windowed_attention
from model.trace import Trace
from pages.attention.scaled_dot_product.cost import memory
from pages.attention_prices import measured, prices_chart
from ui import engine
from ui.components.matrix import Caption, Labels
from ui.components.scene import Bar, Bars, Frame, Scene
from ui.components.scene.strips import Square
from ui.controls.background import background
from ui.controls.control import Choice, Stops
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import number
from ui.views.charts.tables import table

PATH = "encoder.layers.0.self_attn"
KINDS = {"window": "windowed", "one state": "linear"}
INSIDE = {
    "window: weights": ("weights", "A row asks itself and its two neighbours, nobody else. A row adds up to 1."),
    "one state: the state": ("state", "Row i, column j: features i of all keys times numbers j of their values."),
    "one state: result": ("heads", "A row for each piece: what it reads from the state."),
}
TENSOR = Choice("What to work out", "inside", tuple(INSIDE))
PIECES = Stops("Pieces in the text, N", "pieces", (16, 128, 512, 1024, 8192, 100_000), default=8192)
GROWS, SHOWN = (1, 2, 4, 8), 8


def scene(trace: Trace) -> Scene:
    """The square of all pairs, as the text grows from the visitor's to eight times as much."""
    n = len(trace.src)
    return Scene(
        "Attention compares every piece with every piece. The square holds all pairs, the band those within a window; "
        "the strip is one state that each piece joins once.",
        "Pieces in the text",
        [scene_frame(n, times) for times in GROWS],
        by="slider",
        start=len(GROWS) - 1,
        wide=(1, 1.3),
        plays=True,
    )


def pairs(n: int) -> tuple[int, int, int]:
    """Of N pieces: all; those of a piece with itself and its neighbours; one for each piece."""
    return n * n, 3 * n - 2, n


def scene_frame(n: int, times: int) -> Frame:
    before, now = pairs(n), pairs(n * times)
    names = zip(("square: every pair", "band: window of 3", "strip: one state"), now, before, strict=True)
    bars = [Bar(name, b, f"{b:,}", a, strong=name.startswith("square")) for name, b, a in names]
    answer = (
        f"Your text: **{n}** pieces, **{now[0]:,}** pairs. The window keeps {now[1]:,} of them, the state takes "
        f"{now[2]:,} steps."
        if times == 1
        else f"**{times}** times the text: **{times * times}** times the pairs, **{now[0]:,}** in place of "
        f"{before[0]:,}. Within the window they grow {number(now[1] / before[1], 1)} times. The state takes {times} "
        "times the steps."
    )
    square = Square(n * times, n, n * GROWS[-1], REACH, (f"yours, {n:,}", f"{n * times:,} pieces"), "All pairs")
    work = Bars(bars, "Pairs to compare, or steps to take", "query", limit=pairs(n * GROWS[-1])[0])
    return Frame(f"{n * times:,}", answer, [[square, work]])


def idea(trace: Trace) -> None:
    st.markdown(
        "**Attention in a window** (Longformer) compares a piece with its neighbours alone. **Linear attention** "
        "compares no pairs. It adds all keys and values up to one *state*, a small matrix that every query reads. Each "
        "gives something up: the window what lies outside it, the state the single pair, since it stays as small "
        "however long the text."
    )
    with st.expander("How a state can stand for all pairs"):
        st.markdown(
            "Softmax weighs value j for query i by e to their product, and needs each pair. Linear attention weighs it "
            "by φ(q)·φ(k), where φ makes every number positive. The sum over all keys is then the same for each query:"
        )
        st.latex(
            r"\frac{\sum_j \big(\varphi(q_i)\cdot\varphi(k_j)\big)\,v_j}{\sum_j \varphi(q_i)\cdot\varphi(k_j)}"
            r"=\frac{\varphi(q_i)^T\sum_j \varphi(k_j)\,v_j^T}{\varphi(q_i)^T\sum_j \varphi(k_j)},"
            r"\qquad\varphi(x)=\mathrm{elu}(x)+1"
        )


def with_kind(trace: Trace, kind: str) -> Trace:
    """The sentence, read by the translator's encoder with another attention in its first layer."""
    exchange = Exchange("attention", PATH, KINDS[kind])
    other, tensors = engine.run(exchanged_encoding, trace.model, (exchange,), trace.src_ids)
    return replace(trace, model=other, tensors=tensors)


def see(trace: Trace) -> Shown:
    st.markdown("**The first layer reads your sentence in another way**, with the matrices that it learned.")
    chosen = TENSOR.draw()
    name, how = INSIDE[chosen]
    part = Part(rows=range(SHOWN), columns=range(SHOWN)) if name == "state" else Part(n_columns=SHOWN)
    labels = Labels(
        columns=("before", "itself", "after") if name == "weights" else (),
        describe="“{row}” looks at the piece {column}: {value}" if name == "weights" else None,
    )
    caption = Caption(f"{chosen}, layer 1, head 1", how)
    read = with_kind(trace, chosen.partition(":")[0])
    shown = checked_matrix(read, f"{PATH}.{name}", caption, head=0, labels=labels, part=part)
    heads = trace.tensors[f"{PATH}.heads"]
    others = (with_kind(trace, kind).tensors[f"{PATH}.heads"] for kind in KINDS)
    away = [number(100 * float(np.linalg.norm(one - heads) / np.linalg.norm(heads)), 0) for one in others]
    st.caption(
        f"What the first layer's heads return lies {away[0]}% (window) and {away[1]}% (one state) of its own length "
        "away from what softmax over all pairs gives. The model was trained with softmax: trained with another "
        "attention it would have other matrices."
    )
    return shown


def do(trace: Trace) -> None:
    st.markdown(
        "**How long does it take, and how much memory, on this machine?** One head of 64 numbers, texts of up to 8,192 "
        "pieces."
    )
    kept: price.Prices = st.session_state.setdefault("price/prices", {})
    draw = partial(prices_chart, kept)
    if background("price", "Measure", price.D_K, lambda: engine.by_turns(price.measure(kept)), draw):
        draw()
        measured(kept)
    st.markdown("**How much is there to do?** Counted for one attention of this model, all heads together.")
    config, n = trace.model.config, PIECES.draw()
    d, h = config.d_model, config.n_heads
    lines = [("the four projections: 4Nd²", f"{4 * n * d * d:,}", "1.00", "")]
    for way in price.WAYS:
        count, held = price.work(way, n, d, h)
        lines.append((way, f"{count:,}", number(count / (4 * n * d * d), 2), memory(held // price.BYTES)))
    table((f"N = {n:,}", "multiplications", "times the projections", "held at once"), lines)
    st.caption(
        f"Here d = {d}, in {h} heads of {d // h}. All pairs take 2N²d multiplications: as many as the projections at "
        f"N = 2d = {2 * d}, and more beyond. A window of {price.WINDOW} takes 2N·{price.WINDOW}·d, one state "
        f"2N·{d // h}·d. Held are the weights of all heads, or the states, at {price.BYTES} bytes a number."
    )


def predict(trace: Trace) -> Sequence[Question]:
    n, config = len(trace.src), trace.model.config
    d = config.d_model
    return (
        Question(
            "twice",
            f"Your text has {n} pieces. A second one, as long, follows it. How many pairs are there to compare?",
            (f"{2 * n * n:,}", f"{4 * n * n:,}", f"{8 * n * n:,}"),
            frozenset({1}),
            f"{2 * n} pieces ask {2 * n} pieces each: {4 * n * n:,} pairs, four times the {n * n:,} of before.",
            wrong={
                0: "That counts the pairs within each text, and none between the two.",
                2: "Twice as many ask, and each asks twice as many: two times two.",
            },
        ),
        Question(
            "where",
            "Queries, keys, values and the result are each made by a matrix, in a *projection*. For your sentence, what"
            " takes this model more multiplications?",
            ("the four projections", "all pairs", "both the same"),
            frozenset({0}),
            f"Projections take 4Nd² = {4 * n * d * d:,}, pairs 2N²d = {2 * n * n * d:,}. Pairs overtake at N = 2d = "
            f"{2 * d} pieces.",
            wrong={
                1: "Pairs grow with the square of N, but N is still small beside d.",
                2: f"They would be at N = {2 * d}.",
            },
        ),
    )


LESSON = Lesson(
    "price-of-attention",
    "The price of attention",
    asks="Eight times the text: how many times the work?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do),
    code=(windowed_attention, linear_attention, causal_linear_attention, features, scaled_dot_product_attention),
    on_map=OnMap(scene=scene),
)
