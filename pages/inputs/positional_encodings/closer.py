"""See, one click deeper: the encoding as clock hands, by its products, as a rotation, over 100 positions."""

import numpy as np
import streamlit as st

from figures.positions import angles, clock_figure, encoding_heatmap
from model.parts.positions import rotation, sinusoidal_encoding
from model.text.tokenizer import Token
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.control import Choice, Number
from ui.text import magnitude, number
from ui.views.attention_kinds import READABLE
from ui.views.charts.tables import numbers_of_figure

PAIRS = (1, 2, 4, 8, 16, 32, 64, 128)  # drawn as clocks; counted from 1
LENGTH = 100  # positions
POSITION = Number("Position", "position", 0, LENGTH - 1, 3)
STEP = Number("Step c", "offset", 1, 50, 3)


def look_closer(tokens: tuple[Token, ...], d_model: int) -> None:
    views = {"Clock hands": clocks, "Products": products, "Rotation": turned, "100 positions": waves}
    views[Choice("Look closer", "positions_view", tuple(views)).draw()](tokens, d_model)


def clocks(tokens: tuple[Token, ...], d_model: int) -> None:
    position = POSITION.draw()
    pairs = [n for n in PAIRS if n <= d_model // 2]
    others = sorted({*range(min(len(tokens), READABLE)), position})
    hands = angles(np.array(others), [n - 1 for n in pairs], d_model)
    chosen = hands[others.index(position)]
    st.plotly_chart(
        clock_figure(hands, others.index(position), [f"pair {n}" for n in pairs]),
        key="clocks",
        config={"displayModeBar": False},
        alt=f"{len(pairs)} clocks, one for a pair of dimensions each. At position {position} the hand of pair 1 has "
        f"turned by {chosen[0]:.2f} radians, that of pair {pairs[-1]} by {chosen[-1]:.2f}.",
    )
    st.caption(
        "Each pair of dimensions is a clock hand: across is its sine, up is its cosine. Dimensions 1 and 2 are pair 1, "
        "the formula's i = 0. From one position to the next, pair 1 turns by 1 radian (57°), each later pair by less. "
        "Bold: the chosen position, counted from 0; thin: those of the pieces"
        + (f" (the first {READABLE} of {len(tokens)})." if len(tokens) > READABLE else ".")
    )
    encoding = sinusoidal_encoding(LENGTH, d_model).numpy()[position]
    numbers_of_figure(
        ("pair", "angle in radians", "sine", "cosine"),
        [
            (str(n), *(number(float(value), 4) for value in (angle, encoding[2 * n - 2], encoding[2 * n - 1])))
            for n, angle in zip(pairs, chosen, strict=True)
        ],
    )


def products(tokens: tuple[Token, ...], d_model: int) -> None:
    length = min(len(tokens), READABLE)
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
            "The dot product: multiply two vectors number by number and add up. Positions count from 0. Along each "
            "falling diagonal the distance stays the same, and so does the product.",
            csv_name="products of positions",
        ),
        key="products",
        scale=Scale("positive", limit=d_model / 2, digits=1),
    )
    if length < len(tokens):
        st.caption(f"Shown: the positions of the first {length} of {len(tokens)} pieces.")
    st.caption(
        f"Within a diagonal the products differ by at most {magnitude(spread)}, which is rounding: P(t) · P(t + c) "
        f"depends on c alone. A position with itself gives d_model / 2 = {d_model // 2}."
    )


def turned(tokens: tuple[Token, ...], d_model: int) -> None:
    step = STEP.draw()
    encoding = sinusoidal_encoding(LENGTH, d_model).double()
    matrix_c = rotation(step, d_model).double()
    difference = float((encoding[:-step] @ matrix_c.T - encoding[step:]).abs().max())
    lengths = encoding.norm(dim=1)
    numbers = [str(d + 1) for d in range(6)]
    matrix(
        matrix_c[:6, :6].numpy(),
        Labels(numbers, numbers),
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
        f"The same matrix takes every position {step} steps on. Checked for t = 0 to {LENGTH - 1 - step}: M P(t) "
        f"differs from P(t + {step}) by at most **{magnitude(difference)}**. A rotation changes no length: all "
        f"{LENGTH} encodings have lengths between **{number(float(lengths.min()), 4)}** and "
        f"**{number(float(lengths.max()), 4)}** (√{d_model // 2} = {number((d_model / 2) ** 0.5, 4)})."
    )
    sizes = np.abs(np.linalg.eigvals(matrix_c.numpy().reshape(d_model // 2, 2, d_model // 2, 2)[_same(d_model)]))
    with st.expander("Words for this: unitary, eigenvalue"):
        st.markdown(
            "A matrix that makes no vector longer or shorter is called **unitary** (*orthogonal* if its numbers are "
            "real). An **eigenvalue** tells by how much a matrix stretches a vector that keeps its direction; for a "
            "rotation it is a complex number. Those of this M all have a size between "
            f"**{number(float(sizes.min()), 4)}** and **{number(float(sizes.max()), 4)}**. So however often M is "
            "applied, nothing explodes or fades. That is what the simpler rules lacked. Nothing demands these very "
            "angles: M can also be learned in training, as long as it stays unitary."
        )


def _same(d_model: int) -> tuple[np.ndarray, slice, np.ndarray]:
    """Picks of (pairs, 2, pairs, 2) the blocks of two numbers by two on the diagonal."""
    pairs = np.arange(d_model // 2)
    return pairs, slice(None), pairs


def waves(tokens: tuple[Token, ...], d_model: int) -> None:
    encoding = sinusoidal_encoding(LENGTH, d_model).numpy()
    st.plotly_chart(
        encoding_heatmap(encoding),
        key="waves",
        config={"displayModeBar": False},
        alt=f"A heatmap of {LENGTH} positions by {d_model} dimensions: fast stripes on the left, slow ones to the "
        "right, nearly constant at the right end.",
    )
    st.caption(
        "Orange is +1, blue −1. Fast waves on the left tell neighbours apart, slow ones to the right tell far from "
        "near, like the second and the hour hand."
    )
    with st.expander("The numbers of the figure"):
        st.dataframe({f"dim {d + 1}": column for d, column in enumerate(encoding.T.round(3))}, height=260)
