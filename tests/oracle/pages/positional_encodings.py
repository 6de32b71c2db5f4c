"""What the lesson on positional encodings must show."""

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.oracle.approved import Prose
from tests.oracle.claims import (
    Question,
    button,
    caption,
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

prose = Prose("positional_encodings")

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
    yield from prose("the words cat fights", d_model())
    yield from small_table()
    yield from prose("would something simpler do")
    yield from simpler_rules(page)
    yield from prose("other ways to tell")
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
    yield from prose("let one number stand")
    rules = [*CONSTANTS, WAVE]
    rule = page.choice("rule", rules, rules[0])
    yield segmented("P(t + 1) =", rules, rule)
    if rule == WAVE:
        values = positions(config()["max_len"] + 1, d_model())[1:]
        dimensions = [1, 2, d_model() // 4 + 1]
        curves, names = values[:SHOWN, [n - 1 for n in dimensions]], [f"dimension {n}" for n in dimensions]
        why = prose.line("one wave alone would", d_model() // 2, d_model())
        end: float = 1.2
    else:
        constants = CONSTANTS[rule]
        c = page.choice(f"constant_{rules.index(rule)}", constants, constants[0])
        yield segmented("c", constants, c)
        values = numbers_by(rule, float(c.replace("−", "-")))
        curves, names = values[:SHOWN, None], ["P(t)"]
        why = {
            "P(t) + c": "A steady climb has no end: large steps soon drown the word, small ones make neighbours alike.",
            "P(t) · c": prose.line("a factor above explodes"),
            "e^(P(t) · c)": "Either it explodes, or it settles on one number and all later positions look the same.",
            "P(t) · t · c": prose.line("the factor grows with"),
        }[rule]
        end = 5
    largest, nearest = float(np.abs(values).max()), closest(values)
    # Sines and cosines alone are both.
    assert (largest <= LARGEST and nearest >= NEAREST) == (rule == WAVE)
    yield from prose(
        "over positions the largest",
        len(values),
        magnitude(largest),
        "bounded" if largest <= LARGEST else "not bounded",
        magnitude(nearest),
        "unique" if nearest >= NEAREST else "not to be told apart",
        why,
    )
    embedded = np.abs(page.oracle["encoder.embedding.scaled"]).max()
    yield from prose("here a size above", LARGEST, NEAREST, number(embedded, 2))
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
    yield from prose("the picture ends at", end)
    yield from numbers_of_figure(("t", *names), *((str(t), *map(magnitude, row)) for t, row in enumerate(curves, 1)))


def small_table() -> Statements:
    yield matrix(
        positions(5, 5).T,
        [f"dim {n}" for n in range(1, 6)],
        [str(pos) for pos in range(5)],
        title="Positions 0 to 4, d_model = 5",
        how_to_read=prose.line("a column is a"),
        describe="position {column}, {row}: {value}",
        scale="signed",
        limit=1.0,
        digits=3,
        csv_name="encoding of 5 positions in 5 dimensions",
    )
    yield from prose("computed just now by")


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
    yield from prose("q and k query")
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
    yield from prose("tried on a query")


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
        prose.line(
            "clocks one for a", len(pairs), pos, number(angle(pos, 1), 2), pairs[-1], number(angle(pos, pairs[-1]), 2)
        ),
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
    yield from prose(
        "each pair of dimensions",
        number(angle(1, 1), 0),
        number(math.degrees(angle(1, 1)), 0),
        f" (the first {READABLE} of {n_pieces})." if n_pieces > READABLE else ".",
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
        how_to_read=prose.line("the dot product multiply"),
        describe="P({row}) · P({column}) = {value}",
        row_axis="position t",
        column_axis="position u",
        scale="positive",
        limit=d_model() / 2,
        digits=1,
        csv_name="products of positions",
    )
    if length < n_pieces:
        yield from prose("shown the positions of", length, n_pieces)
    assert max(np.ptp(alike.diagonal(c)) for c in range(length)) < 1e-9
    yield from prose("within a diagonal the", rounding(), number(alike[0, 0], 0))


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
    yield from prose("gathered p t c")
    lengths = np.linalg.norm(encoding, axis=1)
    yield from prose(
        "the same matrix takes",
        c,
        LENGTH - 1 - c,
        rounding(1e-05),
        LENGTH,
        number(lengths.min()),
        number(lengths.max()),
        d_model() // 2,
        number(math.sqrt(d_model() / 2)),
    )
    sizes = sizes_of_eigenvalues(c)
    yield from prose("a matrix that makes", number(sizes.min()), number(sizes.max()))


def waves(page: Page) -> Statements:
    encoding = positions(LENGTH, d_model())
    yield plot(
        prose.line("a heatmap of positions", LENGTH, d_model()),
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
    yield from prose("orange is blue fast")
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
    yield from prose("put the words in")
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
        yield from prose("there is only one")
        return
    yield from read_by_encoder(order, off) if reader == ENCODER else read_by_decoder(english, order, off, lifted)
    if order.words != text:
        yield from prose("only the first words", len(order.words.split()))


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
    yield from prose("shown the first of", rows, FEW, d_model())
    difference = np.abs(before - after).max()
    assert same == (difference < 1e-9)
    yield from prose("the largest difference between", d_model(), rounding() if same else magnitude(difference))


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
        yield from prose("with positions each piece")
        return
    assert ids[0] == ids[1]
    yield from prose("without positions the difference")
    if ids[0][-1] != EOS:
        yield from prose("the translation is cut", LOST)


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
    yield from prose("read in one order", inline(order.words), inline(order.shuffled))
    if off and lifted:
        says = "Without positions and without the mask the difference is rounding: it was the mask that told the order."
    elif off:
        says = prose.line("even without positions the")
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
    yield prose.question("leave the positions out", where_rows_go())
    yield largest_sine(page)
    encoding = positions(13, d_model())
    near, later = encoding[1] @ encoding[4], encoding[9] @ encoding[12]
    yield prose.question(
        "the dot product of",
        1 if abs(later - near) < 1e-9 else 0 if later > near else 2,
        number(near, 3),
        number(later, 3),
    )


def largest_sine(page: Page) -> Question:
    offered = page.src[:8]
    sines = [math.sin(pos) for pos in range(len(offered))]
    best = sines.index(max(sines))
    which = "these pieces" if len(offered) == len(page.src) else f"the first {len(offered)} pieces"
    return question(
        prose.line("dimension is sin pos", which),
        [f"{inline(piece.text)} (pos {pos})" for pos, piece in enumerate(offered)],
        best,
        prose.line("sin a quarter turn", best, number(sines[best]), number(math.pi / 2, 2), number(2 * math.pi, 2)),
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
