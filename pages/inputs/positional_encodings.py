"""Lesson: what an encoding of positions must do, and how sines and cosines do it."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.passes import Shuffle, shuffle
from figures.positions import (
    angles,
    candidate,
    clock_figure,
    closest,
    encoding_heatmap,
    rule_figure,
)
from model.decoding import Greedy
from model.interventions import Interventions
from model.positions import Sinusoidal, rotation, sinusoidal_encoding
from model.trace import Trace
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.address import read_count, write_count
from ui.controls.segmented import one_of
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Lesson
from ui.course.quiz import Question
from ui.text import in_markdown, magnitude, number
from ui.views.attention_kinds import READABLE
from ui.views.before_after import before_after
from ui.views.tables import numbers_of_figure, table

LOST = 30  # pieces after which a translation without positions is cut: it may never end
FEW = 10  # dimensions shown at once, so that their numbers can be read
SEEDS = 999

# What is tried before sines and cosines, with constants worth trying, and why it must fail.
CONSTANTS = {
    "P(t) + c": ("1", "0.1", "0.01"),
    "P(t) · c": ("1.1", "0.9", "−1"),
    "e^(P(t) · c)": ("1", "0.1"),
    "P(t) · t · c": ("1", "0.1"),
}
REASONS = {
    "P(t) + c": "A steady climb has no end: large steps soon drown the word, small ones make neighbours alike.",
    "P(t) · c": "A factor above 1 explodes, one below 1 fades to nothing, and −1 goes round in a circle of two.",
    "e^(P(t) · c)": "Either it explodes, or it settles on one number and all later positions look the same.",
    "P(t) · t · c": "The factor grows with t: below 1 it shrinks, at 1 two neighbours are equal, above 1 it explodes.",
}
LARGEST, NEAREST = 10, 0.05  # beyond the first a number is no longer bounded here, below the second no longer unique

# What See shows: the tensor, and what it is.
TENSORS = {
    "Positions": ("positions", "The encoding of each position", "Even dimensions are sines, odd ones cosines."),
    "Embeddings": ("scaled", "The scaled embeddings, without positions", "The same word has the same row anywhere."),
    "Their sum": ("output", "What enters the encoder", "Embedding plus position, element by element."),
}

KINDS = (
    ("absolute, fixed", "sines and cosines added to the embeddings", "the original Transformer, this model"),
    ("absolute, learned", "a trained vector for each position, added to the embeddings", "GPT"),
    ("relative", "a trained number for each distance, added to the attention scores", "T5"),
    ("rotary", "queries and keys are turned by an angle that grows with the position", "RoFormer, GPT-NeoX"),
    ("ALiBi", "a penalty that grows with the distance, subtracted from the scores", "BLOOM"),
)


def idea(trace: Trace) -> None:
    st.markdown(
        "In the model, pieces look at one another (that is *attention*, the next lessons), but nothing in it says "
        "which piece comes first: *cat fights dog* and *dog fights cat* hold the same pieces. So a vector that depends "
        "only on the position, its **encoding**, is added to every embedding. It must tell the **order**, be "
        "**unique** for every position (so it must not repeat), and stay **bounded**, however long the sentence is."
    )
    st.latex(
        r"\begin{aligned}PE_{(pos,\,2i)}&=\sin\!\left(pos\,/\,10000^{2i/d_{model}}\right)\\"
        r"PE_{(pos,\,2i+1)}&=\cos\!\left(pos\,/\,10000^{2i/d_{model}}\right)\end{aligned}"
    )
    st.markdown(
        f"*pos* is the position, counted from 0; the d_model = {trace.tensors['encoder.embedding.positions'].shape[1]} "
        "numbers come in pairs *i*, a sine and a cosine each, and every pair turns more slowly than the one before."
    )
    with st.expander("Would something simpler do? Try it"):
        candidates(trace)
    with st.expander("A table small enough to check by hand: five dimensions"):
        small_table()
    with st.expander("Other ways to tell a model about order"):
        table(("Kind", "How order gets in", "Used by"), KINDS)
        st.caption(
            "Absolute: each position has its own vector. Relative: only the distance between two pieces counts. Rotary "
            "encodings do both: each position has its angle, and query times key feels the difference of two angles "
            "alone."
        )


@st.fragment
def candidates(trace: Trace) -> None:
    st.markdown(
        "Let one number stand for the position, begin with P(1) = 1, and make each next one from the one before:"
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        rule = one_of("P(t + 1) =", [*CONSTANTS, "sine and cosine"], key="rule", wrap=True)
        if rule in CONSTANTS:
            constant = one_of("c", CONSTANTS[rule], key=f"constant_{list(CONSTANTS).index(rule)}")
    length, d_model = engine.model().config.max_len, engine.model().config.d_model
    if rule in CONSTANTS:
        values = candidate(rule, float(constant.replace("−", "-")), length)
        curves, names, why = values[:20, None], ["P(t)"], REASONS[rule]
    else:
        values = sinusoidal_encoding(length + 1, d_model).numpy()[1:]
        names = ["dim 0", "dim 1", f"dim {d_model // 4}"]
        curves = values[:20, [0, 1, d_model // 4]]
        why = (
            f"One wave alone would repeat; {d_model // 2} pairs of waves, each slower than the last, do not. The "
            f"distance is that between vectors of {d_model} numbers."
        )
    largest, nearest = float(np.abs(values).max()), closest(values)
    bounded, unique = largest <= LARGEST, nearest >= NEAREST
    end = 5 if rule in CONSTANTS else 1.2
    st.plotly_chart(
        rule_figure(curves, names, end),
        key="candidate_figure",
        config={"displayModeBar": False},
        alt=f"The first 20 positions under the rule {rule}. {why}",
    )
    st.markdown(
        f"Over {length} positions: the largest size is **{magnitude(largest)}** "
        f"({'bounded' if bounded else 'not bounded'}), the two closest positions are **{magnitude(nearest)}** apart "
        f"({'unique' if unique else 'not to be told apart'}). {why}"
    )
    embedded = np.abs(trace.tensors["encoder.embedding.scaled"]).max()
    st.caption(
        f"For comparison: the embeddings of your sentence, to which this is added, reach {number(float(embedded), 2)}. "
        f"Here a size above {LARGEST} counts as not bounded, a distance below {NEAREST} as not to be told apart. The "
        f"picture ends at {end} and −{end}; what is larger leaves it."
    )
    numbers_of_figure(("t", *names), [(str(t), *(magnitude(float(v)) for v in row)) for t, row in enumerate(curves, 1)])


def small_table() -> None:
    matrix(
        sinusoidal_encoding(5, 5).numpy().T,
        Labels(
            [f"dim {d + 1}" for d in range(5)], [str(t) for t in range(5)], describe="position {column}, {row}: {value}"
        ),
        Caption(
            "Positions 0 to 4, d_model = 5",
            "A column is a position, from 0, a row a dimension, from 1: sine, cosine, sine, cosine, sine.",
            csv_name="encoding of 5 positions in 5 dimensions",
        ),
        key="small_table",
        scale=Scale("signed", limit=1.0, digits=3),
    )
    st.caption(
        "Computed just now by the function under *Code*. Five is odd, so the last sine has no cosine. Each pair turns "
        "more slowly than the one before."
    )


def see(trace: Trace) -> None:
    d_model = trace.tensors["encoder.embedding.positions"].shape[1]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        what = one_of("Numbers", list(TENSORS), key="positions_tensor", wrap=True)
        every = one_of("Dimensions", [f"first {FEW}", f"all {d_model}"], key="positions_dimensions")
    name, title, how_to_read = TENSORS[what]
    checked_matrix(
        trace,
        f"encoder.embedding.{name}",
        Caption(
            f"{title} ({len(trace.src)}, {d_model})",
            f"A row is a position, counted from 0, a column a dimension, from 0. {how_to_read}",
        ),
        labels=Labels(
            rows=[f"{position} {token.text}" for position, token in enumerate(trace.src)],
            columns=[str(d) for d in range(d_model)],
            describe="position {row}, dimension {column}: {value}",
        ),
        part=Part(n_columns=FEW if every == f"first {FEW}" else None),
        start=(min(2, len(trace.src) - 1), 2),
    )
    look_closer(trace, d_model)


def look_closer(trace: Trace, d_model: int) -> None:
    views = {"Clock hands": clocks, "Products": products, "Rotation": turned, "100 positions": waves}
    views[one_of("Look closer", list(views), key="positions_view", wrap=True)](trace, d_model)


def clocks(trace: Trace, d_model: int) -> None:
    position = st.slider("Position", 0, 99, 3, key="position", bind="query-params")
    pairs = [0, 1, 4, 8, 16, 32, 64, 127]
    pairs = [i for i in pairs if i < d_model // 2]
    others = sorted({*range(min(len(trace.src), READABLE)), position})
    hands = angles(np.array(others), pairs, d_model)
    st.plotly_chart(
        clock_figure(hands, others.index(position), [f"pair {i}" for i in pairs]),
        key="clocks",
        config={"displayModeBar": False},
        alt=f"Eight clocks, one for a pair of dimensions each. At position {position} the hand of pair 0 has turned by "
        f"{hands[others.index(position), 0]:.2f} radians, that of the last pair hardly at all.",
    )
    st.caption(
        "Each pair of dimensions is a clock hand: across is its sine, up is its cosine. From one position to the next, "
        "pair 0 turns by 1 radian (57°), each later pair by less. Bold: the chosen position; thin: those of your "
        "sentence" + (f" (the first {READABLE} of {len(trace.src)})." if len(trace.src) > READABLE else ".")
    )
    encoding, turns = sinusoidal_encoding(100, d_model).numpy()[position], hands[others.index(position)]
    numbers_of_figure(
        ("pair", "angle in radians", "sine", "cosine"),
        [
            (str(i), *(number(float(value), 4) for value in (angle, encoding[2 * i], encoding[2 * i + 1])))
            for i, angle in zip(pairs, turns, strict=True)
        ],
    )


def products(trace: Trace, d_model: int) -> None:
    length = min(len(trace.src), READABLE)
    encoding = sinusoidal_encoding(length, d_model).numpy().astype(np.float64)
    alike = encoding @ encoding.T
    spread = max(float(np.ptp(alike.diagonal(c))) for c in range(length))
    labels = [str(t) for t in range(length)]
    matrix(
        alike,
        Labels(
            labels, labels, describe="P({row}) · P({column}) = {value}", row_axis="position t", column_axis="position u"
        ),
        Caption(
            "P(t) · P(u): how alike two positions are",
            "Along each falling diagonal the distance stays the same, and so does the product.",
            csv_name="products of positions",
        ),
        key="products",
        scale=Scale("positive", limit=d_model / 2, digits=1),
    )
    if length < len(trace.src):
        st.caption(f"Shown: the positions of the first {length} of {len(trace.src)} pieces.")
    st.caption(
        f"Within a diagonal the products differ by at most {magnitude(spread)}, which is rounding: P(t) · P(t + c) "
        "depends on c alone. The nearer two positions, the larger the product, at least at first; a position with "
        f"itself gives d_model / 2 = {d_model // 2}."
    )


def turned(trace: Trace, d_model: int) -> None:
    step = st.slider("Step c", 1, 50, 3, key="offset", bind="query-params")
    encoding = sinusoidal_encoding(100, d_model).double()
    matrix_c = rotation(step, d_model).double()
    moved = encoding[:-step] @ matrix_c.T
    difference = float((moved - encoding[step:]).abs().max())
    lengths = encoding.norm(dim=1)
    matrix(
        matrix_c[:6, :6].numpy(),
        Labels([str(d) for d in range(6)], [str(d) for d in range(6)]),
        Caption(
            f"M for a step of {step}: its first 6 rows and columns of {d_model}",
            "A small rotation for each pair of dimensions, zeros elsewhere.",
            csv_name=f"rotation by {step} positions",
        ),
        key="rotation",
        scale=Scale("signed", limit=1.0, digits=3),
    )
    st.latex(
        r"\begin{gathered}P(t+c)=M_c\,P(t)\\\text{and for each pair }i\\\omega_i=10000^{-2i/d_{model}}\\"
        r"M_c=\begin{pmatrix}\cos c\omega_i&\sin c\omega_i\\-\sin c\omega_i&\cos c\omega_i\end{pmatrix}\end{gathered}"
    )
    st.markdown(
        f"The same matrix takes every position {step} steps on. Checked for t = 0 to {99 - step}: M P(t) differs from "
        f"P(t + {step}) by at most **{magnitude(difference)}**. A rotation changes no length: all 100 encodings have "
        f"lengths between **{number(float(lengths.min()), 4)}** and **{number(float(lengths.max()), 4)}** "
        f"(√{d_model // 2} = {number((d_model / 2) ** 0.5, 4)})."
    )
    st.caption(
        "In other words, M is unitary: it makes no vector longer or shorter (its eigenvalues have magnitude 1), so "
        "however often it is applied, nothing explodes or fades. That is what the simpler rules lacked."
    )


def waves(trace: Trace, d_model: int) -> None:
    encoding = sinusoidal_encoding(100, d_model).numpy()
    st.plotly_chart(
        encoding_heatmap(encoding),
        key="waves",
        config={"displayModeBar": False},
        alt=f"A heatmap of 100 positions by {d_model} dimensions: fast stripes on the left, slow ones to the right, "
        "nearly constant at the right end.",
    )
    st.caption(
        "Orange is +1, blue −1. Fast waves on the left tell neighbours apart, slow ones to the right tell far from "
        "near, like the second and the hour hand."
    )
    with st.expander("The numbers of the figure"):
        st.dataframe(encoding.round(3), height=260)


def do(trace: Trace) -> None:
    st.markdown(
        "Put your words in another order, really run the encoder (the half of the model that reads English) on them, "
        "and put its output rows back in your order. Does each piece still get the same vector?"
    )
    seed = read_count("shuffle", SEEDS, 0)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        off = st.toggle("Leave the positions out", key="positions_off", bind="query-params")
        st.button("Shuffle again", on_click=write_count, args=("shuffle", (seed + 1) % SEEDS))
    found = shuffle(engine.model().tokenizer, trace.text, seed)
    if found is None:
        st.info("There is only one word here, so no other order. Choose *The black cat…* above, or type two words.")
        return
    shuffled_pair(trace, found, off)


def shuffled_pair(trace: Trace, found: Shuffle, off: bool) -> None:
    change = Interventions(positions_off=off)
    decoding = Greedy(max_steps=LOST) if off else Greedy()
    one, two = (engine.trace(text, None, decoding, change) for text in (found.words, found.shuffled))
    last = trace.model.anatomy.stack("encoder").writes
    before, after = one.tensors[last], np.empty_like(one.tensors[last])
    after[list(found.rows)] = two.tensors[last]
    difference = np.abs(before - after).max()
    before_after(
        (before, after),
        ("In your order", "Shuffled, rows put back"),
        Labels(
            [token.text for token in one.src],
            [str(d) for d in range(before.shape[1])],
            describe="“{row}”, dimension {column}: {value}",
        ),
        how_to_read=f"The encoder's output, {before.shape[1]} dimensions, one scale for both.",
        csv_name="encoder output",
        scale="signed",
        n_columns=FEW,
    )
    for column, text, run in zip(st.columns(2, gap="medium"), (found.words, found.shuffled), (one, two), strict=True):
        column.markdown(f"**{in_markdown(text)}** → {in_markdown(run.translation) or '(nothing)'}")
    st.markdown(
        f"The largest difference between matching rows, over all {before.shape[1]} dimensions: "
        f"**{magnitude(float(difference))}**."
    )
    if off:
        st.caption(
            "Without positions the difference is rounding: shuffling in is shuffling out. Self-attention is "
            "*permutation-equivariant*: the rows move with their words. (Some call it position-invariant; that would "
            "mean that the output does not change at all.) The decoder reads the same set of rows, so "
            "both orders get one translation."
        )
        if not one.finished:
            st.caption(
                f"The translation is cut after {LOST} pieces. The decoder has lost its positions too: it no longer "
                "knows how far it has come, and may go round in circles."
            )
    else:
        st.caption(
            "With positions each piece gets another vector when it stands elsewhere: order has become part of the "
            "numbers. Now leave the positions out."
        )
    if found.words != trace.text:
        st.caption(f"Only the first {len(found.words.split())} words take part.")


def check(trace: Trace) -> None:
    check_cell(trace)


def predict(trace: Trace) -> Sequence[Question]:
    encoding = trace.tensors["encoder.embedding.positions"]
    d_model = encoding.shape[1]
    shown = min(len(trace.src), 8)
    best = int(encoding[:shown, 0].argmax())
    far = sinusoidal_encoding(13, d_model).double()
    near, later = float(far[1] @ far[4]), float(far[9] @ far[12])
    return (
        Question(
            "equivariant",
            "Leave the positions out and shuffle the words. The rows of the encoder's output will…",
            (
                "be the same numbers, shuffled like the words",
                "not change at all, not even their order",
                "be entirely different numbers",
            ),
            frozenset({0}),
            "Each row is made from its own piece and the set of all pieces, and neither depends on the order. That is "
            "called permutation-equivariant. Try it under *Do*.",
        ),
        Question(
            "sine",
            "Dimension 0 is sin(position). At which of "
            + ("these pieces" if shown == len(trace.src) else f"the first {shown} pieces")
            + " of your sentence is it largest?",
            tuple(f"{in_markdown(token.text)} (position {t})" for t, token in enumerate(trace.src[:shown])),
            frozenset({best}),
            f"sin({best}) = {number(float(encoding[best, 0]))}: a quarter turn is π/2 = 1.57, and whole turns of "
            "2π = 6.28 come back to it. The word itself plays no part.",
        ),
        Question(
            "distance",
            f"The product P(1) · P(4) is {number(near, 3)}. What is P(9) · P(12)?",
            ("larger", "the same", "smaller"),
            frozenset({1}),
            f"It is {number(later, 3)}. Both pairs are 3 positions apart, and the product depends on the distance "
            "alone: cos(a) cos(b) + sin(a) sin(b) = cos(a − b), for every pair of dimensions.",
        ),
    )


LESSON = Lesson(
    "positional-encodings",
    "Positional encodings",
    asks="How does the model know which word comes first?",
    idea=idea,
    see=see,
    do=do,
    check=check,
    predict=predict,
    code=(sinusoidal_encoding, Sinusoidal, rotation, shuffle),
    blocks=("encoder.positions", "decoder.positions"),
)
