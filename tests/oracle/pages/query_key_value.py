"""What the lesson on queries, keys and values must show."""

import math

import numpy as np

from tests.oracle.claims import (
    box,
    caption,
    flow,
    fold,
    latex,
    markdown,
    matrix,
    number,
    question,
    segmented,
    slider,
    table,
    tex,
)
from tests.oracle.claims import (
    code as code_block,
)
from tests.oracle.common import (
    KINDS,
    Head,
    Shown,
    Statements,
    asks_and_answers,
    check_cell,
    code_part,
    early_kinds,
    head,
    head_controls,
    shown_tensor,
    tensor_matrix,
    which_piece,
)
from tests.oracle.forward import Array, config, softmax
from tests.oracle.page import READABLE, Page
from tests.oracle.untrained import random_weights
from tests.oracle.words import inline
from tests.oracle.worked import reads, writes

RANDOM, NONE = "Random matrices", "No matrices: X itself"
LONG = "Tom and Mary, who live near the old station, bought five big red apples and seven pears. " * 3
STATES = (
    {},
    {"attention": "Masked decoder", "part": "K", "layer": "1", "head": "3", "matrices": NONE, "sure": "10"},
    {
        "attention": "Encoder-decoder",
        "part": "V",
        "layer": "2",
        "head": "4",
        "cell": "2.60",
        "sentence": "Is it Tom's?",
    },
    {"attention": "Encoder-decoder", "part": "X", "matrices": NONE, "cell": "1.64", "sentence": "The cat sleeps."},
    {"sentence": LONG, "part": "X", "layer": "2", "head": "2", "sure": "0"},
    {"sentence": "Go", "part": "X", "layer": "1", "matrices": NONE},
)


def chosen_head(page: Page) -> Head:
    return head(page, early_kinds(page))


def inputs(chosen: Head) -> tuple[str, str]:
    """Which tensors make the queries, and the keys and values."""
    stack = "encoder" if chosen.kind == "encoder" else "decoder"
    if chosen.kind == "cross":
        return f"decoder.layers.{chosen.layer}.add_norm_1.output", writes("encoder", config()["n_layers"] - 1)
    return reads(stack, chosen.layer), reads(stack, chosen.layer)


def idea(page: Page) -> Statements:
    yield markdown(
        "A piece that looks at the others asks with its :blue[**query**]: what it looks for. Every piece answers with its "
        ":orange[**key**], what it can be found by, and hands over its :green[**value**]. The better a key fits the query, "
        "the more of its value is taken."
    )
    yield fold("How a vector becomes a query, a key and a value")
    yield markdown(
        "The vectors of your sentence are the rows of X, one for each piece. The model multiplies X by three learned "
        "matrices W. The rows of Q are the queries, those of K the keys, those of V the values:"
    )
    yield latex(r"Q = XW^Q \quad K = XW^K \quad V = XW^V")
    yield fold("Hard and soft look-up in a small database")
    yield markdown(
        "A database hands out a *value* when a *query* equals one of its *keys*. Attention does the same with vectors, "
        "but softly: a query matches every key a little, and the answer is a mix of all values."
    )
    yield from look_up(page)


def look_up(page: Page) -> Statements:
    yield code_block(
        '{"order_104": {"items": 3, "delivery_date": "May 4"},\n "order_105": {"items": 1, "delivery_date": "May 12"},\n'
        ' "order_106": {"items": 8, "delivery_date": "May 6"},\n "order_107": {"items": 2, "delivery_date": "May 20"}}'
    )
    yield markdown(
        'Hard look-up: the query `"order_104"` equals one key, and its value comes back, nothing else. Soft look-up: '
        "every key gets a weight between 0 and 1, the larger the better it matches. The weights add up to 1. Here three "
        "queries are asked at once; each is a row."
    )
    sure = int(page.state.get("sure", "2"))
    yield slider("How much a match counts", 0, 10, sure)
    matches = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0.5, 0.5, 0, 0]])
    weights = softmax(sure * matches)
    orders = np.array([[3, 4], [1, 12], [8, 6], [2, 20]])
    asked = ["order_104", "order_106", "104 or 105"]
    yield matrix(
        weights,
        asked,
        ["order_104", "order_105", "order_106", "order_107"],
        title="How well each key matches",
        how_to_read="A row is one query; its weights add up to 1.",
        describe="“{row}” matches “{column}”: {value}",
        csv_name="look-up weights",
    )
    yield matrix(
        weights @ orders,
        asked,
        ["items", "day of May"],
        title="What comes back",
        how_to_read="The weighted sum of the four values.",
        describe="“{row}”, {column}: {value}",
        csv_name="look-up answers",
        scale="positive",
        limit=20,
    )
    total = " + ".join(rf"{tex(w)}\cdot {n}" for w, n in zip(weights[0], orders[:, 0], strict=True))
    yield markdown(
        rf"First row, items: $\displaystyle {total} = {tex(weights[0] @ orders[:, 0])}$. At 0 a match counts for "
        "nothing and every answer is the plain average. At 10 the best key takes nearly all: a hard look-up, unless two "
        "keys match equally well."
    )


TITLES = {
    "X": ("what goes in", "A row is the vector of one piece as it enters this layer."),
    "Q": ("what each piece asks", "A row is the query of one piece, for this head alone."),
    "K": ("what each piece can be found by", "A row is the key of one piece, for this head alone."),
    "V": ("what each piece hands over", "A row is the value of one piece, for this head alone."),
}


def part_of(page: Page) -> str:
    return page.choice("part", list(TITLES), "Q")


def shown(page: Page) -> Shown:
    chosen, part = chosen_head(page), part_of(page)
    describe = "“{row}”, dimension {column}: {value}"
    if part == "X":
        return shown_tensor(page, inputs(chosen)[0], kind=chosen.kind, n_columns=64, describe=describe)
    return shown_tensor(page, f"{chosen.path}.{part.lower()}", head=chosen.head, kind=chosen.kind, describe=describe)


def see(page: Page) -> Statements:
    chosen, part, sizes = chosen_head(page), part_of(page), config()
    yield markdown(
        f"The model asks in many places: in {sizes['n_layers']} *layers*, one after the other, and in each with "
        f"{sizes['n_heads']} *heads*, side by side. Every head has matrices of its own. Choose one, then a cell."
    )
    yield from head_controls(page, early_kinds(page))
    yield segmented("Show", list(TITLES), part)
    title, how_to_read = TITLES[part]
    where = chosen.phrase if part != "X" else chosen.phrase.rpartition(", ")[0]
    yield from tensor_matrix(
        shown(page), title=f"{part}: {title} ({where})", how_to_read=f"{how_to_read} A column is one of its dimensions."
    )
    d, heads = sizes["d_model"], [f"head {n}" for n in range(1, sizes["n_heads"] + 1)]
    asks, answers = asks_and_answers(page, chosen.kind)
    makes = [
        ("Q", "X", len(asks), "query"),
        ("K", "M" if chosen.kind == "cross" else "X", len(answers), "key"),
        ("V", "M" if chosen.kind == "cross" else "X", len(answers), "value"),
    ]
    makes = [one for one in makes if part in ("X", one[0])]
    yield flow(
        "; ".join(f"{source} times W^{letter} is {letter}" for letter, source, _, _ in makes),
        *(
            [
                box(source, f"({n}, {d})", size=(4.5, 1.8)),
                "·",
                box("W", f"({d}, {d})", colour, heads, (9, 5), letter),
                "=",
                box(letter, f"({n}, {d})", colour, heads, (9, 1.8)),
            ]
            for letter, source, n, colour in makes
        ),
    )
    yield caption(
        f"The {d} columns are divided among {len(heads)} heads, {d // len(heads)} to each."
        + (f" The matrix above shows those of head {chosen.head + 1}." if part != "X" else "")
        + (" M is the encoder's output, from which the keys and values are made." if chosen.kind == "cross" else "")
    )


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def other_weights(page: Page, chosen: Head, which: str) -> Array:
    """The weights (T,S) of the head with other matrices, on the same input."""
    x, memory = (page.oracle[name] for name in inputs(chosen))
    d_k = config()["d_model"] // config()["n_heads"]
    mine = slice(chosen.head * d_k, (chosen.head + 1) * d_k)
    if which == RANDOM:
        q, k = (
            rows @ random_weights(**config())[f"{chosen.path}.w_{letter}.weight"][mine].T
            for letter, rows in (("q", x), ("k", memory))
        )
    else:
        q, k = x[:, mine], memory[:, mine]
    masked = np.isneginf(page.oracle[f"{chosen.path}.scores"][chosen.head])
    return softmax(np.where(masked, -np.inf, q @ k.T / math.sqrt(d_k)))


def best(weights: Array) -> Array:
    """The best key of each row. Compared as the app has them, in float32, where more are equal."""
    return weights.astype(np.float32).argmax(1)


def do(page: Page) -> Statements:
    chosen, which = chosen_head(page), page.choice("matrices", [RANDOM, NONE], RANDOM)
    yield markdown(
        "The matrices decide which key fits which query. Give this head the same X, but other matrices, and see which "
        "key each query finds now."
    )
    yield segmented("In place of the learned matrices", [RANDOM, NONE], which)
    learned, other = page.oracle[f"{chosen.path}.weights"][chosen.head], other_weights(page, chosen, which)
    n = len(learned)
    text = f"The best key is the same for **{sum(best(learned) == best(other))} of {n}** queries."
    if chosen.kind != "cross":
        own = [sum(best(w) == np.arange(n)) for w in (learned, other)]
        text += f" A piece finds itself best in **{own[0]}** rows with the learned matrices, in **{own[1]}** here."
    yield markdown(text)
    asks, answers = asks_and_answers(page, chosen.kind)
    part = np.s_[:READABLE, :READABLE]
    for weights, title in ((learned, "Learned matrices"), (other, which)):
        yield matrix(
            weights[part],
            [piece.text for piece in asks[:READABLE]],
            [piece.text for piece in answers[:READABLE]],
            title=title,
            how_to_read="How much each query (row) takes from each key (column), 0 to 1 on both sides.",
            describe=KINDS[chosen.kind].describe,
            hidden=np.isneginf(page.oracle[f"{chosen.path}.scores"][chosen.head])[part],
            csv_name=f"{chosen.path}.weights head {chosen.head + 1} {title}",
        )
    if max(learned.shape) > READABLE:
        sides = zip(learned.shape, ("rows", "columns"), strict=True)
        yield caption(
            "Shown: " + " and ".join(f"the first {READABLE} of {m} {side}" for m, side in sides if m > READABLE) + "."
        )
    yield fold("The best key of every query, with its weight")
    yield table(
        ("Query of", "Learned: best key", f"{which.partition(':')[0]}: best key"),
        *(
            (asks[i].text, *(f"{answers[best(w)[i]].text} {number(w[i].max(), 2)}" for w in (learned, other)))
            for i in range(min(n, READABLE))
        ),
    )
    if n > READABLE:
        yield caption(f"Shown: the first {READABLE} of {n} queries.")
    if which == RANDOM:
        yield caption(
            "Two unrelated random matrices reward no likeness of the pieces: which key fits best is arbitrary."
        )
    elif chosen.kind == "cross":
        yield caption("Without matrices, the decoder's vectors meet the encoder's as they are.")
    else:
        yield caption(
            "Without matrices, two pieces match equally well both ways: to ask and to be found are one thing. And a "
            "piece times itself is the square of its own length, which is hard to beat."
        )


def predict(page: Page) -> Statements:
    chosen, d, h = chosen_head(page), config()["d_model"], config()["n_heads"]
    yield question(
        "Where do Q, K and V come from when a sentence attends to itself?",
        (
            "The input is split into three parts: one is Q, one is K, one is V.",
            "The whole input is multiplied by three different learned matrices.",
            "From three different sentences.",
            "Q is the input; K and V are looked up in the vocabulary.",
        ),
        1,
        f"Each of the three sees all {d} numbers of every vector. (The result is then divided among {h} heads, {d // h} "
        "numbers to each.)",
        {
            0: "Nothing of the input is split off: the three are made by multiplying, all from the same X.",
            2: "There is one sentence here, and all three are made from it.",
            3: "The vocabulary was needed once, to look up the embeddings. Q is not the input, but the input times a "
            "matrix.",
        },
    )
    asks, answers = asks_and_answers(page, chosen.kind)
    where = f"layer {chosen.layer + 1}, head {chosen.head + 1} of the {KINDS[chosen.kind].name.lower()}"
    scores = page.oracle[f"{chosen.path}.scores"][chosen.head]
    # In the decoder's masked attention the first rows have little to choose from.
    row = len(asks) - 1 if chosen.kind == "decoder" else 0
    weight = page.oracle[f"{chosen.path}.weights"][chosen.head, row].max()
    yield which_piece(
        f"In {where}: which key matches the query of **{inline(asks[row].text)}** (row {row + 1}) best?",
        scores[row],
        answers,
        f"The better the match, the larger its weight: here {number(weight)}, the largest of the row.",
    )
    n, kept = len(asks), int(sum(best(other_weights(page, chosen, RANDOM)) == best(scores)))
    right = 0 if kept == 0 else 1 if kept < n / 2 else 2
    wrong = {
        0: "Even a random match hits the old one now and then.",
        1: "So it is not between none and a half.",
        2: "Random matrices know nothing of the learned ones.",
    }
    counted = f"{kept} of {n} {'keeps' if kept == 1 else 'keep'} it."
    yield question(
        f"The matrices of {where} are replaced by random ones. How many of its {n} queries keep their best key?",
        ("none", "some, but fewer than half", "half or more"),
        right,
        f"A query that keeps its best key does so by chance: with {len(answers)} keys"
        + (", or fewer where some are masked," if chosen.kind == "decoder" else "")
        + " a blind guess is right now and then.",
        {at: f"{counted} {text}" for at, text in wrong.items() if at != right},
    )


def code(page: Page) -> Statements:
    yield from code_part(
        ("model/parts/attention.py", "MultiHeadAttention.forward"),
        ("model/parts/attention.py", "MultiHeadAttention.split"),
    )
