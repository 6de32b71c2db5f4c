"""What the lesson on positional encodings must show."""

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.oracle.claims import (
    Question,
    button,
    caption,
    fold,
    info,
    latex,
    magnitude,
    markdown,
    matrix,
    number,
    plot,
    question,
    rounding,
    segmented,
    slider,
    table,
    toggle,
)
from tests.oracle.common import Shown, Statements, check_cell, code_part, numbers_of_figure, shown_tensor, tensor_matrix
from tests.oracle.decode import Ids, Writer, german, greedy
from tests.oracle.forward import EOS, MAX_PIECES, Array, Forward, config, positions, source_ids
from tests.oracle.inputs import shifted
from tests.oracle.page import READABLE, Page
from tests.oracle.statement import Statement
from tests.oracle.words import Piece, encoded, inline, pieces, text_of
from tests.oracle.worked import writes

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#808a96"
TENSORS = {"Positions": "positions", "Embeddings": "scaled", "Their sum": "output"}
VIEWS = CLOCKS, PRODUCTS, ROTATION, WAVES = "Clock hands", "Products", "Rotation", "100 positions"
YOURS, ANIMALS = "your sentence", "Who sees whom?"
EXAMPLE = "The white dog sees the black cat."
ENCODER, DECODER = "the encoder", "the decoder"
CONSTANTS = {
    "P(t) + c": ("1", "0.1", "0.01"),
    "P(t) · c": ("1.1", "0.9", "−1"),
    "e^(P(t) · c)": ("1", "0.1"),
    "P(t) · t · c": ("1", "0.1"),
}
WAVE = "sine and cosine"
LONG = "The old man, who lives near the sea, often walks along the beach with his small brown dog. " * 4
STATES = (
    {},
    {
        "rule": "P(t) + c",
        "constant_0": "0.1",
        "positions_view": PRODUCTS,
        "stack": "Decoder",
        "positions_tensor": "Embeddings",
        "cell": "3.4",
        "shuffle_of": ANIMALS,
        "shuffle": "7",
    },
    {
        "rule": "P(t) + c",
        "constant_0": "0.01",
        "positions_view": ROTATION,
        "offset": "50",
        "positions_tensor": "Their sum",
        "positions_dimensions": "all 256",
        "cell": "2.200",
        "positions_off": "true",
    },
    {"rule": "P(t) · c", "positions_view": WAVES, "shuffle_in": DECODER, "cell": "1.10"},
    {
        "rule": "P(t) · c",
        "constant_1": "0.9",
        "sentence": LONG,
        "stack": "Decoder",
        "shuffle_in": DECODER,
        "positions_off": "true",
    },
    {
        "rule": "P(t) · c",
        "constant_1": "−1",
        "sentence": LONG,
        "positions_view": PRODUCTS,
        "positions_off": "true",
        "mask_off": "true",
    },
    {"rule": "e^(P(t) · c)", "sentence": "Go", "positions_view": ROTATION, "stack": "Decoder"},
    {
        "rule": "e^(P(t) · c)",
        "constant_2": "0.1",
        "sentence": "Zoë mag <b> Äpfel.",
        "position": "40",
        "shuffle_in": DECODER,
        "positions_off": "true",
        "mask_off": "true",
    },
    {"rule": "P(t) · t · c", "position": "0", "shuffle_in": DECODER, "mask_off": "true", "shuffle_of": ANIMALS},
    {
        "rule": "P(t) · t · c",
        "constant_3": "0.1",
        "sentence": "ฉันชอบสุนัข",
        "position": "99",
        "shuffle_of": ANIMALS,
        "positions_off": "true",
    },
    {"rule": WAVE, "sentence": "Quokkas frobnicate. " * 12, "cell": "41.3", "shuffle": "998"},
)
LARGEST, NEAREST = 10, 0.05
SHOWN, FEW, LENGTH, LOST, WORDS = 20, 10, 100, 30, 20


def d_model() -> int:
    return config()["d_model"]


def idea(page: Page) -> Statements:
    yield markdown(
        "The words *cat fights dog* and *dog fights cat* are the same pieces, and so the same embeddings. To tell the two "
        "apart, the model adds to every embedding numbers that depend only on the position: its **encoding**. They are sines "
        "and cosines of the position."
    )
    yield fold("The formula, and a table small enough to check by hand")
    yield latex(
        r"\begin{aligned}PE_{(pos,\,2i)}&=\sin\!\left(pos\,/\,10000^{2i/d_{model}}\right)\\"
        r"PE_{(pos,\,2i+1)}&=\cos\!\left(pos\,/\,10000^{2i/d_{model}}\right)\end{aligned}"
    )
    yield markdown(
        f"*pos* is the position; the d_model = {d_model()} numbers come in pairs *i*, a sine and a cosine each, and "
        "every pair turns more slowly than the one before. The formula counts *pos* and *i* from 0. Dimensions count "
        "from 1 here: 1 and 2 are the first pair."
    )
    yield from small_table()
    yield fold("Would something simpler do? Try it")
    yield markdown(
        "In the encoder, pieces look at one another (that is *attention*, the next lessons), and nothing in that says "
        "which piece comes first. So an encoding must tell the **order**, be **unique** for every position (so it must "
        "not repeat), and stay **bounded**, however long the sentence is."
    )
    yield from simpler_rules(page)
    yield fold("Other ways to tell a model about order")
    yield from other_ways(page)


# --- rules that fail -------------------------------------------------------------------------------------------------


def follow(rule: str, p: float, t: int, c: float) -> float:
    """P(t + 1) from P(t)."""
    match rule:
        case "P(t) + c":
            return p + c
        case "P(t) · c":
            return p * c
        case "e^(P(t) · c)":
            return float(np.exp(p * c)) if p * c < 700 else math.inf
        case "P(t) · t · c":
            return p * t * c
    raise KeyError(rule)


def numbers_by(rule: str, c: float) -> Array:
    """P(1) to P(max_len)."""
    values = [1.0]
    for t in range(1, config()["max_len"]):
        values.append(follow(rule, values[-1], t, c))
    return np.array(values)


def closest(values: Array) -> float:
    """The smallest distance of two rows; two that are beyond all numbers are the same."""
    if np.isinf(values).sum() > 1:
        return 0.0
    rows = values[np.isfinite(values).reshape(len(values), -1).all(1)].reshape(-1, values[0].size)
    return min(math.dist(one, other) for one, other in itertools.combinations(rows.tolist(), 2))


def simpler_rules(page: Page) -> Statements:
    yield markdown(
        "Let one number stand for the position. Begin with P(1) = 1, and make each next one from the one before (here "
        "t counts positions from 1):"
    )
    rules = [*CONSTANTS, WAVE]
    rule = page.choice("rule", rules, rules[0])
    yield segmented("P(t + 1) =", rules, rule)
    if rule == WAVE:
        values = positions(config()["max_len"] + 1, d_model())[1:]
        dimensions = [1, 2, d_model() // 4 + 1]
        curves, names = values[:SHOWN, [n - 1 for n in dimensions]], [f"dimension {n}" for n in dimensions]
        why = (
            f"One wave alone would repeat; {d_model() // 2} pairs of waves, each slower than the last, do not. The "
            f"distance is that between vectors of {d_model()} numbers."
        )
        end: float = 1.2
    else:
        constants = CONSTANTS[rule]
        c = page.choice(f"constant_{rules.index(rule)}", constants, constants[0])
        yield segmented("c", constants, c)
        values = numbers_by(rule, float(c.replace("−", "-")))
        curves, names = values[:SHOWN, None], ["P(t)"]
        why = {
            "P(t) + c": "A steady climb has no end: large steps soon drown the word, small ones make neighbours alike.",
            "P(t) · c": "A factor above 1 explodes, one below 1 fades to nothing, and −1 goes round in a circle of "
            "two.",
            "e^(P(t) · c)": "Either it explodes, or it settles on one number and all later positions look the same.",
            "P(t) · t · c": "The factor grows with t: below 1 it shrinks, at 1 two neighbours are equal, above 1 it "
            "explodes.",
        }[rule]
        end = 5
    largest, nearest = float(np.abs(values).max()), closest(values)
    # Sines and cosines alone are both.
    assert (largest <= LARGEST and nearest >= NEAREST) == (rule == WAVE)
    yield markdown(
        f"Over {len(values)} positions: the largest size is **{magnitude(largest)}** "
        f"({'bounded' if largest <= LARGEST else 'not bounded'}), the two closest positions are "
        f"**{magnitude(nearest)}** apart ({'unique' if nearest >= NEAREST else 'not to be told apart'}). {why}"
    )
    embedded = np.abs(page.oracle["encoder.embedding.scaled"]).max()
    yield caption(
        f"Here a size above {LARGEST} counts as not bounded, a distance below {NEAREST} as not to be told apart. For "
        f"comparison: the embeddings of your sentence, to which this is added, reach {number(embedded, 2)}."
    )
    looks = (BLUE, "solid"), (ORANGE, "dash"), (GREY, "dot")
    yield plot(
        f"The first {SHOWN} positions under the rule {rule}. {why}",
        [
            {
                "type": "scatter",
                "mode": "lines+markers",
                "marker": {"size": 5},
                "line": {"color": colour, "dash": dash, "width": 2},
                "name": name,
                "x": np.arange(1.0, SHOWN + 1),
                "y": np.where(np.isinf(curve), np.nan, np.clip(curve, -1e6, 1e6)),
                "hovertemplate": "position %{x}: %{y:.4g}<extra></extra>",
            }
            for curve, name, (colour, dash) in zip(curves.T, names, looks, strict=False)
        ],
        x={"title": {"text": "position t"}},
        y={"title": {"text": "P(t)"}, "range": np.array([-1.05, 1.05]) * end},
    )
    yield caption(f"The picture ends at {end} and −{end}; what is larger leaves it.")
    yield from numbers_of_figure(("t", *names), *((str(t), *map(magnitude, row)) for t, row in enumerate(curves, 1)))


def small_table() -> Statements:
    yield matrix(
        positions(5, 5).T,
        [f"dim {n}" for n in range(1, 6)],
        [str(pos) for pos in range(5)],
        title="Positions 0 to 4, d_model = 5",
        how_to_read="A column is a position, counted from 0 as in the formula; a row is a dimension, counted from 1: "
        "sine, cosine, sine, cosine, sine.",
        describe="position {column}, {row}: {value}",
        scale="signed",
        limit=1.0,
        digits=3,
        csv_name="encoding of 5 positions in 5 dimensions",
    )
    yield caption(
        "Computed just now by the function under *Code*. Five is odd, so the last sine has no cosine. Each pair turns "
        "more slowly than the one before."
    )


def other_ways(page: Page) -> Statements:
    # Vaswani et al. 2017; Radford et al. 2018, Devlin et al. 2018, Dosovitskiy et al. 2020; Raffel et al. 2019;
    # Su et al. 2021, Black et al. 2022; Press et al. 2021, Le Scao et al. 2022.
    yield table(
        ("Kind", "What it is", "Formula", "Used by"),
        (
            "absolute, fixed",
            "sines and cosines, added to the embedding",
            "$x_i + P(i)$",
            "the original Transformer; this model",
        ),
        (
            "absolute, learned",
            "a trained vector for each position, added to the embedding",
            "$x_i + p_i$",
            "GPT, BERT, ViT",
        ),
        ("relative", "a trained number for each distance, added to the score", r"$q_i\cdot k_j + r_{i-j}$", "T5"),
        (
            "rotary (RoPE)",
            "queries and keys are turned, the further on the more",
            r"$(R_i q_i)\cdot (R_j k_j)$",
            "RoFormer, GPT-NeoX",
        ),
        (
            "ALiBi",
            "a penalty that grows with the distance, taken from the score",
            r"$q_i\cdot k_j - m\,(i-j)$",
            "BLOOM",
        ),
    )
    yield caption(
        "*q* and *k*, query and key, are two vectors that the next lessons explain; the score is their product, and "
        "*i* and *j* are their positions. The models named: GPT, GPT-NeoX and BLOOM write text, BERT and RoFormer read "
        "it, T5 turns one text into another, ViT looks at pictures."
    )
    yield markdown("**Rotary, in one formula.** Each pair of numbers of a query or key at position m is turned by m·θ:")
    yield latex(
        r"R_m\begin{pmatrix}x_1\\x_2\end{pmatrix}=\begin{pmatrix}\cos m\theta&-\sin m\theta\\\sin m\theta&\cos m\theta"
        r"\end{pmatrix}\begin{pmatrix}x_1\\x_2\end{pmatrix},\qquad (R_m q)\cdot(R_n k)=q\cdot R_{n-m}k"
    )
    q, k = (page.oracle[f"encoder.layers.0.self_attn.{letter}"][0, 0] for letter in "qk")

    def turned(x: Array, m: int) -> Array:
        """Each pair as a complex number: to turn it is to multiply it."""
        return (x[::2] + 1j * x[1::2]) * np.exp(1j * m * 10000.0 ** (-np.arange(0, len(x), 2) / len(x)))

    yield table(
        ("Position of q", "Position of k", "Distance", "Product"),
        *(
            (str(m), str(n), str(n - m), number((turned(q, m) * turned(k, n).conj()).real.sum()))
            for m, n in ((0, 0), (1, 4), (9, 12), (1, 7))
        ),
    )
    yield caption(
        "Tried on a query and a key of this model, those of your first piece in its first head, for several positions "
        "(counted from 0). The product changes with the distance, and with nothing else."
    )


# --- See -------------------------------------------------------------------------------------------------------------


def stack(page: Page) -> str:
    return page.choice("stack", ("Encoder", "Decoder"), "Encoder").lower()


def read_by(page: Page) -> tuple[Piece, ...]:
    """The pieces that the stack reads."""
    return page.src if stack(page) == "encoder" else page.tgt


def what(page: Page) -> str:
    return page.choice("positions_tensor", list(TENSORS), "Positions")


def dimensions(page: Page) -> tuple[tuple[str, str], str]:
    options = f"first {FEW}", f"all {d_model()}"
    return options, page.choice("positions_dimensions", options, options[0])


def shown(page: Page) -> Shown:
    options, chosen = dimensions(page)
    return shown_tensor(
        page,
        f"{stack(page)}.embedding.{TENSORS[what(page)]}",
        rows=[f"{pos} {piece.text}" for pos, piece in enumerate(read_by(page))],
        n_columns=FEW if chosen == options[0] else None,
        start=(min(2, len(read_by(page)) - 1), 2),
    )


def see(page: Page) -> Statements:
    yield segmented("Side", ("Encoder", "Decoder"), stack(page).capitalize())
    yield segmented("Numbers", list(TENSORS), what(page))
    yield segmented("Dimensions", *dimensions(page))
    if stack(page) == "decoder":
        yield from shifted(page)
    title, how_to_read = {
        "Positions": ("The encoding of each position", "Odd dimensions are sines, even ones cosines."),
        "Embeddings": ("The scaled embeddings, without positions", "The same piece has the same row anywhere."),
        "Their sum": (f"What enters the {stack(page)}", "Embedding plus position, element by element."),
    }[what(page)]
    yield from tensor_matrix(
        shown(page),
        title=f"{title} ({len(read_by(page))}, {d_model()})",
        how_to_read=f"A row is a position (pos, from 0) with its piece, a column a dimension (from 1). {how_to_read}",
        describe="position {row}, dimension {column}: {value}",
    )
    view = page.choice("positions_view", VIEWS, CLOCKS)
    yield segmented("Look closer", VIEWS, view)
    yield from {CLOCKS: clocks, PRODUCTS: products, ROTATION: rotation, WAVES: waves}[view](page)


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def angle(pos: int, pair: int) -> float:
    """By how much a pair, counted from 1, has turned."""
    return pos / 10000 ** (2 * (pair - 1) / d_model())


def clocks(page: Page) -> Statements:
    pos = int(page.state.get("position", "3"))
    yield slider("Position", 0.0, LENGTH - 1.0, pos)
    pairs = [2**n for n in range(8)]
    n_pieces = len(read_by(page))
    others = sorted({*range(min(n_pieces, READABLE)), pos})
    # Four clocks a row, each 2.3 from the next and 2.8 above the one below.
    middles = np.array([[2.3 * (n % 4), -2.8 * (n // 4)] for n in range(8)])
    gap = np.array([np.nan, np.nan])

    def hands(at: int) -> Array:
        return np.array([[math.sin(angle(at, pair)), math.cos(angle(at, pair))] for pair in pairs])

    def drawn(points: list[Array], **more: Any) -> dict[str, Any]:
        return {"type": "scatter", "x": np.array(points)[:, 0], "y": np.array(points)[:, 1], **more}

    turn = np.linspace(0, 2 * math.pi, 73)
    rim = np.stack([np.sin(turn), np.cos(turn)], 1)
    rims = [point for middle in middles for point in (*(middle + rim), gap)]
    thin = [
        p
        for at in others
        for middle, hand in zip(middles, hands(at), strict=True)
        for p in (middle, middle + hand, gap)
    ]
    bold = [p for middle, hand in zip(middles, hands(pos), strict=True) for p in (middle, middle + hand, gap)]
    line = {"mode": "lines", "hoverinfo": "skip"}
    yield plot(
        f"{len(pairs)} clocks, one for a pair of dimensions each. At position {pos} the hand of pair 1 has turned by "
        f"{number(angle(pos, 1), 2)} radians, that of pair {pairs[-1]} by {number(angle(pos, pairs[-1]), 2)}.",
        [
            drawn(rims, **line, line={"color": GREY, "width": 1}),
            drawn(thin, **line, line={"color": GREY, "width": 1}, opacity=0.5),
            drawn(bold, **line, line={"color": BLUE, "width": 4}),
            drawn(
                list(middles + hands(pos)),
                mode="markers",
                marker={"size": 9, "color": BLUE},
                customdata=hands(pos),
                hovertemplate="sine %{customdata[0]:.4f}, cosine %{customdata[1]:.4f}<extra></extra>",
            ),
        ],
        x={"visible": False, "range": np.array([-1.1, 8.0])},
        y={"visible": False, "range": np.array([-3.9, 1.6]), "scaleanchor": "x"},
        annotations=[
            {"x": x, "y": y + 1.1, "text": f"pair {pair}", "showarrow": False}
            for (x, y), pair in zip(middles.tolist(), pairs, strict=True)
        ],
    )
    yield caption(
        "Each pair of dimensions is a clock hand: across is its sine, up is its cosine. Dimensions 1 and 2 are pair 1, "
        f"the formula's i = 0. From one position to the next, pair 1 turns by {number(angle(1, 1), 0)} radian "
        f"({number(math.degrees(angle(1, 1)), 0)}°), each later pair by less. Bold: the chosen position, counted from "
        "0; thin: those of the pieces" + (f" (the first {READABLE} of {n_pieces})." if n_pieces > READABLE else ".")
    )
    yield from numbers_of_figure(
        ("pair", "angle in radians", "sine", "cosine"),
        *(
            (str(pair), number(angle(pos, pair)), *map(number, hand))
            for pair, hand in zip(pairs, hands(pos), strict=True)
        ),
    )


def products(page: Page) -> Statements:
    n_pieces = len(read_by(page))
    length = min(n_pieces, READABLE)
    encoding = positions(length, d_model())
    alike = encoding @ encoding.T
    labels = [str(pos) for pos in range(length)]
    yield matrix(
        alike,
        labels,
        labels,
        title="P(t) · P(u): how alike two positions are",
        how_to_read="The dot product: multiply two vectors number by number and add up. Positions count from 0. Along "
        "each falling diagonal the distance stays the same, and so does the product.",
        describe="P({row}) · P({column}) = {value}",
        row_axis="position t",
        column_axis="position u",
        scale="positive",
        limit=d_model() / 2,
        digits=1,
        csv_name="products of positions",
    )
    if length < n_pieces:
        yield caption(f"Shown: the positions of the first {length} of {n_pieces} pieces.")
    assert max(np.ptp(alike.diagonal(c)) for c in range(length)) < 1e-9
    yield caption(
        f"Within a diagonal the products differ by at most {rounding()}, which is rounding: P(t) · P(t + c) depends on "
        f"c alone. A position with itself gives d_model / 2 = {number(alike[0, 0], 0)}."
    )


def turning(c: int) -> Array:
    """The matrix that takes every position c steps on."""
    result = np.zeros((d_model(), d_model()))
    for pair in range(1, d_model() // 2 + 1):
        cos, sin = math.cos(angle(c, pair)), math.sin(angle(c, pair))
        result[2 * pair - 2 : 2 * pair, 2 * pair - 2 : 2 * pair] = [[cos, sin], [-sin, cos]]
    return result


@functools.cache
def sizes_of_eigenvalues(c: int) -> Array:
    return np.abs(np.linalg.eigvals(turning(c)))


def rotation(page: Page) -> Statements:
    c = int(page.state.get("offset", "3"))
    yield slider("Step c", 1.0, 50.0, c)
    m, encoding = turning(c), positions(LENGTH, d_model())
    assert np.allclose(encoding[:-c] @ m.T, encoding[c:], atol=1e-9)
    yield matrix(
        m[:6, :6],
        "123456",
        "123456",
        title=f"M for a step of {c}: its first 6 rows and columns of {len(m)}",
        how_to_read="A small rotation for each pair of dimensions, zeros elsewhere.",
        scale="signed",
        limit=1.0,
        digits=3,
        csv_name=f"rotation by {c} positions",
    )
    yield latex(
        r"\begin{gathered}P(t+c)=M_c\,P(t)\\\text{and for each pair }i\\\omega_i=10000^{-2i/d_{model}}\\"
        r"M_c=\begin{pmatrix}\cos c\omega_i&\sin c\omega_i\\-\sin c\omega_i&\cos c\omega_i\end{pmatrix}\end{gathered}"
    )
    lengths = np.linalg.norm(encoding, axis=1)
    yield markdown(
        f"The same matrix takes every position {c} steps on. Checked for t = 0 to {LENGTH - 1 - c}: M P(t) differs "
        f"from P(t + {c}) by at most **{rounding(1e-5)}**. A rotation changes no length: all {LENGTH} encodings have "
        f"lengths between **{number(lengths.min())}** and **{number(lengths.max())}** (√{d_model() // 2} = "
        f"{number(math.sqrt(d_model() / 2))})."
    )
    yield fold("Words for this: unitary, eigenvalue")
    sizes = sizes_of_eigenvalues(c)
    yield markdown(
        "A matrix that makes no vector longer or shorter is called **unitary** (*orthogonal* if its numbers are real). "
        "An **eigenvalue** tells by how much a matrix stretches a vector that keeps its direction; for a rotation it "
        f"is a complex number. Those of this M all have a size between **{number(sizes.min())}** and "
        f"**{number(sizes.max())}**. So however often M is applied, nothing explodes or fades. That is what the "
        "simpler rules lacked. Nothing demands these very angles: M can also be learned in training, as long as it "
        "stays unitary."
    )


def waves(page: Page) -> Statements:
    encoding = positions(LENGTH, d_model())
    yield plot(
        f"A heatmap of {LENGTH} positions by {d_model()} dimensions: fast stripes on the left, slow ones to the right, "
        "nearly constant at the right end.",
        [
            {
                "type": "heatmap",
                "z": encoding.round(3),
                "x0": 1,
                "zmin": -1,
                "zmax": 1,
                "colorscale": [[0, BLUE], [0.5, "rgba(128,138,150,0.05)"], [1, ORANGE]],
                "colorbar": {"tickvals": np.array([-1.0, 0.0, 1.0])},
                "hovertemplate": "position %{y}, dimension %{x}: %{z:.3f}<extra></extra>",
            }
        ],
        x={"title": {"text": "dimension"}},
        y={"title": {"text": "position"}, "autorange": "reversed"},
    )
    yield caption(
        "Orange is +1, blue −1. Fast waves on the left tell neighbours apart, slow ones to the right tell far from "
        "near, like the second and the hour hand."
    )
    yield fold("The numbers of the figure")
    yield Statement(
        "dataframe", {"columns": [f"dim {n}" for n in range(1, d_model() + 1)], "values": encoding.round(3)}
    )


# --- Do: words in another order --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Order:
    """The first words of a text, and the same in another order; for each piece of the second which it was."""

    words: str
    shuffled: str
    rows: tuple[int, ...]


def shuffled(text: str, seed: int) -> Order | None:
    """As NumPy's generator draws it from the seed; the words' pieces are counted as they stand in the text."""
    every = text.split()
    words = [w for n, w in enumerate(every[:WORDS], 1) if len(encoded(" ".join(every[:n]))) <= MAX_PIECES]
    if len(set(words)) < 2:
        return None
    draw, order = np.random.default_rng(seed), list(range(len(words)))
    while [words[n] for n in order] == words:
        order = draw.permutation(len(words)).tolist()
    ends = [len(encoded(" ".join(words[:n]))) for n in range(len(words) + 1)]
    result = Order(
        " ".join(words),
        " ".join(words[n] for n in order),
        tuple(row for n in order for row in range(ends[n], ends[n + 1])),
    )
    ids = encoded(result.words)
    assert encoded(result.shuffled) == [ids[row] for row in result.rows]
    return result


def seed_of(page: Page) -> int:
    asked = page.state.get("shuffle", "0")
    return int(asked) if asked.isdecimal() and int(asked) <= 999 else 0


def do(page: Page) -> Statements:
    yield markdown(
        "Put the words in another order, really run the model on them, and put its output rows back in the first "
        "order. Does each piece still get the same vector?"
    )
    whose = page.choice("shuffle_of", (YOURS, ANIMALS), YOURS)
    reader = page.choice("shuffle_in", (ENCODER, DECODER), ENCODER)
    off, lifted = page.switch("positions_off"), page.switch("mask_off")
    yield segmented("Words of", (YOURS, ANIMALS), whose)
    yield segmented("Read by", (ENCODER, DECODER), reader)
    yield toggle("Leave the positions out", off)
    if reader == DECODER:
        yield toggle("Lift the causal mask", lifted)
    yield button("Shuffle again")
    english, translation = (page.text, page.translation) if whose == YOURS else (EXAMPLE, german(EXAMPLE))
    text = english if reader == ENCODER else translation
    order = shuffled(text, seed_of(page))
    if order is None:
        yield info("There is only one word here, so no other order. Choose *Who sees whom?*, or type two words.")
        return
    yield from read_by_encoder(order, off) if reader == ENCODER else read_by_decoder(english, order, off, lifted)
    if order.words != text:
        yield caption(f"Only the first {len(order.words.split())} words take part.")


@functools.lru_cache(16)
def written_for(text: str, off: bool) -> Ids:
    """What greedy search writes; without positions it is stopped early."""
    return greedy(Writer(text, positions_off=off), most=LOST) if off else greedy(Writer(text))


def side_by_side(before: Array, after: Array, texts: list[str], which: str, same: bool) -> Statements:
    part = np.s_[:READABLE, :FEW]
    limit = max(np.abs(before[part]).max(), np.abs(after[part]).max())
    for values, title in ((before, "In the first order"), (after, "Shuffled, rows put back")):
        yield matrix(
            values[part],
            texts[:READABLE],
            [str(n) for n in range(1, FEW + 1)],
            title=title,
            how_to_read=f"The {which}'s output, {d_model()} dimensions, one scale for both.",
            describe="“{row}”, dimension {column}: {value}",
            scale="signed",
            limit=limit,
            csv_name=f"{which} output {title}",
        )
    rows = f"the first {READABLE} of {len(before)} rows and " if len(before) > READABLE else ""
    yield caption(f"Shown: {rows}the first {FEW} of {d_model()} columns.")
    difference = np.abs(before - after).max()
    assert same == (difference < 1e-9)
    yield markdown(
        f"The largest difference between matching rows, over all {d_model()} dimensions: "
        f"**{rounding() if same else magnitude(difference)}**."
    )


def read_by_encoder(order: Order, off: bool) -> Statements:
    before, moved = (
        Forward(source_ids(text), [EOS], positions_off=off)[writes("encoder", config()["n_layers"] - 1)]
        for text in (order.words, order.shuffled)
    )
    after = moved.copy()
    after[[*order.rows, len(order.rows)]] = moved
    texts = [piece.text for piece in pieces(source_ids(order.words))]
    yield from side_by_side(before, after, texts, "encoder", same=off)
    ids = [written_for(text, off) for text in (order.words, order.shuffled)]
    for text, german_ids in zip((order.words, order.shuffled), ids, strict=True):
        yield markdown(f"**{inline(text)}** → {inline(text_of(german_ids)) or '(nothing)'}")
    if not off:
        yield caption(
            "With positions each piece gets another vector when it stands elsewhere: order has become part of the "
            "numbers. Now leave the positions out."
        )
        return
    assert ids[0] == ids[1]
    yield caption(
        "Without positions the difference is rounding: shuffling in is shuffling out. Attention without a mask is "
        "*permutation-equivariant*: the rows move with their words. (Some call it position-invariant; that would mean "
        "that the output does not change at all.) The decoder then looks at the same set of rows, so both orders get "
        "the same translation."
    )
    if ids[0][-1] != EOS:
        yield caption(
            f"The translation is cut after {LOST} pieces. The decoder has lost its positions too, and by then it has "
            "not come to an end."
        )


def read_by_decoder(english: str, order: Order, off: bool, lifted: bool) -> Statements:
    before, moved = (
        Forward(source_ids(english), [*encoded(text), EOS], positions_off=off, causal_mask_off=lifted)[
            writes("decoder", config()["n_layers"] - 1)
        ]
        for text in (order.words, order.shuffled)
    )
    after = moved.copy()
    after[[0, *(row + 1 for row in order.rows)]] = moved  # `<sos>` stays in front
    texts = ["<sos>", *(piece.text for piece in pieces(encoded(order.words)))]
    yield from side_by_side(before, after, texts, "decoder", same=off and lifted)
    yield markdown(f"Read in one order: **{inline(order.words)}** In the other: **{inline(order.shuffled)}**")
    if off and lifted:
        says = "Without positions and without the mask the difference is rounding: it was the mask that told the order."
    elif off:
        says = (
            "Even without positions the rows change. A decoder has a *causal mask* (the lesson *Masking*): a piece "
            "sees only what stands before it. In another order it sees other pieces. So a masked decoder is not "
            "permutation-equivariant. Lift the mask to see that it is the cause."
        )
    elif lifted:
        says = "The mask is lifted, but the positions still tell the order."
    else:
        says = "With positions each piece gets another vector when it stands elsewhere. Now leave the positions out."
    yield caption(says)


# --- questions -------------------------------------------------------------------------------------------------------


@functools.cache
def where_rows_go() -> int:
    """Without positions, of shuffled words: 0 if the rows move along, 1 if they stay, 2 if they are others."""
    order = shuffled(EXAMPLE, 0)
    assert order
    before, after = (
        Forward(source_ids(text), [EOS], positions_off=True)[writes("encoder", config()["n_layers"] - 1)]
        for text in (order.words, order.shuffled)
    )
    if np.allclose(before, after):
        return 1
    return 0 if np.allclose(before[[*order.rows, len(order.rows)]], after) else 2


def predict(page: Page) -> Statements:
    yield question(
        "Leave the positions out and shuffle the words. The rows of the encoder's output will…",
        (
            "be the same numbers, shuffled like the words",
            "not change at all, not even their order",
            "be entirely different numbers",
        ),
        where_rows_go(),
        "Each row is made from its own piece and the set of all pieces, and neither depends on the order. That is "
        "called permutation-equivariant. Try it under *Do*.",
        {
            1: "There is one row for each piece, so the rows stand where their pieces stand.",
            2: "Only their places change: a piece meets the same pieces as before.",
        },
    )
    yield largest_sine(page)
    encoding = positions(13, d_model())
    near, later = encoding[1] @ encoding[4], encoding[9] @ encoding[12]
    yield question(
        "The dot product of two encodings tells how alike they are: multiply them number by number and add up. "
        f"P(1) · P(4) is {number(near, 3)}. What is P(9) · P(12)?",
        ("larger", "the same", "smaller"),
        1 if abs(later - near) < 1e-9 else 0 if later > near else 2,
        f"It is {number(later, 3)}. Both pairs are 3 positions apart, and the product depends on the distance alone: "
        "cos(a) cos(b) + sin(a) sin(b) = cos(a − b), for every pair of dimensions.",
        {
            0: "The numbers of an encoding do not grow with the position; sines and cosines stay between −1 and 1.",
            2: "Nothing fades with the position; sines and cosines go on for ever.",
        },
    )


def largest_sine(page: Page) -> Question:
    offered = page.src[:8]
    sines = [math.sin(pos) for pos in range(len(offered))]
    best = sines.index(max(sines))
    which = "these pieces" if len(offered) == len(page.src) else f"the first {len(offered)} pieces"
    return question(
        f"Dimension 1 is sin(pos). At which of {which} of your sentence is it largest? (pos counts from 0, angles are "
        "in radians.)",
        [f"{inline(piece.text)} (pos {pos})" for pos, piece in enumerate(offered)],
        best,
        f"sin({best}) = {number(sines[best])}: a quarter turn is π/2 = {number(math.pi / 2, 2)}, and whole turns of "
        f"2π = {number(2 * math.pi, 2)} come back to it. The piece itself plays no part.",
        {pos: f"sin({pos}) = {number(value)}." for pos, value in enumerate(sines) if pos != best},
    )


def code(page: Page) -> Statements:
    yield from code_part(
        ("model/parts/positions.py", "sinusoidal_encoding"),
        ("model/parts/positions.py", "Sinusoidal"),
        ("model/parts/positions.py", "rotation"),
        ("model/parts/positions.py", "Rotary"),
        ("experiments/passes.py", "shuffle"),
    )
