"""Lesson: six ways to tell a model about order, three of them tried on the translator's own queries and keys."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
import torch
from torch import Tensor

from experiments.exchange import RELATIVE, Exchange, learned_table, t5_bias
from figures.positions import distance_figure, turned_pair_figure
from model.interventions import Head
from model.loaded import Array
from model.positions import Alibi, Rotary, alibi_slopes, relative_bucket
from model.trace import Trace
from pages.variants.positions_six_ways.longer import longer_texts
from ui import engine
from ui.components.matrix import Caption
from ui.controls.control import Choice, Number
from ui.controls.head_control import HeadControl
from ui.controls.piece_control import choose_part
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import bold, magnitude, number
from ui.views.attention_kinds import READABLE
from ui.views.before_after import heads_before_after
from ui.views.siblings import two_siblings
from ui.views.tables import markdown_table, numbers_of_figure, table

HEAD = HeadControl(("encoder",))
SCHEMES = {"Rotary": "rotary", "Relative": "relative", "ALiBi": "alibi"}
SCHEME = Choice("Scheme", "scheme", tuple(SCHEMES))
STEP = Choice("Step", "scheme_step", ("1 what it makes", "2 scores", "3 weights"))
# What the first two steps show: the tensor, its title, and how to read it.
SHOWN = {
    "Rotary": (
        ("rotated_q", "The turned queries", "A row is a query. Two dimensions side by side were turned together."),
        ("products", "Turned query · turned key", "Before the division by √d_k. A row asks, a column answers."),
    ),
    "Relative": (
        ("bias", "The bias", "One number for each distance to the left or to the right."),
        ("biased", "Score plus bias", "A row asks, a column answers."),
    ),
    "ALiBi": (
        ("bias", "The bias", "0 on the diagonal; each place further away takes off the same again."),
        ("biased", "Score plus bias", "A row asks, a column answers."),
    ),
}
FURTHEST = 60  # the last position of the sliders
SHIFTS = (0, 1, 10, 100)  # by how much query and key move together
QUERY_AT = Number("Position of the query", "query_at", 1, FURTHEST, 2)
KEY_AT = Number("Position of the key", "key_at", 1, FURTHEST, 5)
WAYS = (
    ("sinusoidal", "fixed sines and cosines, added to the embedding", "$x_i + P(i)$"),
    ("learned", "a trained vector for each position, added to the embedding", "$x_i + p_i$"),
    ("relative (T5)", "a trained number for each distance, added to the score", r"$q_i\cdot k_j + r_{i-j}$"),
    ("rotary (RoPE)", "query and key are turned by their positions", r"$(R_i q_i)\cdot (R_j k_j)$"),
    ("ALiBi", "a slope m times the distance, taken off the score", r"$q_i\cdot k_j - m\,\lvert i-j\rvert$"),
    ("none", "nothing", r"$q_i\cdot k_j$"),
)


def head_of(trace: Trace) -> Head:
    return HEAD.value(trace.model)


def with_scheme(trace: Trace, scheme: str) -> Trace:
    """The sentence, read by the translator with a scheme in the chosen self-attention."""
    return engine.with_parts(trace, Exchange("positions", trace.path(head_of(trace)), SCHEMES[scheme]))


def turned(trace: Trace, name: str, piece: int, first: int, count: int = 1) -> Tensor:
    """(count,d_k): the query "q" or key "k" of a piece (from 0), turned to positions first, first + 1, … (from 1)."""
    vector = torch.tensor(trace.tensors[f"{trace.path(head_of(trace))}.{name}"][head_of(trace).head, piece])
    return Rotary().rotate(name, vector.expand(1, 1, count, -1), first - 1)[0, 0]


def product(trace: Trace, pieces: tuple[int, int], places: tuple[int, int]) -> float:
    """Query · key of two pieces (from 0), turned to two positions (from 1), in float32."""
    return float(turned(trace, "q", pieces[0], places[0])[0] @ turned(trace, "k", pieces[1], places[1])[0])


def idea(trace: Trace) -> None:
    st.markdown(
        "Attention sees a set of pieces, in no order. In 2017 the order came in by numbers **added to the "
        "embeddings**. Later models change the **score** of query and key instead: its job is to compare two pieces, "
        "so there the distance between them can count directly."
    )
    with st.expander("The six ways"):
        markdown_table(("Scheme", "What it does", "Embedding or score"), WAYS)
        st.caption(
            "i and j are the positions of query and key. Without a scheme an encoder cannot tell one order from "
            "another. A decoder still can: its mask lets the first row see one piece, the second two, and so on."
        )
    with st.expander("The formulas of the three schemes that work on the score"):
        st.markdown("**Rotary** turns each pair of dimensions of a query or key at position m by an angle:")
        st.latex(
            r"R_m\begin{pmatrix}x_1\\x_2\end{pmatrix}=\begin{pmatrix}\cos m\theta&-\sin m\theta\\\sin m\theta&\cos "
            r"m\theta\end{pmatrix}\begin{pmatrix}x_1\\x_2\end{pmatrix},\qquad \theta_i=10000^{-2i/d_k}"
        )
        st.markdown(
            "**Relative**, as in T5: near distances have a number each, far ones share. **ALiBi** learns nothing: the "
            "slopes are fixed, one for each of the H heads (where H is a power of two):"
        )
        st.latex(r"m_h = 2^{-8h/H}")


def controls(trace: Trace) -> None:
    HEAD.draw(trace.model)
    SCHEME.draw()
    STEP.draw()


def see(trace: Trace) -> None:
    scheme, step, head = SCHEME.value(), STEP.value(), head_of(trace)
    shown = *SHOWN[scheme], ("weights", "The weights", "0 to 1; each row adds up to 1.")
    name, title, how_to_read = shown[STEP.options.index(step)]
    other = with_scheme(trace, scheme)
    caption = Caption(f"{title} ({scheme}, layer {head.layer + 1}, head {head.head + 1})", how_to_read)
    part = Part(n_columns=16 if name == "rotated_q" else None)
    start = turned_cell(other.tensors[f"{trace.path(head)}.{name}"][head.head][:, :16]) if name == "rotated_q" else None
    checked_matrix(other, f"{trace.path(head)}.{name}", caption, head=head.head, part=part, start=start)
    st.caption(said_of(scheme, trace, other))


def turned_cell(queries: Array) -> tuple[int, int]:
    """The largest number of the queries (T,d) that are turned: all but the first, which stands at position 0."""
    row, column = np.unravel_index(np.abs(queries[1:READABLE]).argmax(), queries[1:READABLE].shape)
    return int(row) + 1, int(column)


def said_of(scheme: str, trace: Trace, other: Trace) -> str:
    """What is special about a scheme here, in numbers."""
    head = head_of(trace)
    if scheme == "Relative":
        return said_of_bias(trace, other.tensors[f"{trace.path(head)}.bias"][head.head])
    if scheme == "ALiBi":
        slopes = [f"{slope:g}" for slope in alibi_slopes(trace.model.config.n_heads)]
        listed = ", ".join(slopes)
        return f"The slopes of the {len(slopes)} heads: {listed}. Head {head.head + 1} has {slopes[head.head]}."
    at = trace.path(head)
    before, after = (
        np.linalg.norm(other.tensors[f"{at}.{name}"][head.head].astype(float), axis=1) for name in ("q", "rotated_q")
    )
    return (
        f"Turning changes no length: those of the {len(before)} queries change by at most "
        f"{magnitude(float(np.abs(before - after).max()))}, which is rounding. The first piece stands at position 0 of "
        "the formula, so it is not turned."
    )


def said_of_bias(trace: Trace, bias: Array) -> str:
    """Where the numbers of T5's bias (T,T) come from, and where they are highest."""
    if learned_table(trace.model.config.n_heads) is None:
        return (
            "The translator has learned no such numbers. These are drawn at random, with a standard deviation of 1, to "
            "show how they work."
        )
    query, key = divmod(int(bias.argmax()), len(bias))
    side = "left" if key < query else "right"
    where = f"{abs(key - query)} to the {side} of its query" if key != query else "at the place of its query"
    return (
        f"The translator has learned no such numbers. These are those of {bold(RELATIVE)}, a small translator with "
        "this scheme, from the first layer of its encoder. Over the distances of your sentence this head adds most, "
        f"{number(float(bias[query, key]), 2)}, to a key {where}."
    )


def do(trace: Trace) -> None:
    turn(trace)
    st.subheader("The head with another scheme", anchor=False)
    scheme, head = SCHEME.value(), head_of(trace)
    st.markdown(
        f"The translator was trained with sines and cosines, and they are still in what layer {head.layer + 1} reads. "
        f"On the right, this layer's attention gets **{scheme}** on top."
    )
    other = with_scheme(trace, scheme)
    heads_before_after((trace, other), ("As trained", f"With {scheme}"), "encoder", head.layer, head.head)
    one, two = (mean_distance(one.attention("encoder", head.layer)[head.head]) for one in (trace, other))
    st.markdown(
        f"On average a piece looks **{number(one, 2)}** places away as trained, and **{number(two, 2)}** with {scheme}."
    )
    two_siblings(trace, "positions")
    longer_texts()


def mean_distance(weights: Array) -> float:
    """How many places away the pieces look, weighted by weights (T,S)."""
    places = np.arange(len(weights))
    return float((weights * np.abs(places - places[:, None])).sum(1).mean())


def turn(trace: Trace) -> None:
    """A query and a key of the sentence, turned to any two positions."""
    st.subheader("Turn a query and a key", anchor=False)
    texts = [token.text for token in trace.src[:READABLE]]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        query = choose_part("Query of piece", texts, 0, trace.text, "query_of")
        key = choose_part("Key of piece", texts, 1, trace.text, "key_of")
    with st.container(horizontal=True, gap="medium"):
        places = QUERY_AT.draw(), KEY_AT.draw()
    left, right = st.columns([1, 1.3], gap="large")
    with left:
        arrows(trace, (query, key), places)
    with right:
        by_distance(trace, (query, key), places)


def arrows(trace: Trace, pieces: tuple[int, int], places: tuple[int, int]) -> None:
    """One pair of dimensions of the query and of the key, turned."""
    half = trace.model.config.d_k // 2
    pair = Number("Pair of dimensions", "rotary_pair", 1, half, 1).draw()
    before, after = (
        np.stack(
            [
                turned(trace, name, piece, at)[0, 2 * pair - 2 : 2 * pair].numpy()
                for name, piece, at in zip("qk", pieces, ends, strict=True)
            ]
        )
        for ends in ((1, 1), places)
    )
    before, after = (many / np.linalg.norm(many, axis=1, keepdims=True) for many in (before, after))
    step = float(np.degrees(10000 ** (-(pair - 1) / half)))
    query, key = np.degrees(np.arctan2(after[:, 1], after[:, 0]))
    between = float(abs((query - key + 180) % 360 - 180))
    st.plotly_chart(
        turned_pair_figure(before, after),
        key="turned_pair",
        config={"displayModeBar": False},
        alt=f"Two arrows, the query and the key in pair {pair} of their dimensions, as they are and turned. Between "
        f"the turned ones lie {number(between, 0)} degrees.",
    )
    st.caption(
        "Position 1 is not turned. "
        f"Pair {pair} of {half} turns by {number(step, 1)}° a place: the query by {number((places[0] - 1) * step, 0)}°,"
        f" the key by {number((places[1] - 1) * step, 0)}°. Between the turned arrows lie **{number(between, 0)}°**. "
        "Move both sliders by the same: the arrows turn, the angle between them stays. All are drawn equally long."
    )
    numbers_of_figure(
        ("arrow", "first dimension", "second dimension"),
        [
            (f"{name}{manner}", *(number(float(value), 3) for value in arrow))
            for many, manner in ((before, ", not turned"), (after, ""))
            for name, arrow in zip(("query", "key"), many, strict=True)
        ],
    )


def by_distance(trace: Trace, pair: tuple[int, int], places: tuple[int, int]) -> None:
    """The product by the distance, and at several places with the same distance."""
    distance = places[1] - places[0]
    query, key = pair
    distances = np.arange(1 - FURTHEST, FURTHEST)
    products = (turned(trace, "k", key, 1, len(distances)) @ turned(trace, "q", query, FURTHEST)[0]).numpy()
    unturned = product(trace, pair, (1, 1))
    st.plotly_chart(
        distance_figure(distances, products, distance, unturned),
        key="by_distance",
        config={"displayModeBar": False},
        alt=f"The product of the turned query and key by their distance, from {number(1 - FURTHEST, 0)} to "
        f"{FURTHEST - 1}. At {number(distance, 0)} it is {number(float(products[distance + FURTHEST - 1]), 2)}; not "
        f"turned {number(unturned, 2)}.",
    )
    moved = [product(trace, pair, (places[0] + shift, places[1] + shift)) for shift in SHIFTS]
    table(
        ("query at", "key at", "distance", "query · key"),
        [
            (str(places[0] + shift), str(places[1] + shift), number(distance, 0), number(value, 4))
            for shift, value in zip(SHIFTS, moved, strict=True)
        ],
    )
    st.caption(
        f"Both move together: the distance stays {number(distance, 0)}, and so does the product. The four differ by at "
        f"most {magnitude(max(moved) - min(moved))}: that is rounding, since numbers are kept to about seven digits. "
        "Move one slider alone, and the product changes."
    )
    numbers_of_figure(
        ("distance", "query · key"),
        [(number(float(d), 0), number(float(p), 3)) for d, p in zip(distances[9::10], products[9::10], strict=True)],
    )


def predict(trace: Trace) -> Sequence[Question]:
    near, moved = (product(trace, (0, 1), places) for places in ((2, 5), (22, 25)))
    slope = alibi_slopes(trace.model.config.n_heads)[0]
    return (
        Question(
            "distance",
            f"A query at position 2 and a key at position 5, both turned by rotary positions: their product is "
            f"{number(near, 2)}. Both move 20 places on. What is it now?",
            ("larger", "the same", "smaller"),
            frozenset({1}),
            f"It is {number(moved, 2)}: both are turned further by the same angles, and the angles between them stay.",
            wrong={
                0: "Turning makes no vector longer, and the distance is still 3.",
                2: "Nothing fades with the position: turning makes no vector shorter.",
            },
        ),
        Question(
            "slope",
            f"In ALiBi, head 1 of {trace.model.config.n_heads} has the slope {slope:g}. A key stands 8 places from its "
            "query. What is taken off their score?",
            (f"{slope:g}", f"{8 * slope:g}", "8"),
            frozenset({1}),
            f"The slope times the distance: {slope:g} · 8 = {8 * slope:g}.",
            wrong={0: "That is taken off for one place.", 2: "The distance is multiplied by the slope first."},
        ),
        buckets_question(),
    )


def buckets_question() -> Question:
    pairs = ((-3, 3), (-3, -4), (-20, -21))
    same = [len(set(relative_bucket(torch.tensor(pair), causal=False).tolist())) == 1 for pair in pairs]
    return Question(
        "bucket",
        "In an encoder with T5's relative positions, which two keys share one number?",
        ("3 to the left and 3 to the right", "3 and 4 to the left", "20 and 21 to the left"),
        frozenset(np.flatnonzero(same).tolist()),
        "Each of the distances up to 7 has a number of its own, on each side. Further away, several share one.",
        wrong={0: "Left and right have different numbers.", 1: "So near, each distance has a number of its own."},
    )


LESSON = Lesson(
    "positions-six-ways",
    "Positions, six ways",
    asks="How else can a model learn what stands where?",
    idea=idea,
    predict=predict,
    bench=Bench(controls=controls, see=see, check=check_cell, do=do),
    code=(Rotary, relative_bucket, Alibi, alibi_slopes, t5_bias),
    on_map=OnMap(plays=("encoder.self_attn",), near="score"),
)
