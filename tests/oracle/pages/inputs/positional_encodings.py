"""What the lesson on positional encodings must show."""

import itertools
import math
import re
from typing import Any

import numpy as np

from tests.oracle.language import common
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import button, magnitude, markdown, matrix, number, plot, rounding, slider, table
from tests.oracle.language.claims import toggle as switch
from tests.oracle.language.common import Shown, Statements, choose, numbers_of_figure
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import Piece, encoded, inline, pieces, text_of
from tests.oracle.passes.decode import Writer, german, greedy
from tests.oracle.passes.forward import EOS, MAX_PIECES, Array, Forward, config, position, positions, source_ids
from tests.oracle.passes.network import turned
from tests.oracle.shown.worked import writes

prose = Prose("positional_encodings")

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#808a96"
TENSORS = {"Positions": "positions", "Embeddings": "scaled", "Their sum": "output"}
VIEWS = CLOCKS, PRODUCTS, ROTATION, WAVES = "Clock hands", "Products", "Rotation", "100 positions"
YOURS, ANIMALS = "your sentence", "Who sees whom?"
EXAMPLE = "The white dog sees the black cat."
ENCODER, DECODER = "the encoder", "the decoder"
RULES: dict[str, tuple[Any, tuple[str, ...]]] = {  # P(t + 1) from P(t), t and c; what to try for c
    "P(t) + c": (lambda p, t, c: p + c, ("1", "0.1", "0.01")),
    "P(t) · c": (lambda p, t, c: p * c, ("1.1", "0.9", "−1")),
    "e^(P(t) · c)": (lambda p, t, c: math.exp(p * c) if p * c < 700 else math.inf, ("1", "0.1")),
    "P(t) · t · c": (lambda p, t, c: p * t * c, ("1", "0.1")),
}
WAVE = "sine and cosine"
LONG = "The old man, who lives near the sea, often walks along the beach with his small brown dog. " * 4
OFF, LIFTED = {"positions_off": "true"}, {"mask_off": "true"}
STATES: tuple[dict[str, str], ...] = (
    {},
    {"rule": "P(t) + c", "constant_0": "0.1", "positions_view": PRODUCTS, "stack": "Decoder", "cell": "3.4",
     "positions_tensor": "Embeddings", "shuffle_of": ANIMALS, "shuffle": "7"},
    {"rule": "P(t) + c", "constant_0": "0.01", "positions_view": ROTATION, "offset": "50", "cell": "2.200",
     "positions_tensor": "Their sum", "positions_dimensions": "all 256", "shuffle": "٣", **OFF},
    {"rule": "P(t) · c", "positions_view": WAVES, "shuffle_in": DECODER, "cell": "1.10", "shuffle": "999"},
    {"rule": "P(t) · c", "constant_1": "0.9", "sentence": LONG, "stack": "Decoder", "shuffle_in": DECODER, **OFF},
    {"rule": "P(t) · c", "constant_1": "−1", "sentence": LONG, "positions_view": PRODUCTS, **OFF, **LIFTED},
    {"rule": "e^(P(t) · c)", "sentence": "Go", "positions_view": ROTATION, "stack": "Decoder"},
    {"rule": "e^(P(t) · c)", "constant_2": "0.1", "sentence": "Zoë mag <b> Äpfel.", "position": "40",
     "shuffle_in": DECODER, "shuffle": "-1", **OFF, **LIFTED},
    {"rule": "P(t) · t · c", "position": "0", "shuffle_in": DECODER, "shuffle_of": ANIMALS, **LIFTED},
    {"rule": "P(t) · t · c", "constant_3": "0.1", "sentence": "ฉันชอบ สุนัข", "position": "99", **OFF},  # goes on and on
    {"rule": WAVE, "sentence": "Quokkas frobnicate. " * 12, "cell": "41.3", "shuffle": "998"},
)  # fmt: skip
LARGEST, NEAREST = 10, 0.05
SHOWN, FEW, LENGTH, LOST, WORDS = 20, 10, 100, 30, 20


def d_model() -> int:
    return config()["d_model"]


def upto(n: int) -> list[str]:
    return [str(d) for d in range(1, n + 1)]


def idea(page: Page) -> Statements:
    yield from prose("the words cat fights", d_model())
    dims = [f"dim {n}" for n in upto(5)]
    yield matrix(positions(5, 5).T, dims, "01234", scale="signed", limit=1.0, digits=3, **prose.words("small table"))
    yield from prose("computed just now by")
    yield from simpler_rules(page)
    yield from prose("other ways to tell")
    yield prose.table("kinds")  # Vaswani 2017; Radford, Devlin 2018, Dosovitskiy 2020; Raffel 2019; Su 2021; Press 2021
    yield from prose("q and k query")
    q, k = (page.oracle[f"encoder.layers.0.self_attn.{letter}"][0, :1] for letter in "qk")
    tried = [(m, n, number(float(turned(q, m)[0] @ turned(k, n)[0]))) for m, n in ((0, 0), (1, 4), (9, 12), (1, 7))]
    head = ("Position of q", "Position of k", "Distance", "Product")
    yield table(head, *((str(m), str(n), str(n - m), product) for m, n, product in tried))
    yield from prose("tried on a query")


# --- rules that fail -------------------------------------------------------------------------------------------------


def closest(values: Array) -> float:
    """The smallest distance of two rows; two that are beyond all numbers are the same."""
    rows = values[np.isfinite(values).all(1)].tolist()
    return 0.0 if len(values) - len(rows) > 1 else min(math.dist(*two) for two in itertools.combinations(rows, 2))


def simpler_rules(page: Page) -> Statements:
    rule = yield from choose(page, "P(t + 1) =", "rule", [*RULES, WAVE])
    if rule == WAVE:
        values, end, dimensions = positions(config()["max_len"] + 1, d_model())[1:], 1.2, [0, 1, d_model() // 4]
        curves, names = values[:SHOWN, dimensions], [f"dimension {d + 1}" for d in dimensions]
        why = prose.line(WAVE, d_model() // 2, d_model())
    else:
        step, constants = RULES[rule]
        c = yield from choose(page, "c", f"constant_{[*RULES].index(rule)}", constants)
        factor, ts = float(c.replace("−", "-")), range(1, config()["max_len"])
        values, end = np.array([*itertools.accumulate(ts, lambda p, t: step(p, t, factor), initial=1.0)])[:, None], 5
        curves, names, why = values[:SHOWN], ["P(t)"], prose.words("why rules fail")[rule]
    largest, nearest = float(np.abs(values).max()), closest(values)
    is_bounded, is_unique = largest <= LARGEST, nearest >= NEAREST
    assert (is_bounded and is_unique) == (rule == WAVE)  # sines and cosines alone are both
    says = (magnitude(largest), "bounded" if is_bounded else "not bounded")
    says += (magnitude(nearest), "unique" if is_unique else "not to be told apart")
    reach = number(np.abs(page.oracle["encoder.embedding.scaled"]).max(), 2)
    yield from prose("over positions the largest", len(values), *says, why, LARGEST, NEAREST, reach)
    looks = zip(curves.T, names, (BLUE, ORANGE, GREY), ("solid", "dash", "dot"), strict=False)
    yield plot(
        f"The first {SHOWN} positions under the rule {rule}. {why}",
        [
            {
                "type": "scatter", "mode": "lines+markers", "marker": {"size": 5}, "name": name,
                "line": {"color": colour, "dash": dash, "width": 2}, "x": np.arange(1.0, SHOWN + 1),
                "y": np.where(np.isinf(curve), np.nan, np.clip(curve, -1e6, 1e6)),
                "hovertemplate": "position %{x}: %{y:.4g}<extra></extra>",
            }
            for curve, name, colour, dash in looks
        ],
        x={"title": {"text": "position t"}},
        y={"title": {"text": "P(t)"}, "range": np.array([-1.05, 1.05]) * end},
    )  # fmt: skip
    yield from prose("the picture ends at", end)
    yield from numbers_of_figure(("t", *names), *((str(t), *map(magnitude, row)) for t, row in enumerate(curves, 1)))


# --- See -------------------------------------------------------------------------------------------------------------


def read_by(page: Page) -> tuple[Piece, ...]:
    """The pieces that the stack reads."""
    return page.tgt if page.state.get("stack") == "Decoder" else page.src


def shown(page: Page) -> Shown:
    stack = page.choice("stack", ("Encoder", "Decoder"), "Encoder").lower()
    what = TENSORS[page.choice("positions_tensor", list(TENSORS), "Positions")]
    return common.shown_tensor(
        page,
        f"{stack}.embedding.{what}",
        rows=[f"{pos} {piece.text}" for pos, piece in enumerate(read_by(page))],
        n_columns=None if page.state.get("positions_dimensions") == f"all {d_model()}" else FEW,
        start=(min(2, len(read_by(page)) - 1), 2),
    )


def see(page: Page) -> Statements:
    stack = yield from choose(page, "Side", "stack", ("Encoder", "Decoder"))
    what = yield from choose(page, "Numbers", "positions_tensor", list(TENSORS))
    yield from choose(page, "Dimensions", "positions_dimensions", (f"first {FEW}", f"all {d_model()}"))
    if stack == "Decoder":
        yield from common.shifted(page)
    sizes = len(read_by(page)), d_model()
    yield from common.tensor_matrix(shown(page), **prose.words(what, *sizes, *[stack.lower()] * (what == "Their sum")))
    view = yield from choose(page, "Look closer", "positions_view", VIEWS)
    yield from {CLOCKS: clocks, PRODUCTS: products, ROTATION: rotation, WAVES: waves}[view](page)


def check(page: Page) -> Statements:
    yield from common.check_cell(shown(page))


def clocks(page: Page) -> Statements:
    pos, n_pieces, pairs = int(page.state.get("position", "3")), len(read_by(page)), 2 ** np.arange(8)
    yield slider("Position", 0.0, LENGTH - 1.0, pos)
    angles = pos / 10000 ** (2 * (pairs - 1) / d_model())
    every = positions(LENGTH, d_model()).reshape(LENGTH, -1, 2)[:, pairs - 1]  # (positions, clocks, sine and cosine)
    hand, thin = every[pos], every[sorted({*range(min(n_pieces, READABLE)), pos})]
    turn = np.linspace(0, 2 * math.pi, 73)
    rim = np.stack([np.sin(turn), np.cos(turn)], 1)[:, None]
    # Four clocks a row, each 2.3 from the next and 2.8 above the one below.
    middles = np.array([[2.3 * (n % 4), -2.8 * (n // 4)] for n in range(8)])

    def drawn(points: Array, **more: Any) -> dict[str, Any]:
        return {"type": "scatter", "x": points[:, 0], "y": points[:, 1], **more}

    def lines(*points: Any, colour: str = GREY, width: int = 1, **more: Any) -> dict[str, Any]:
        """Through these points of each clock, a gap behind the last."""
        on = np.stack(np.broadcast_arrays(*(middles + one for one in points), np.nan), -2).reshape(-1, 2)
        return drawn(on, mode="lines", hoverinfo="skip", line={"color": colour, "width": width}, **more)

    tips = {
        "mode": "markers", "marker": {"size": 9, "color": BLUE}, "customdata": hand,
        "hovertemplate": "sine %{customdata[0]:.4f}, cosine %{customdata[1]:.4f}<extra></extra>",
    }  # fmt: skip
    yield plot(
        prose.line("clocks one for a", 8, pos, number(angles[0], 2), pairs[-1], number(angles[-1], 2)),
        [lines(*rim), lines(0, thin, opacity=0.5), lines(0, hand, colour=BLUE, width=4), drawn(middles + hand, **tips)],
        x={"visible": False, "range": np.array([-1.1, 8.0])},
        y={"visible": False, "range": np.array([-3.9, 1.6]), "scaleanchor": "x"},
        annotations=[
            {"x": x, "y": y + 1.1, "text": f"pair {pair}", "showarrow": False}
            for (x, y), pair in zip(middles.tolist(), pairs, strict=True)
        ],
    )
    cut = f" (the first {READABLE} of {n_pieces})." if n_pieces > READABLE else "."
    yield from prose("each pair of dimensions", number(1, 0), number(math.degrees(1), 0), cut)
    rows = [(str(n), *map(number, row)) for n, row in zip(pairs, np.column_stack([angles, hand]), strict=True)]
    yield from numbers_of_figure(("pair", "angle in radians", "sine", "cosine"), *rows)


def products(page: Page) -> Statements:
    n_pieces = len(read_by(page))
    encoding = positions(min(n_pieces, READABLE), d_model())
    alike, labels = encoding @ encoding.T, [str(pos) for pos in range(len(encoding))]
    more = {"scale": "positive", "limit": d_model() / 2, "digits": 1}
    yield matrix(alike, labels, labels, **more, **prose.words("products"))
    if len(labels) < n_pieces:
        yield from prose("shown the positions of", len(labels), n_pieces)
    assert max(np.ptp(alike.diagonal(c)) for c in range(len(labels))) < 1e-9
    yield from prose("within a diagonal the", rounding(), number(alike[0, 0], 0))


def rotation(page: Page) -> Statements:
    c, d = int(page.state.get("offset", "3")), d_model()
    yield slider("Step c", 1.0, 50.0, c)
    m, encoding = np.zeros((d, d)), positions(LENGTH, d)
    for n in range(0, d, 2):
        sin, cos = position(c, d)[n : n + 2]
        m[n : n + 2, n : n + 2] = [[cos, sin], [-sin, cos]]
    assert np.allclose(encoding[:-c] @ m.T, encoding[c:], atol=1e-9)
    yield matrix(m[:6, :6], upto(6), upto(6), scale="signed", limit=1.0, digits=3, **prose.words("rotation", c, d))
    # A rotation is orthogonal: it keeps lengths, and its eigenvalues have the size 1.
    assert np.allclose(m @ m.T, np.eye(d))
    assert np.allclose((encoding**2).sum(1), d / 2)
    length = number(math.sqrt(d / 2))
    yield from prose("gathered p t c", c, LENGTH - 1 - c, rounding(1e-05), LENGTH, length, d // 2, number(1))


def waves(page: Page) -> Statements:
    encoding = positions(LENGTH, d_model()).round(3)
    heatmap = {
        "type": "heatmap", "z": encoding, "x0": 1, "zmin": -1, "zmax": 1,
        "colorscale": [[0, BLUE], [0.5, "rgba(128,138,150,0.05)"], [1, ORANGE]],
        "colorbar": {"tickvals": np.array([-1.0, 0.0, 1.0])},
        "hovertemplate": "position %{y}, dimension %{x}: %{z:.3f}<extra></extra>",
    }  # fmt: skip
    y = {"title": {"text": "position"}, "autorange": "reversed"}
    yield plot(prose.line("a heatmap of positions", LENGTH, d_model()), [heatmap], {"title": {"text": "dimension"}}, y)
    yield from prose("orange is blue fast")
    yield Statement("dataframe", {"columns": [f"dim {n}" for n in upto(d_model())], "values": encoding})


# --- Do: words in another order --------------------------------------------------------------------------------------


def shuffled(text: str, seed: int) -> tuple[str, str, list[int]] | None:
    """The first words of a text, and the same in an order that NumPy's generator draws from the seed; for each piece of
    the second which it was. The words' pieces are counted as they stand in the text."""
    every = text.split()
    words = [w for n, w in enumerate(every[:WORDS], 1) if len(encoded(" ".join(every[:n]))) <= MAX_PIECES]
    if len(set(words)) < 2:
        return None
    draw, order = np.random.default_rng(seed), list(range(len(words)))
    while [words[n] for n in order] == words:
        order = draw.permutation(len(words)).tolist()
    ends = [len(encoded(" ".join(words[:n]))) for n in range(len(words) + 1)]
    one, other = " ".join(words), " ".join(words[n] for n in order)
    rows = [row for n in order for row in range(ends[n], ends[n + 1])]
    assert encoded(other) == [encoded(one)[row] for row in rows]
    return one, other, rows


def do(page: Page) -> Statements:
    yield from prose("put the words in")
    whose = yield from choose(page, "Words of", "shuffle_of", (YOURS, ANIMALS))
    reader = yield from choose(page, "Read by", "shuffle_in", (ENCODER, DECODER))
    off, lifted = page.switch("positions_off"), page.switch("mask_off")
    yield switch("Leave the positions out", off)
    if reader == DECODER:
        yield switch("Lift the causal mask", lifted)
    yield button("Shuffle again")
    assert german(EXAMPLE) == "Der weiße Hund sieht die schwarze Katze."  # the model masters it
    english, translation = (page.text, page.translation) if whose == YOURS else (EXAMPLE, german(EXAMPLE))
    text, asked = english if reader == ENCODER else translation, page.state.get("shuffle", "")
    order = shuffled(text, int(asked) if re.fullmatch("[0-9]{1,3}", asked) and asked != "999" else 0)
    if order is None:
        yield from prose("there is only one")
        return
    *both, rows = order
    if reader == ENCODER:
        passes = [Forward(source_ids(one), [EOS], positions_off=off) for one in both]
        texts, back, same = pieces(source_ids(both[0])), [*rows, len(rows)], off
    else:
        changes = {"positions_off": off, "causal_mask_off": lifted}
        passes = [Forward(source_ids(english), [*encoded(one), EOS], **changes) for one in both]
        texts, back = pieces([1, *encoded(both[0])]), [0, *(row + 1 for row in rows)]  # `<sos>` stays in front
        same = off and lifted
    yield from side_by_side(passes, reader.split()[1], [piece.text for piece in texts], back, same)
    if reader == ENCODER:
        yield from translations(both, off)
    else:
        yield from prose("read in one order", *map(inline, both), prose.words("decoder says")[f"{off} {lifted}"])
    if both[0] != text:
        yield from prose("only the first words", len(both[0].split()))


def side_by_side(passes: list[Forward], stack: str, texts: list[str], back: list[int], same: bool) -> Statements:
    before, moved = (one[writes(stack, config()["n_layers"] - 1)] for one in passes)
    after = np.empty_like(moved)
    after[back] = moved
    words = prose.words("side by side", stack, d_model())
    titles = [words.pop("title"), words.pop("second title")]
    yield from common.before_after(
        (before, after), titles, texts, upto(d_model()), scale="signed", n_columns=FEW, **words
    )
    difference = np.abs(before - after).max()
    assert same == (difference < 1e-9)
    yield from prose("the largest difference between", d_model(), rounding() if same else magnitude(difference))


def translations(both: list[str], off: bool) -> Statements:
    """What greedy search writes; without positions it is stopped early, and both orders get the same."""
    ids = [greedy(Writer(one, positions_off=off), **({"most": LOST} if off else {})) for one in both]
    for one, written in zip(both, ids, strict=True):
        yield markdown(f"**{inline(one)}** → {inline(text_of(written)) or '(nothing)'}")
    assert not off or ids[0] == ids[1]
    yield from prose("without positions the difference" if off else "with positions each piece")
    if off and ids[0][-1] != EOS:
        yield from prose("the translation is cut", LOST)


# --- questions and code ----------------------------------------------------------------------------------------------


def predict(page: Page) -> Statements:
    yield prose.question("leave the positions out", 0)  # as `side_by_side` asserts
    offered = page.src[:8]
    sines = [math.sin(pos) for pos in range(len(offered))]
    best = sines.index(max(sines))
    yield prose.question(
        "dimension is sin pos",
        best,
        "these pieces" if len(offered) == len(page.src) else f"the first {len(offered)} pieces",
        *(best, number(sines[best]), number(math.pi / 2, 2), number(2 * math.pi, 2)),
        options=[f"{inline(piece.text)} (pos {pos})" for pos, piece in enumerate(offered)],
        wrong={pos: f"sin({pos}) = {number(value)}." for pos, value in enumerate(sines) if pos != best},
    )
    p = positions(13, d_model())
    assert abs(p[1] @ p[4] - p[9] @ p[12]) < 1e-9
    yield prose.question("the dot product of", 1, number(p[1] @ p[4], 3), number(p[9] @ p[12], 3))


def code(page: Page) -> Statements:
    names = ("sinusoidal_encoding", "Sinusoidal", "rotation", "Rotary")
    yield from common.code_part(
        *(("model/parts/positions.py", name) for name in names), ("experiments/passes.py", "shuffle")
    )
