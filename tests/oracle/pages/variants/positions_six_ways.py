"""What the lesson on positions in six ways must show."""

import math

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import number, rounding
from tests.oracle.language.common import Choice, Head, Shown, Statements, code_of
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.words import text_of, visible
from tests.oracle.passes.forward import Array, config
from tests.oracle.passes.network import Network, bucket, slopes, turned
from tests.oracle.shown.siblings import config_of, longer_texts, two_siblings, weights_of
from tests.oracle.shown.variants import Variant, learned_table, variant

prose = Prose("positions_six_ways")

LONG = " ".join(["The animal didn't cross the street because it was too wide."] * 4)
SCHEMES = {"Rotary": "rotary", "Relative": "relative", "ALiBi": "alibi"}
STEPS = ("1 what it makes", "2 scores", "3 weights")
STEP = Choice("Step", "scheme_step", STEPS)
STATES = (
    {},
    {"scheme": "ALiBi", "head": "2", "layer": "1", "stop": "1", "query_at": "30", "key_at": "12", "cell": "4.1"},
    {"scheme": "Relative", "scheme_step": STEPS[1], "sentence": "Frobnicating quokkas!", "query_of": "3", "rotary_pair": "9"},
    {"scheme": "Rotary", "scheme_step": STEPS[1], "sentence": "Go", "key_of": "1", "sibling_map": "Encoder-decoder"},
    {"scheme": "ALiBi", "scheme_step": STEPS[2], "sentence": LONG, "cell": "40.2", "query_at": "60", "key_at": "1"},
    {"scheme": "Relative", "sentence": LONG, "layer": "2", "cell": "1.22", "sibling_map": "Masked decoder"},
)  # fmt: skip
FURTHEST = 60
STARTS = range(1, 44, 6)
MODELS = {
    "None": "positions-none",
    "Learned, added": "positions-learned",
    "Sinusoids, added": "plain-1",
    "Relative, in the score": "positions-relative",
    "Rotary, in the score": "positions-rotary",
    "ALiBi, in the score": "positions-alibi",
}


def chosen(page: Page) -> Head:
    return common.head(page, ("encoder",))


def scheme(page: Page) -> str:
    return page.choice("scheme", list(SCHEMES), "Rotary")


def other(page: Page) -> Variant:
    return variant(page, **{chosen(page).path.replace(".", "__"): SCHEMES[scheme(page)]})


def turned_rows(page: Page, name: str, piece: int, first: int, count: int = 1) -> Array:
    """A query or key of a piece, turned to positions from `first` on, counted from 1."""
    row = page.oracle[f"{chosen(page).path}.{name}"][chosen(page).head, piece]
    return turned(np.repeat(row[None], count, 0), first - 1)


def product(page: Page, query: int, key: int, query_at: int, key_at: int) -> float:
    return float(turned_rows(page, "q", query, query_at)[0] @ turned_rows(page, "k", key, key_at)[0])


def scores(model: str, ids: list[int], first: int) -> Array:
    """(T,T) of the first layer's first head, when the text begins at a position, counted from 0."""
    network, path = Network(config_of(model), weights_of(model)), "encoder.layers.0.self_attn"
    x = network.embed("encoder", ids, first)
    q, k = (network.heads_of(f"{path}.w_{one}", x)[0] for one in "qk")
    if network.kind(path) == "rotary":
        q, k = turned(q, first), turned(k, first)
    products = q @ k.T / math.sqrt(q.shape[-1])
    if network.kind(path) in ("relative", "alibi"):
        products = products + network.bias(path, -np.subtract.outer(range(len(ids)), range(len(ids))))[0]
    return np.asarray(products)


def scene(page: Page) -> Statements:
    shown = page.src[:8]
    moved = {
        name: np.array([scores(model, [piece.id for piece in shown], start - 1) for start in STARTS])
        for name, model in MODELS.items()
    }
    learned, sines = (np.abs(many - many[0]) for name, many in moved.items() if "added" in name)
    smaller = np.minimum(learned, sines) * (1 - np.eye(len(shown)))
    words = len(shown) - (len(shown) > 2)  # not the end mark, or a piece that stands where it would
    smaller = smaller[:, :words, :words]
    stop, query, key = np.unravel_index(smaller.argmax(), smaller.shape)
    marks = [(int(query), f"query: {visible(shown[query].text)}"), (int(key), f"key: {visible(shown[key].text)}")]
    text = text_of([piece.id for piece in shown]).rstrip("\ufffd")
    frames = []
    for n, start in enumerate(STARTS):
        pairs = {name: (many[0, query, key], many[n, query, key]) for name, many in moved.items()}
        rest = [abs(one - two) for name, (one, two) in pairs.items() if "added" not in name]
        assert max(rest) < 1e-9
        said = [f"{number(one, 2)} → {number(two, 2)}" for name, (one, two) in pairs.items() if "added" in name]
        matrices = [
            screen.matrix(
                many[n], name, note(*pairs[name], n), ends=float(np.abs(many).max()), signed=True, marked=(query, key)
            )
            for name, many in moved.items()
        ]
        answer = prose.line("places on what is", start - 1, *said) if n else prose.line("nothing has moved yet")
        ruler = screen.ruler(text, start, len(shown), 50, marks)
        frames.append(screen.frame(str(start), answer, (ruler,), matrices))
    caption = prose.line("positions in six ways", " Shown: the first 8 pieces." if len(page.src) > 8 else "")
    yield from screen.scene(page, caption, "The sentence begins at place", frames, int(stop), by="slider")


def note(before: float, now: float, n: int) -> str:
    if n == 0:
        return number(now, 2)
    return f"{number(now, 2)}, as before" if abs(now - before) < 0.005 else f"{number(now, 2)}, was {number(before, 2)}"


def idea(page: Page) -> Statements:
    yield from prose("attention sees a set")
    yield prose.table("the table of scheme what it")
    yield from prose("i and j are")


def shown(page: Page) -> Shown:
    first = ("rotated_q", "products") if scheme(page) == "Rotary" else ("bias", "biased")
    name = (*first, "weights")[STEP.at(page)]
    texts = [piece.text for piece in page.src]
    rows = None if name == "weights" else texts[:READABLE]
    columns = texts[:READABLE] if name not in ("weights", "rotated_q") else None
    start = None
    if name == "rotated_q":  # position 0 of the formula turns nothing: a row that is turned
        queries = other(page)[f"{chosen(page).path}.{name}"][chosen(page).head]
        cells = [(row, column) for row in range(1, min(len(queries), READABLE)) for column in range(16)]
        start = max(cells, key=lambda cell: abs(queries[cell]))
    return common.shown_tensor(
        page,
        f"{chosen(page).path}.{name}",
        head=chosen(page).head,
        kind="encoder" if name in ("weights", "products") else None,
        rows=rows,
        columns=columns,
        n_columns=16 if name == "rotated_q" else READABLE,
        start=start,
        oracle=other(page),
    )


def see(page: Page) -> Statements:
    yield from common.head_controls(page, ("encoder",))
    yield claims.segmented("Scheme", list(SCHEMES), scheme(page))
    yield STEP.drawn(page)
    step = STEP.at(page)
    looks = prose.words("looks", scheme(page), f"layer {chosen(page).layer + 1}, head {chosen(page).head + 1}")
    what = f"{scheme(page)} {step + 1}" if step < 2 else "weights"
    words = {"title": looks[what], "how_to_read": looks[f"{what}, how to read"]}
    yield from common.tensor_matrix(shown(page), **words)
    if scheme(page) == "Relative":
        yield from prose("the translator has learned", where_from(page))
    elif scheme(page) == "ALiBi":
        every = [f"{slope:g}" for slope in slopes(config()["n_heads"])]
        n = chosen(page).head
        yield from prose("the slopes of the", len(every), ", ".join(every), n + 1, every[n])
    else:
        yield from prose("turning changes no length", len(page.src), rounding())


def where_from(page: Page) -> str:
    """Whose the numbers of T5's bias are."""
    if learned_table() is None:
        return prose.line("these are drawn at")
    far = len(page.src) - 1
    values = {d: learned_table()[bucket(d), chosen(page).head] for d in range(-far, far + 1)}
    most = max(values.values())
    nearest = min((d for d in values if values[d] == most), key=lambda d: (max(0, -d), d))
    side = "left" if nearest < 0 else "right" if nearest else "none"
    return prose.line("these are those of", number(most, 2), prose.words("nearest", abs(nearest))[side])


def do(page: Page) -> Statements:
    yield from turn(page)
    yield from prose("the head with another", chosen(page).layer + 1, scheme(page))
    passes = page.oracle, other(page)
    yield from common.heads_before_after(page, passes, ("As trained", f"With {scheme(page)}"), chosen(page), "")
    far = np.abs(np.subtract.outer(range(len(page.src)), range(len(page.src))))
    one, two = (
        (oracle[f"{chosen(page).path}.weights"][chosen(page).head] * far).sum() / len(page.src) for oracle in passes
    )
    yield from prose("on average a piece", number(one, 2), number(two, 2), scheme(page))
    yield from two_siblings(page, "positions")
    yield from longer_texts(page)


def turn(page: Page) -> Statements:
    yield from prose("turn a query and")
    offered = page.src[:READABLE]
    query, key = page.count("query_of", len(offered), 1) - 1, page.count("key_of", len(offered), 2) - 1
    yield claims.numbered("Query of piece", offered, query)
    yield claims.numbered("Key of piece", offered, key)
    query_at, key_at = page.count("query_at", FURTHEST, 2), page.count("key_at", FURTHEST, 5)
    yield claims.slider("Position of the query", 1.0, FURTHEST, query_at)
    yield claims.slider("Position of the key", 1.0, FURTHEST, key_at)
    yield from arrows(page, (query, key), (query_at, key_at))
    distance, far = key_at - query_at, FURTHEST - 1
    distances = np.arange(-far, far + 1)
    q = turned_rows(page, "q", query, FURTHEST)[0]
    products = turned_rows(page, "k", key, 1, len(distances)) @ q
    unturned = product(page, query, key, 1, 1)
    at = products[distance + far]
    bottom, top = min(*products, unturned), max(*products, unturned)
    room = (top - bottom) / 20
    lines = [
        claims.Line("turned", distances, products, claims.BLUE),
        claims.Line("not turned", [-far, far], [unturned] * 2, dashed=True),
        claims.Line("your distance", [distance], [at], claims.ORANGE, dotted=True),
    ]
    x = claims.Axis("position of the key minus that of the query", -far, far)
    y = claims.Axis("query · key", bottom - room, top + room)
    said = number(-far, 0), far, number(distance, 0), number(at, 2), number(unturned, 2)
    yield claims.curves(lines, x, y, alt=prose.line("the product of the", *said))
    places = [(query_at + shift, key_at + shift) for shift in (0, 1, 10, 100)]
    rows = ((*map(str, at), number(distance, 0), number(product(page, query, key, *at))) for at in places)
    yield claims.table("query at | key at | distance | query · key", *rows)
    yield from prose("both move together the", number(distance, 0), rounding())
    yield from common.numbers_of_figure(
        ("distance", "query · key"), *((number(d, 0), number(products[d + far], 3)) for d in range(-50, 51, 10))
    )


def arrows(page: Page, pieces: tuple[int, int], places: tuple[int, int]) -> Statements:
    half = config()["d_model"] // config()["n_heads"] // 2
    pair = page.count("rotary_pair", half, 1)
    yield claims.slider("Pair of dimensions", 1.0, half, pair)
    before, after = (
        [
            turned_rows(page, name, piece, at)[0, 2 * pair - 2 : 2 * pair]
            for name, piece, at in zip("qk", pieces, ends, strict=True)
        ]
        for ends in ((1, 1), places)
    )
    (a, b), (c, d) = after
    between = math.degrees(math.acos((a * c + b * d) / math.hypot(a, b) / math.hypot(c, d)))
    step = math.degrees(10000 ** (-2 * (pair - 1) / (2 * half)))
    before, after = ([arrow / math.hypot(*arrow) for arrow in many] for many in (before, after))
    limit = 1.15 * np.abs([*before, *after]).max()
    lines = [
        claims.Line(f"{name}{manner}", *np.transpose([(0, 0), arrow]), colour, dashed=bool(manner), dotted=True)
        for many, manner in ((before, ", not turned"), (after, ""))
        for arrow, name, colour in zip(many, ("query", "key"), (claims.BLUE, claims.ORANGE), strict=True)
    ]
    axes = (claims.Axis(title, -limit, limit) for title in ("first dimension of the pair", "second"))
    yield claims.curves(lines, *axes, alt=prose.line("two arrows the query", pair, number(between, 0)))
    query, key = ((place - 1) * step for place in places)
    said = number(step, 1), number(query, 0), number(key, 0), number(between, 0)
    yield from prose("position is not turned", pair, half, *said)
    names = ("query, not turned", "key, not turned", "query", "key")
    rows = zip(names, [*before, *after], strict=True)
    head = ("arrow", "first dimension", "second dimension")
    yield from common.numbers_of_figure(head, *((name, number(x, 3), number(y, 3)) for name, (x, y) in rows))


def predict(page: Page) -> Statements:
    near, moved = product(page, 0, 1, 2, 5), product(page, 0, 1, 22, 25)
    yield prose.question("a query at position", 1, number(near, 2), number(moved, 2))
    slope = slopes(config()["n_heads"])[0]
    yield prose.question("in alibi head of", 1, config()["n_heads"], f"{slope:g}", f"{8 * slope:g}")
    pairs = ((-3, 3), (-3, -4), (-20, -21))
    yield prose.question("in an encoder with", [bucket(a) == bucket(b) for a, b in pairs].index(True))


code = code_of(
    "model/parts/positions.py: Rotary, relative_bucket, Alibi, alibi_slopes", "experiments/exchange.py: t5_bias"
)
