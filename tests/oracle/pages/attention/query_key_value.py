"""What the lesson on queries, keys and values must show."""

import math

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import box, number, tex
from tests.oracle.language.common import KINDS, Choice, Head, Shown, Statements, code_of
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.words import inline
from tests.oracle.passes.forward import Array, config, softmax
from tests.oracle.passes.untrained import random_weights
from tests.oracle.shown.worked import reads, writes

prose = Prose("query_key_value")

MATRICES = Choice("In place of the learned matrices", "matrices", ("Random matrices", "No matrices: X itself"))
RANDOM, NONE = MATRICES.options
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
    {"sentence": LONG, "part": "X", "layer": "2", "head": "2", "sure": "0", "attention": "Encoder"},
    {"sentence": "Go", "part": "X", "layer": "1", "matrices": NONE},
    {"part": "W", "matrices": "<b>", "layer": "99", "head": "0", "cell": "x"},
)


def chosen_head(page: Page) -> Head:
    return common.head(page, common.early_kinds(page))


def inputs(chosen: Head) -> tuple[str, str]:
    """Which tensors make the queries, and the keys and values."""
    stack = "encoder" if chosen.kind == "encoder" else "decoder"
    if chosen.kind == "cross":
        return f"decoder.layers.{chosen.layer}.add_norm_1.output", writes("encoder", config()["n_layers"] - 1)
    return reads(stack, chosen.layer), reads(stack, chosen.layer)


def idea(page: Page) -> Statements:
    yield from prose("a piece that looks")
    yield from look_up(page)


def look_up(page: Page) -> Statements:
    yield claims.code(prose.line("order items delivery date"))
    yield from prose("hard look-up the query")
    sure = page.number("sure", 0, 10, 2)
    yield claims.slider("How much a match counts", 0, 10, sure)
    matches = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0.5, 0.5, 0, 0]])
    weights = softmax(sure * matches)
    orders = np.array([[3, 4], [1, 12], [8, 6], [2, 20]])
    asked = ["order_104", "order_106", "104 or 105"]
    yield claims.matrix(
        weights,
        asked,
        ["order_104", "order_105", "order_106", "order_107"],
        **prose.words("look-up weights"),
    )
    yield claims.matrix(
        weights @ orders,
        asked,
        ["items", "day of May"],
        **prose.words("look-up answers"),
        scale="positive",
        limit=20,
    )
    total = " + ".join(rf"{tex(w)}\cdot {n}" for w, n in zip(weights[0], orders[:, 0], strict=True))
    yield from prose("first row items at", total, tex(weights[0] @ orders[:, 0]))


PART = Choice("Show", "part", ("X", "Q", "K", "V"), "Q")


def shown(page: Page) -> Shown:
    chosen, part = chosen_head(page), PART.of(page)
    describe = "“{row}”, dimension {column}: {value}"
    if part == "X":
        return common.shown_tensor(page, inputs(chosen)[0], kind=chosen.kind, n_columns=64, describe=describe)
    return common.shown_tensor(
        page, f"{chosen.path}.{part.lower()}", head=chosen.head, kind=chosen.kind, describe=describe
    )


def see(page: Page) -> Statements:
    chosen, part, sizes = chosen_head(page), PART.of(page), config()
    yield from prose("the model asks in", sizes["n_layers"], sizes["n_heads"])
    yield from common.head_controls(page, common.early_kinds(page))
    yield PART.drawn(page)
    where = chosen.phrase if part != "X" else chosen.phrase.rpartition(", ")[0]
    yield from common.tensor_matrix(shown(page), **prose.words(part, where))
    d, heads = sizes["d_model"], [f"head {n}" for n in range(1, sizes["n_heads"] + 1)]
    asks, answers = common.asks_and_answers(page, chosen.kind)
    of = "M" if chosen.kind == "cross" else "X"
    makes = [("Q", "X", len(asks), "query"), ("K", of, len(answers), "key"), ("V", of, len(answers), "value")]
    makes = [one for one in makes if part in ("X", one[0])]
    yield claims.flow(
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
    above = f" The matrix above shows those of head {chosen.head + 1}." * (part != "X")
    memory = " M is the encoder's output, from which the keys and values are made." * (chosen.kind == "cross")
    yield from prose("the columns are divided", d, len(heads), d // len(heads), above, memory)


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
    chosen, which = chosen_head(page), MATRICES.of(page)
    yield from prose("the matrices decide which")
    yield MATRICES.drawn(page)
    learned, other = page.oracle[f"{chosen.path}.weights"][chosen.head], other_weights(page, chosen, which)
    n = len(learned)
    text = f"The best key is the same for **{sum(best(learned) == best(other))} of {n}** queries."
    if chosen.kind != "cross":
        own = [sum(best(w) == np.arange(n)) for w in (learned, other)]
        text += f" How many find themselves best: **{own[0]}** with the learned matrices, **{own[1]}** here."
    yield claims.markdown(text)
    asks, answers = common.asks_and_answers(page, chosen.kind)
    yield from common.before_after(
        (learned, other),
        ("Learned matrices", which),
        asks,
        answers,
        how_to_read="How much each query (row) takes from each key (column), 0 to 1 on both sides.",
        describe=KINDS[chosen.kind].describe,
        csv_name=f"{chosen.path}.weights head {chosen.head + 1}",
        hidden=[np.isneginf(page.oracle[f"{chosen.path}.scores"][chosen.head])] * 2,
    )
    yield from prose("the best key of")
    yield claims.table(
        ("Query of", "Learned: best key", f"{which.partition(':')[0]}: best key"),
        *(
            (asks[i].text, *(f"{answers[best(w)[i]].text} {number(w[i].max(), 2)}" for w in (learned, other)))
            for i in range(min(n, READABLE))
        ),
    )
    yield from common.cut_to((n, "queries"))
    if which == RANDOM:
        yield from prose("two unrelated random matrices")
    elif chosen.kind == "cross":
        yield from prose("without matrices the decoder's")
    else:
        yield from prose("without matrices two pieces")


def predict(page: Page) -> Statements:
    chosen, d, h = chosen_head(page), config()["d_model"], config()["n_heads"]
    yield prose.question("where do q k", 1, d, h, d // h)
    asks, answers = common.asks_and_answers(page, chosen.kind)
    scores = page.oracle[f"{chosen.path}.scores"][chosen.head]
    # In the decoder's masked attention the first rows have little to choose from.
    row = len(asks) - 1 if chosen.kind == "decoder" else 0
    weight = page.oracle[f"{chosen.path}.weights"][chosen.head, row].max()
    yield common.which_piece(
        f"In {chosen.where}: which key matches the query of **{inline(asks[row].text)}** (row {row + 1}) best?",
        scores[row],
        answers,
        f"The better the match, the larger its weight: here {number(weight)}, the largest of the row.",
    )
    n, kept = len(asks), int(sum(best(other_weights(page, chosen, RANDOM)) == best(scores)))
    right = 0 if kept == 0 else 1 if kept < n / 2 else 2
    wrong = (
        "Even a random match hits the old one now and then.",
        "So it is not between none and a half.",
        "Random matrices know nothing of the learned ones.",
    )
    counted = f"{kept} of {n} {'keeps' if kept == 1 else 'keep'} it."
    fewer, says = (
        ", or fewer where some are masked," * (chosen.kind == "decoder"),
        [f"{counted} {text}" for text in wrong],
    )
    yield prose.question("the matrices of are", right, chosen.where, n, len(answers), fewer, wrong=says)


code = code_of("model/parts/attention.py: MultiHeadAttention.forward, MultiHeadAttention.split")
