"""Lesson: six ways to tell a model about order, three of them tried on the translator's own queries and keys."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
import torch

from experiments.exchange import RELATIVE, Exchange, learned_table, t5_bias
from model.files.loaded_model import Array
from model.parts.positions import Alibi, Rotary, alibi_slopes, relative_bucket
from model.trace import Trace
from pages.variants.positions_six_ways.longer import longer_texts
from pages.variants.positions_six_ways.moved import scene, siblings
from pages.variants.positions_six_ways.turning import HEAD, head_of, product, turn
from ui import engine
from ui.components.matrix import Caption
from ui.controls.control import Choice
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import bold, magnitude, number
from ui.views.attention_kinds import READABLE
from ui.views.before_after import heads_before_after
from ui.views.charts.tables import markdown_table
from ui.views.siblings import two_siblings

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
WAYS = (
    ("sinusoidal", "fixed sines and cosines, added to the embedding", "$x_i + P(i)$"),
    ("learned", "a trained vector for each position, added to the embedding", "$x_i + p_i$"),
    ("relative (T5)", "a trained number for each distance, added to the score", r"$q_i\cdot k_j + r_{i-j}$"),
    ("rotary (RoPE)", "query and key are turned by their positions", r"$(R_i q_i)\cdot (R_j k_j)$"),
    ("ALiBi", "a slope m times the distance, taken off the score", r"$q_i\cdot k_j - m\,\lvert i-j\rvert$"),
    ("none", "nothing", r"$q_i\cdot k_j$"),
)


def with_scheme(trace: Trace, scheme: str) -> Trace:
    """The sentence, read by the translator with a scheme in the chosen self-attention."""
    return engine.with_parts(trace, Exchange("positions", trace.path(head_of(trace)), SCHEMES[scheme]))


def idea(trace: Trace) -> None:
    st.markdown(
        "Attention sees a set of pieces, in no order. In 2017 the order came in by numbers **added to the "
        "embeddings**. Many later models change the **score** of query and key instead. The score compares two "
        "pieces, so their distance can enter it directly."
    )
    with st.expander("The six ways"):
        markdown_table(("Scheme", "What it does", "Embedding or score"), WAYS)
        st.caption(
            "i and j are the positions of query and key. Without a scheme an encoder cannot tell one order from "
            "another. A decoder still can: its mask lets the first row see one piece, the second two, and so on."
        )
    with st.expander("The formulas of the three schemes that work on the score"):
        st.markdown(
            "**Rotary** turns each pair of dimensions of a query or key at position i by an angle. The pairs are "
            "numbered p = 0, 1, 2, …; each has its own speed θ:"
        )
        st.latex(
            r"R_i\begin{pmatrix}x_1\\x_2\end{pmatrix}=\begin{pmatrix}\cos i\theta_p&-\sin i\theta_p\\\sin i\theta_p&"
            r"\cos i\theta_p\end{pmatrix}\begin{pmatrix}x_1\\x_2\end{pmatrix},\qquad \theta_p=10000^{-2p/d_k}"
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


def see(trace: Trace) -> Shown:
    scheme, step, head = SCHEME.value(), STEP.value(), head_of(trace)
    shown = *SHOWN[scheme], ("weights", "The weights", "0 to 1; each row adds up to 1.")
    name, title, how_to_read = shown[STEP.options.index(step)]
    other = with_scheme(trace, scheme)
    caption = Caption(f"{title} ({scheme}, layer {head.layer + 1}, head {head.head + 1})", how_to_read)
    part = Part(n_columns=16 if name == "rotated_q" else None)
    start = turned_cell(other.tensors[f"{trace.path(head)}.{name}"][head.head][:, :16]) if name == "rotated_q" else None
    shown = checked_matrix(other, f"{trace.path(head)}.{name}", caption, head=head.head, part=part, start=start)
    st.caption(said_of(scheme, trace, other))
    return shown


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
    asks="Move the whole sentence. Who notices?",
    idea=idea,
    predict=predict,
    bench=Bench(controls=controls, see=see, check=check_cell, do=do),
    code=(Rotary, relative_bucket, Alibi, alibi_slopes, t5_bias),
    on_map=OnMap(pictured=("six small translators", siblings), scene=scene),
)
