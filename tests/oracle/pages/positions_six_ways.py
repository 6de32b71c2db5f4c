"""What the lesson on positions in six ways must show."""

import math

import numpy as np

from tests.oracle import claims
from tests.oracle.claims import number, rounding
from tests.oracle.common import (
    Head,
    Shown,
    Statements,
    check_cell,
    code_part,
    head,
    head_controls,
    heads_before_after,
    numbers_of_figure,
    shown_tensor,
    tensor_matrix,
)
from tests.oracle.forward import Array, config
from tests.oracle.page import READABLE, Page
from tests.oracle.siblings import longer_texts, two_siblings
from tests.oracle.variants import Variant, bucket, learned_table, slopes, turned, variant
from tests.oracle.words import visible

LONG = " ".join(["The animal didn't cross the street because it was too wide."] * 4)
SCHEMES = {"Rotary": "rotary", "Relative": "relative", "ALiBi": "alibi"}
STEPS = ("1 what it makes", "2 scores", "3 weights")
STATES = (
    {},
    {"scheme": "ALiBi", "head": "2", "layer": "1", "query_at": "30", "key_at": "12", "cell": "4.1"},
    {"scheme": "Relative", "scheme_step": STEPS[1], "sentence": "Frobnicating quokkas!", "query_of": "3", "rotary_pair": "9"},
    {"scheme": "Rotary", "scheme_step": STEPS[1], "sentence": "Go", "key_of": "1"},
    {"scheme": "ALiBi", "scheme_step": STEPS[2], "sentence": LONG, "cell": "40.2", "query_at": "60", "key_at": "1"},
    {"scheme": "Relative", "sentence": LONG, "layer": "2", "cell": "1.22"},
)  # fmt: skip
FURTHEST = 60
BLUE, ORANGE = "#0072B2", "#E69F00"


def chosen(page: Page) -> Head:
    return head(page, ("encoder",))


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


def idea(page: Page) -> Statements:
    yield claims.markdown(
        "Attention sees a set of pieces, in no order. In 2017 the order came in by numbers **added to the "
        "embeddings**. Later models change the **score** of query and key instead: its job is to compare two pieces, so "
        "there the distance between them can count directly."
    )
    yield claims.fold("The six ways")
    yield claims.table(
        ("Scheme", "What it does", "Embedding or score"),
        ("sinusoidal", "fixed sines and cosines, added to the embedding", "$x_i + P(i)$"),
        ("learned", "a trained vector for each position, added to the embedding", "$x_i + p_i$"),
        ("relative (T5)", "a trained number for each distance, added to the score", r"$q_i\cdot k_j + r_{i-j}$"),
        ("rotary (RoPE)", "query and key are turned by their positions", r"$(R_i q_i)\cdot (R_j k_j)$"),
        ("ALiBi", "a slope m times the distance, taken off the score", r"$q_i\cdot k_j - m\,\lvert i-j\rvert$"),
        ("none", "nothing", r"$q_i\cdot k_j$"),
    )
    yield claims.caption(
        "i and j are the positions of query and key. Without a scheme an encoder cannot tell one order from another. A "
        "decoder still can: its mask lets the first row see one piece, the second two, and so on."
    )
    yield claims.fold("The formulas of the three schemes that work on the score")
    yield claims.markdown("**Rotary** turns each pair of dimensions of a query or key at position m by an angle:")
    yield claims.latex(
        r"R_m\begin{pmatrix}x_1\\x_2\end{pmatrix}=\begin{pmatrix}\cos m\theta&-\sin m\theta\\\sin m\theta&\cos"
        r" m\theta\end{pmatrix}\begin{pmatrix}x_1\\x_2\end{pmatrix},\qquad \theta_i=10000^{-2i/d_k}"
    )
    yield claims.markdown(
        "**Relative**, as in T5: near distances have a number each, far ones share. **ALiBi** learns nothing: the "
        "slopes are fixed, one for each of the H heads (where H is a power of two):"
    )
    yield claims.latex("m_h = 2^{-8h/H}")


def shown(page: Page) -> Shown:
    step = STEPS.index(page.choice("scheme_step", STEPS, STEPS[0]))
    first = ("rotated_q", "products") if scheme(page) == "Rotary" else ("bias", "biased")
    name = (*first, "weights")[step]
    texts = [piece.text for piece in page.src]
    rows = None if name == "weights" else texts[:READABLE]
    columns = texts[:READABLE] if name not in ("weights", "rotated_q") else None
    start = None
    if name == "rotated_q":  # position 0 of the formula turns nothing: a row that is turned
        queries = other(page)[f"{chosen(page).path}.{name}"][chosen(page).head]
        cells = [(row, column) for row in range(1, min(len(queries), READABLE)) for column in range(16)]
        start = max(cells, key=lambda cell: abs(queries[cell]))
    return shown_tensor(
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
    yield from head_controls(page, ("encoder",))
    yield claims.segmented("Scheme", list(SCHEMES), scheme(page))
    step = page.choice("scheme_step", STEPS, STEPS[0])
    yield claims.segmented("Step", STEPS, step)
    asks = "A row asks, a column answers."
    title, how = {
        ("Rotary", 0): ("The turned queries", "A row is a query. Two dimensions side by side were turned together."),
        ("Rotary", 1): ("Turned query · turned key", f"Before the division by √d_k. {asks}"),
        ("Relative", 0): ("The bias", "One number for each distance to the left or to the right."),
        ("Relative", 1): ("Score plus bias", asks),
        ("ALiBi", 0): ("The bias", "0 on the diagonal; each place further away takes off the same again."),
        ("ALiBi", 1): ("Score plus bias", asks),
    }.get((scheme(page), STEPS.index(step)), ("The weights", "0 to 1; each row adds up to 1."))
    where = f"layer {chosen(page).layer + 1}, head {chosen(page).head + 1}"
    yield from tensor_matrix(shown(page), title=f"{title} ({scheme(page)}, {where})", how_to_read=how)
    if scheme(page) == "Relative":
        yield claims.caption("The translator has learned no such numbers. " + where_from(page))
    elif scheme(page) == "ALiBi":
        n = chosen(page).head
        yield claims.caption(
            f"The slopes of the {config()['n_heads']} heads: {', '.join(f'{slope:g}' for slope in slopes())}. Head "
            f"{n + 1} has {slopes()[n]:g}."
        )
    else:
        yield claims.caption(
            f"Turning changes no length: those of the {len(page.src)} queries change by at most {rounding()}, which is "
            "rounding. The first piece stands at position 0 of the formula, so it is not turned."
        )


def where_from(page: Page) -> str:
    """Whose the numbers of T5's bias are."""
    if learned_table() is None:
        return "These are drawn at random, with a standard deviation of 1, to show how they work."
    far = len(page.src) - 1
    values = {d: learned_table()[bucket(d), chosen(page).head] for d in range(-far, far + 1)}
    most = max(values.values())
    nearest = min((d for d in values if values[d] == most), key=lambda d: (max(0, -d), d))
    place = (
        f"{abs(nearest)} to the {'left' if nearest < 0 else 'right'} of its query"
        if nearest
        else "at the place of its query"
    )
    return (
        "These are those of **positions-relative**, a small translator with this scheme, from the first layer of its "
        f"encoder. Over the distances of your sentence this head adds most, {number(most, 2)}, to a key {place}."
    )


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def do(page: Page) -> Statements:
    yield from turn(page)
    yield claims.subheader("The head with another scheme")
    yield claims.markdown(
        "The translator was trained with sines and cosines, and they are still in what layer "
        f"{chosen(page).layer + 1} reads. On the right, this layer's attention gets **{scheme(page)}** on top."
    )
    passes = page.oracle, other(page)
    yield from heads_before_after(page, passes, ("As trained", f"With {scheme(page)}"), chosen(page), "")
    far = np.abs(np.subtract.outer(range(len(page.src)), range(len(page.src))))
    one, two = (
        (oracle[f"{chosen(page).path}.weights"][chosen(page).head] * far).sum() / len(page.src) for oracle in passes
    )
    yield claims.markdown(
        f"On average a piece looks **{number(one, 2)}** places away as trained, and **{number(two, 2)}** with "
        f"{scheme(page)}."
    )
    yield from two_siblings(page, "positions")
    yield from longer_texts(page)


def turn(page: Page) -> Statements:
    yield claims.subheader("Turn a query and a key")
    options = [f"{n} {visible(piece.text)}" for n, piece in enumerate(page.src[:READABLE], 1)]
    query, key = page.count("query_of", len(options), 1) - 1, page.count("key_of", len(options), 2) - 1
    yield claims.select("Query of piece", options, options[query])
    yield claims.select("Key of piece", options, options[key])
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
    bottom, top = bottom - (top - bottom) / 20, top + (top - bottom) / 20

    def places(x: Array | list[int], y: Array | list[float]) -> Array:
        return np.stack([(np.array(x) + far) / (2 * far), (np.array(y) - bottom) / (top - bottom)], -1)

    spot = places([distance], [at])
    yield claims.curves(
        [("turned", BLUE, ""), ("not turned", "#808a96", "dashed"), ("your distance", ORANGE, "")],
        [
            claims.path(places(distances, products), BLUE, 2),
            claims.path(places([-far, far], [unturned] * 2), "#808a96", 2, **{"stroke-dasharray": "8 5"}),
            claims.path(spot, ORANGE, 2, "M"),
            claims.path(spot, ORANGE, 6, "Mh0", **{"stroke-linecap": "round"}),
        ],
        alt=f"The product of the turned query and key by their distance, from {number(-far, 0)} to {far}. At "
        f"{number(distance, 0)} it is {number(at, 2)}; not turned {number(unturned, 2)}.",
        axes=("query · key", "position of the key minus that of the query"),
        beside=[((value - bottom) / (top - bottom), text) for value, text in claims.ticks(bottom, top)],
        below=[((value + far) / (2 * far), text) for value, text in claims.ticks(-far, far)],
    )
    lines = [
        (str(query_at + shift), str(key_at + shift), number(distance, 0),
         number(product(page, query, key, query_at + shift, key_at + shift)))
        for shift in (0, 1, 10, 100)
    ]  # fmt: skip
    yield claims.table(("query at", "key at", "distance", "query · key"), *lines)
    yield claims.caption(
        f"Both move together: the distance stays {number(distance, 0)}, and so does the product. The four differ by at "
        f"most {rounding()}: that is rounding, since numbers are kept to about seven digits. Move one slider alone, and "
        "the product changes."
    )
    yield from numbers_of_figure(
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
    legend, drawn = [], []
    for many, manner, dashed in ((before, ", not turned", "dashed"), (after, "", "")):
        for arrow, name, colour in zip(many, ("query", "key"), (BLUE, ORANGE), strict=True):
            ends = np.array([[0, 0], arrow]) / (2 * limit) + 0.5
            dashes = {"stroke-dasharray": "8 5"} if dashed else {}
            legend.append((f"{name}{manner}", colour, dashed))
            drawn.append(claims.path(ends, colour, 2, **dashes))
            drawn.append(claims.path(ends, colour, 6, "Mh0Mh0", **{"stroke-linecap": "round"}))
    ticks = [(value / (2 * limit) + 0.5, text) for value, text in claims.ticks(-limit, limit)]
    yield claims.curves(
        legend,
        drawn,
        alt=f"Two arrows, the query and the key in pair {pair} of their dimensions, as they are and turned. Between the "
        f"turned ones lie {number(between, 0)} degrees.",
        axes=("second", "first dimension of the pair"),
        beside=ticks,
        below=ticks,
    )
    query, key = ((place - 1) * step for place in places)
    yield claims.caption(
        f"Position 1 is not turned. Pair {pair} of {half} turns by {number(step, 1)}° a place: the query by {number(query, 0)}°, the key by "
        f"{number(key, 0)}°. Between the turned arrows lie **{number(between, 0)}°**. Move both sliders by the same: the "
        "arrows turn, the angle between them stays. All are drawn equally long."
    )
    yield from numbers_of_figure(
        ("arrow", "first dimension", "second dimension"),
        *(
            (name, number(x, 3), number(y, 3))
            for name, (x, y) in zip(
                ("query, not turned", "key, not turned", "query", "key"), [*before, *after], strict=True
            )
        ),
    )


def predict(page: Page) -> Statements:
    near, moved = product(page, 0, 1, 2, 5), product(page, 0, 1, 22, 25)
    yield claims.question(
        "A query at position 2 and a key at position 5, both turned by rotary positions: their product is "
        f"{number(near, 2)}. Both move 20 places on. What is it now?",
        ("larger", "the same", "smaller"),
        1,
        f"It is {number(moved, 2)}: both are turned further by the same angles, and the angles between them stay.",
        {
            0: "Turning makes no vector longer, and the distance is still 3.",
            2: "Nothing fades with the position: turning makes no vector shorter.",
        },
    )
    slope = slopes()[0]
    yield claims.question(
        f"In ALiBi, head 1 of {config()['n_heads']} has the slope {slope:g}. A key stands 8 places from its query. What "
        "is taken off their score?",
        (f"{slope:g}", f"{8 * slope:g}", "8"),
        1,
        f"The slope times the distance: {slope:g} · 8 = {8 * slope:g}.",
        {0: "That is taken off for one place.", 2: "The distance is multiplied by the slope first."},
    )
    pairs = ((-3, 3), (-3, -4), (-20, -21))
    yield claims.question(
        "In an encoder with T5's relative positions, which two keys share one number?",
        ("3 to the left and 3 to the right", "3 and 4 to the left", "20 and 21 to the left"),
        [bucket(a) == bucket(b) for a, b in pairs].index(True),
        "Each of the distances up to 7 has a number of its own, on each side. Further away, several share one.",
        {0: "Left and right have different numbers.", 1: "So near, each distance has a number of its own."},
    )


def code(page: Page) -> Statements:
    names = ("Rotary", "relative_bucket", "Alibi", "alibi_slopes")
    yield from code_part(
        *(("model/parts/positions.py", name) for name in names), ("experiments/exchange.py", "t5_bias")
    )
