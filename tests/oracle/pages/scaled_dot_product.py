"""What the lesson on scaled dot-product attention must show."""

import math

import numpy as np

from tests.oracle.claims import (
    Series,
    bars,
    box,
    caption,
    columns,
    flow,
    fold,
    latex,
    markdown,
    number,
    question,
    segmented,
    table,
    toggle,
)  # fmt: skip
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
    heads_before_after,
    numbers_of_figure,
    shown_tensor,
    tensor_matrix,
    which_piece,
)
from tests.oracle.forward import Array, config, softmax
from tests.oracle.page import READABLE, Page
from tests.oracle.words import inline, text_of

ANIMAL = "The animal didn't cross the street because it was too wide."
TRAINED, BEFORE = "The trained model", "The same model before training"
STATES = (
    {},
    {"stage": "1 QKᵀ", "attention": "Masked decoder", "layer": "1", "head": "3", "scale_off": "true"},
    {"sentence": ANIMAL, "stage": "2 divided by √d_k", "attention": "Encoder-decoder", "layer": "2", "cell": "3.4"},
    {"sentence": ANIMAL, "stage": "4 times V", "head": "4", "cell": "5.60", "scale_off": "true", "cost_length": "1000"},
    {"sentence": "Go", "attention": "Masked decoder", "cell": "1.2", "scale_model": BEFORE, "cost_length": "10000"},
    {"layer": "1", "scale_model": BEFORE, "scale_off": "true", "cost_length": "50"},
)

STEPS = {"1 QKᵀ": "products", "2 divided by √d_k": "scaled", "3 softmax": "weights", "4 times V": "heads"}


def idea(page: Page) -> Statements:
    yield markdown(
        "How well a :blue[**query**] fits a :orange[**key**] is one number, their **score**: the product of the two, "
        "divided by $\\sqrt{d_k}$ ($d_k$ counts the numbers of a key). The **softmax** turns a row of "
        "scores into shares that add up to 1. With these shares the :green[**values**] are mixed:"
    )
    yield latex(
        r"\operatorname{Attention}(Q,K,V)=\operatorname{softmax}\!\left(\frac{QK^{\mathsf T}}{\sqrt{d_k}}\right)V"
    )
    yield fold("The formula in words")
    yield markdown(
        "Every piece asks a question (its query), holds up a label (its key) and carries content (its value). How "
        "well a question matches a label decides how much of that content flows: a piece's new vector is the average "
        "of all values, weighted by how well query and key match."
    )
    yield markdown(
        "The queries, keys and values of a sentence are the rows of Q, K and V. QKᵀ holds the product of every query "
        "with every key: number times number, all added up. The softmax takes e to each score and divides it by the "
        "sum of these."
    )
    yield fold("A first example with round numbers: *Thinking Machines*")
    yield markdown(
        "*Thinking* asks. Its query meets the keys of both words, and the words' values are mixed by the shares that "
        "come out. The function under *Code* has just computed these numbers."
    )
    products, words = np.array([112, 96]), ("Thinking", "Machines")
    scaled = products / 8
    shares = softmax(scaled)
    yield flow(
        "The query of Thinking meets two keys; the shares that come out mix two values.",
        *(
            [
                box("q₁", "Thinking", "query", size=(4, 1.6)),
                "·",
                box(f"k{sign}", word, "key", size=(4, 1.6)),
                f"= {product} → {product} / √64 = {score:.0f} → share {number(share, 2)} of",
                box(f"v{sign}", word, "value", size=(4, 1.6)),
            ]
            for sign, word, product, score, share in zip("₁₂", words, products, scaled, shares, strict=True)
        ),
        [
            "Added up:",
            box("z₁", f"{number(shares[0], 2)} v₁ + {number(shares[1], 2)} v₂", "output", size=(4, 1.6)),
        ],
    )
    yield bars(words, shares, "The share of each word")
    yield caption(
        f"The scores differ by 2, so the first share is e² = {number(shares[0] / shares[1], 2)} times the second: the "
        "softmax turns differences into ratios."
    )


def chosen_head(page: Page) -> Head:
    return head(page, early_kinds(page))


def shown(page: Page) -> Shown:
    chosen, step = chosen_head(page), STEPS[page.choice("stage", list(STEPS), "3 softmax")]
    return shown_tensor(page, f"{chosen.path}.{step}", head=chosen.head, kind=chosen.kind)


def see(page: Page) -> Statements:
    chosen, stage = chosen_head(page), page.choice("stage", list(STEPS), "3 softmax")
    t, d_k = page.oracle[f"{chosen.path}.q"].shape[1:]
    s = page.oracle[f"{chosen.path}.k"].shape[1]
    yield from head_controls(page, early_kinds(page))
    yield segmented("Step", list(STEPS), stage)
    title, how_to_read = {
        "1 QKᵀ": ("How well each query matches each key", "Query times key, for every pair. Any size, any sign."),
        "2 divided by √d_k": (
            "The same, scaled",
            f"Divided by √{d_k} = {math.isqrt(d_k)}: the same pattern, in a moderate range.",
        ),
        "3 softmax": ("How each row shares out its attention", "Each row adds up to 1; masked cells are hatched."),
        "4 times V": (
            "What each row takes away",
            f"Each row is the weighted sum of all value vectors, {d_k} numbers.",
        ),
    }[stage]
    yield from tensor_matrix(shown(page), title=f"{title} ({chosen.phrase})", how_to_read=how_to_read)
    yield caption(f"Shapes: Q ({t}, {d_k}), K ({s}, {d_k}), V ({s}, {d_k}); scores and weights ({t}, {s}).")
    yield fold("One row through the softmax: score, e to the score, share")
    yield from softmax_of_row(page, chosen, shown(page).cell[0])


def softmax_of_row(page: Page, chosen: Head, row: int) -> Statements:
    asks, answers = asks_and_answers(page, chosen.kind)
    scores = page.oracle[f"{chosen.path}.scores"][chosen.head, row]
    powers = np.exp(scores)
    yield markdown(
        f"Row {row + 1}, **{inline(asks[row].text)}**. e to a score is never negative, and it grows fast. Each is "
        f"divided by the sum of all, {number(powers.sum())}."
    )
    seen = [j for j in range(min(READABLE, len(answers))) if scores[j] > -np.inf]
    names = [answers[j].text for j in seen]
    for name, values in (
        ("1. Score", scores),
        ("2. e to the score", powers),
        ("3. Share of the sum", page.oracle[f"{chosen.path}.weights"][chosen.head, row]),
    ):
        yield markdown(name)
        yield bars(names, values[seen], f"{name}, for each piece", limit=np.abs(values[seen]).max())
    yield caption("A negative score has no bar. The bars of each column have a scale of their own.")


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def entropy(weights: Array) -> float:
    """In bits, the mean over the rows."""
    return float(np.mean([-sum(p * math.log2(p) for p in row if p > 0) for row in weights]))


def do(page: Page) -> Statements:
    chosen = chosen_head(page)
    d_k = page.oracle[f"{chosen.path}.q"].shape[-1]
    yield from why_the_root(d_k)
    yield from without_the_scale(page, chosen)
    yield fold("What attention costs, for short and long texts")
    yield from cost(page)


def why_the_root(d_k: int) -> Statements:
    yield markdown(
        f"**Why the root?** A product of query and key is a sum of {d_k} terms. If each term has variance 1 and knows "
        f"nothing of the others, the variances add up to {d_k}. A typical size is the root of the variance: √{d_k} = "
        f"{math.isqrt(d_k)}. Tried with 10,000 pairs of random vectors of each length:"
    )
    random, sizes = np.random.default_rng(0), (4, 16, 64, 256)
    measured = []
    for size in sizes:
        left, right = (random.standard_normal((10_000, size), dtype=np.float32).astype(float) for _ in range(2))
        products = (left * right).sum(1)
        measured.append(math.sqrt(((products - products.mean()) ** 2).mean()))
    roots = [math.sqrt(size) for size in sizes]
    labels = [f"d_k = {size}" for size in sizes]
    yield columns(
        labels,
        [Series("typical size of q·k, measured", np.array(measured)), Series("√d_k", np.array(roots))],
        alt="Two columns for each length: the typical size of the products of 10,000 random pairs, and √d_k.",
        axis="size",
    )
    yield from numbers_of_figure(
        ("length", "measured", "√d_k"),
        *((label, number(one, 2), number(root, 2)) for label, one, root in zip(labels, measured, roots, strict=True)),
    )


def without_the_scale(page: Page, chosen: Head) -> Statements:
    yield markdown(
        "**What harm do large scores do?** The softmax gives nearly everything to one piece and is *saturated*: its "
        "slope is near 0, and training learns by the slope. So look at the model *before* training. What the trained "
        "one does without the scale says less: it has learned with it."
    )
    where, off = page.choice("scale_model", [TRAINED, BEFORE], TRAINED), page.switch("scale_off")
    yield segmented("Where", [TRAINED, BEFORE], where)
    yield toggle("Do not divide by √d_k", off)
    untrained = {"untrained": True} if where == BEFORE else {}
    passes = [page.reading(page.translation, **untrained)]
    if off:
        passes.append(page.reading(page.translation, **untrained, scale_off=True))
    yield from heads_before_after(
        page,
        passes,
        ("With the scale", "Without the scale"),
        chosen,
        instead="Switch the scale off, and the weights without it appear here.",
    )
    maps = [oracle[f"{chosen.path}.weights"][chosen.head] for oracle in passes]
    yield table(
        ("on average over the rows", "with the scale", *["without it"] * off),
        ("entropy, in bits", *(number(entropy(w), 2) for w in maps)),
        ("largest weight", *(number(w.max(1).mean(), 2) for w in maps)),
        ("steepest slope of the softmax", *(number((w - w**2).max(1).mean(), 3) for w in maps)),
    )
    n = maps[0].shape[1]
    yield caption(
        f"*Entropy* tells how evenly a row is spread: 0 bits when one piece gets everything, {number(math.log2(n), 2)} "
        f"bits when all {n} get the same. The *slope* tells by how much a weight w changes when its score changes a "
        "little: w · (1 − w), at most 0.25."
    )
    if off and where == TRAINED:
        other = text_of(page.translated(scale_off=True).labels)
        yield table(
            ("", "translation"),
            ("with the scale", page.translation or "(nothing)"),
            ("without it", other or "(nothing)"),
        )
        d_k = page.oracle[f"{chosen.path}.q"].shape[-1]
        yield caption(
            f"Without the scale, the scores of the first layer are {math.isqrt(d_k)} times as large. What later layers "
            "read has changed as well."
        )


def cost(page: Page) -> Statements:
    lengths = ["5", "10", "50", "100", "500", "1000", "5000", "10000"]
    t = int(page.choice("cost_length", lengths, "5"))
    yield segmented("Pieces, T", lengths, t)
    d, h = config()["d_model"], config()["n_heads"]
    matrices, products, bytes_ = (
        [4 * n * d * d for n in (t, 2 * t)],
        [2 * n * n * d for n in (t, 2 * t)],
        [4 * h * n * n for n in (t, 2 * t)],
    )
    together = [sum(pair) for pair in zip(matrices, products, strict=True)]
    yield table(
        ("one attention layer", f"T = {t:,}", f"T = {2 * t:,}", "times"),
        ("the four matrices: 4 · T · d²", *(f"{n:,}" for n in matrices), "2.00"),
        ("QKᵀ and weights · V: 2 · T² · d", *(f"{n:,}" for n in products), "4.00"),
        ("together", *(f"{n:,}" for n in together), number(together[1] / together[0], 2)),
        ("memory of the weights", *map(in_bytes, bytes_), "4.00"),
    )
    yield caption(
        f"Multiplications, with d = {d} and {h} heads; the weights of all heads, 4 bytes each. Only what grows with T² "
        f"makes long texts costly: it outweighs the rest from T = 2d = {2 * d} on. This is why one writes O(T²·d) for "
        "the two products."
    )


def in_bytes(n: int) -> str:
    """With the largest unit that is not too large."""
    unit, size = max(
        ((u, b) for u, b in (("bytes", 1), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)) if b <= n), key=lambda x: x[1]
    )
    return f"{n} bytes" if unit == "bytes" else f"{number(n / size, 1)} {unit}"


def predict(page: Page) -> Statements:
    yield question(
        "About attention, which of these are true?",
        (
            "The weights for input 2 use its key k₂ and all queries.",
            "The weights for input 2 use its query q₂ and all keys.",
            "Scaling brings the weights into [0, 1].",
            "Scaling is there for numerical stability.",
        ),
        [1, 3],
        "A row of weights belongs to one query, which meets every key. *Numerical stability* is the usual name for "
        "what the scale is good for: it keeps the scores at a moderate size. Without it the softmax saturates: one "
        "weight takes nearly all, the slope is nearly 0, and training hardly gets on.",
        {
            0: "It is the other way round: who asks brings the query; the keys belong to those that are looked at.",
            2: "The softmax does that, with or without the scale.",
        },
    )
    chosen = chosen_head(page)
    asks, answers = asks_and_answers(page, chosen.kind)
    row = min(len(asks) - 1, len(asks) // 2)
    name, weights = inline(asks[row].text), page.oracle[f"{chosen.path}.weights"][chosen.head, row]
    where = f"layer {chosen.layer + 1}, head {chosen.head + 1} of the {KINDS[chosen.kind].name.lower()}"
    yield which_piece(
        f"In {where}: which piece gets the largest weight in the row of **{name}** (row {row + 1})?",
        weights,
        answers,
        f"Its weight is {number(weights.max())}. Choose the cell in *See* to work it out.",
    )
    bare = page.reading(page.translation, scale_off=True)[f"{chosen.path}.weights"][chosen.head, row]
    right = 0 if bare.max() > weights.max() + 0.005 else 2 if bare.max() < weights.max() - 0.005 else 1
    wrong = {0: "Here it does not grow.", 1: "It moves by more than 0.005.", 2: "Here it does not shrink."}
    yield question(
        f"Suppose nothing is divided by √d_k, in the whole model. The largest weight in the row of **{name}** "
        f"(row {row + 1}; {where}) will…",
        ("grow towards 1", "stay as it is, within 0.005", "shrink"),
        right,
        f"It was {number(weights.max())} and becomes {number(bare.max())}. Larger scores mean larger gaps between "
        "them, and the softmax turns gaps into ratios. (The scale is off in every layer, so the scores themselves "
        "change too; that is why a row may now and then go the other way.)",
        {n: text for n, text in wrong.items() if n != right},
    )


def code(page: Page) -> Statements:
    yield from code_part(
        ("model/parts/attention.py", "scaled_dot_product_attention"), ("model/parts/attention.py", "MultiHeadAttention")
    )
