"""See, one click deeper: the encoding as clock hands, by its products, as a rotation, over 100 positions."""

import numpy as np
import streamlit as st

from figures.positions import clock_figure, encoding_heatmap
from model.parts.positions import rotation, sinusoidal_encoding
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.control import Choice, Number
from ui.text import magnitude, number
from ui.views.attention_kinds import READABLE
from ui.views.charts.tables import numbers_of_figure

PAIRS = (1, 2, 4, 8, 16, 32, 64, 128)  # drawn as clocks; counted from 1
LENGTH = 100  # positions
POSITION = Number("Position", "position", 0, LENGTH - 1, 3)
STEP = Number("Step c", "offset", 1, 50, 3)


def look_closer(n_pieces: int, d_model: int) -> None:
    views = {"Clock hands": clocks, "Products": products, "Rotation": turned, "100 positions": waves}
    views[Choice("Look closer", "positions_view", tuple(views)).draw()](
        n_pieces, sinusoidal_encoding(LENGTH, d_model).double().numpy()
    )


def clocks(n_pieces: int, encoding: np.ndarray) -> None:
    position, d_model = POSITION.draw(), encoding.shape[1]
    pairs = [n for n in PAIRS if n <= d_model // 2]
    positions = sorted({*range(min(n_pieces, READABLE)), position})
    angles = np.array(positions)[:, None] / 10000 ** (2 * (np.array(pairs) - 1) / d_model)
    chosen = angles[positions.index(position)]
    st.plotly_chart(
        clock_figure(angles, positions.index(position), [f"pair {n}" for n in pairs]),
        key="clocks",
        config={"displayModeBar": False},
        alt=f"{len(pairs)} clocks, one for a pair of dimensions each. At position {position} the hand of pair 1 has "
        f"turned by {chosen[0]:.2f} radians, that of pair {pairs[-1]} by {chosen[-1]:.2f}.",
    )
    st.caption(
        "Each pair of dimensions is a clock hand: across is its sine, up is its cosine. Dimensions 1 and 2 are pair 1, "
        "the formula's i = 0. From one position to the next, pair 1 turns by 1 radian (57°), each later pair by less. "
        "Bold: the chosen position, counted from 0; thin: those of the pieces"
        + (f" (the first {READABLE} of {n_pieces})." if n_pieces > READABLE else ".")
    )
    hands = [(angle, *encoding[position, 2 * n - 2 : 2 * n]) for n, angle in zip(pairs, chosen, strict=True)]
    numbers_of_figure(
        ("pair", "angle in radians", "sine", "cosine"),
        [(str(n), *(number(float(one), 4) for one in hand)) for n, hand in zip(pairs, hands, strict=True)],
    )


def products(n_pieces: int, encoding: np.ndarray) -> None:
    length, d_model = min(n_pieces, READABLE), encoding.shape[1]
    alike = encoding[:length] @ encoding[:length].T
    spread = max(float(np.ptp(alike.diagonal(c))) for c in range(length))
    labels = [str(t) for t in range(length)]
    matrix(
        alike,
        Labels(labels, labels, "P({row}) · P({column}) = {value}", row_axis="position t", column_axis="position u"),
        Caption(
            "P(t) · P(u): how alike two positions are",
            "The dot product: multiply two vectors number by number and add up. Positions count from 0. Along each "
            "falling diagonal the distance stays the same, and so does the product.",
            "products of positions",
        ),
        key="products",
        scale=Scale("positive", limit=d_model / 2, digits=1),
    )
    if length < n_pieces:
        st.caption(f"Shown: the positions of the first {length} of {n_pieces} pieces.")
    st.caption(
        f"Within a diagonal the products differ by at most {magnitude(spread)}, which is rounding: P(t) · P(t + c) "
        f"depends on c alone. A position with itself gives d_model / 2 = {d_model // 2}."
    )


def turned(n_pieces: int, encoding: np.ndarray) -> None:
    step, d_model = STEP.draw(), encoding.shape[1]
    moves = rotation(step, d_model).double().numpy()
    difference = float(np.abs(encoding[:-step] @ moves.T - encoding[step:]).max())
    lengths = np.linalg.norm(encoding, axis=1)
    matrix(
        moves[:6, :6],
        Labels("123456", "123456"),
        Caption(
            f"M for a step of {step}: its first 6 rows and columns of {d_model}",
            "A small rotation for each pair of dimensions, zeros elsewhere.",
            f"rotation by {step} positions",
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
    pairs = np.arange(d_model // 2)
    blocks = moves.reshape(len(pairs), 2, len(pairs), 2)[pairs, :, pairs]  # (pairs,2,2), those on the diagonal
    sizes = np.abs(np.linalg.eigvals(blocks))
    with st.expander("Words for this: unitary, eigenvalue"):
        st.markdown(
            "A matrix that makes no vector longer or shorter is called **unitary** (*orthogonal* if its numbers are "
            "real). An **eigenvalue** tells by how much a matrix stretches a vector that keeps its direction; for a "
            "rotation it is a complex number. Those of this M all have a size between "
            f"**{number(float(sizes.min()), 4)}** and **{number(float(sizes.max()), 4)}**. So however often M is "
            "applied, nothing explodes or fades. That is what the simpler rules lacked. Nothing demands these very "
            "angles: M can also be learned in training, as long as it stays unitary."
        )


def waves(n_pieces: int, encoding: np.ndarray) -> None:
    st.plotly_chart(
        encoding_heatmap(encoding),
        key="waves",
        config={"displayModeBar": False},
        alt=f"A heatmap of {LENGTH} positions by {encoding.shape[1]} dimensions: fast stripes on the left, slow ones "
        "to the right, nearly constant at the right end.",
    )
    st.caption(
        "Orange is +1, blue −1. Fast waves on the left tell neighbours apart, slow ones to the right tell far from "
        "near, like the second and the hour hand."
    )
    with st.expander("The numbers of the figure"):
        st.dataframe({f"dim {d}": column for d, column in enumerate(encoding.T.round(3), 1)}, height=260)
