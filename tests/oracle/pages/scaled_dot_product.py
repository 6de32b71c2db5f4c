"""What the lesson on scaled dot-product attention must show."""

import math

import numpy as np

from tests.oracle.claims import caption, fold, latex, markdown, number, question, segmented, table, toggle
from tests.oracle.common import (
    KINDS,
    Shown,
    Statements,
    asks_and_answers,
    check_cell,
    code_part,
    head,
    head_controls,
    heads_before_after,
    shown_tensor,
    tensor_matrix,
    which_piece,
)
from tests.oracle.forward import Array, softmax
from tests.oracle.page import Page
from tests.oracle.words import inline, text_of

ANIMAL = "The animal didn't cross the street because it was too wide."
STATES = (
    {},
    {"stage": "1 QKᵀ", "attention": "Masked decoder", "layer": "1", "head": "3", "scale_off": "true"},
    {"sentence": ANIMAL, "stage": "2 divided by √d_k", "attention": "Encoder-decoder", "layer": "2", "cell": "3.4"},
    {"sentence": ANIMAL, "stage": "4 times V", "head": "4", "cell": "5.60", "scale_off": "true"},
    {"sentence": "Go", "attention": "Masked decoder", "cell": "1.2"},
)

STEPS = {"1 QKᵀ": "products", "2 divided by √d_k": "scaled", "3 softmax": "weights", "4 times V": "heads"}


def idea(page: Page) -> Statements:
    yield markdown(
        "Every piece asks a question (its :blue[**query**]), holds up a label (its :orange[**key**]) and carries "
        "content (its :green[**value**]). How well a question matches a label decides how much of that content flows: "
        "a piece's new vector is the average of all values, weighted by how well query and key match."
    )
    yield latex(
        r"\operatorname{Attention}(Q,K,V)=\operatorname{softmax}\!\left(\frac{QK^{\mathsf T}}{\sqrt{d_k}}\right)V"
    )
    yield markdown(
        "QKᵀ holds the product of every query with every key, and d_k is how many numbers a key has. The *softmax* "
        "turns a row of scores into shares that add up to 1: e to each score, divided by the sum of these."
    )
    yield fold("A first example with round numbers: *Thinking Machines*")
    products = np.array([112, 96])
    one, two = softmax(products / 8)
    yield markdown(
        "The query of *Thinking* meets the keys of *Thinking* and *Machines*: the products are 112 and 96. Divided by "
        f"√64 = 8 they are {112 // 8} and {96 // 8}; the softmax makes them **{number(one, 2)}** and "
        f"**{number(two, 2)}**. So the new vector is z = {number(one, 2)} v₁ + {number(two, 2)} v₂. The function under "
        "*Code* has just computed these numbers."
    )


def shown(page: Page) -> Shown:
    chosen, step = head(page), STEPS[page.choice("stage", list(STEPS), "3 softmax")]
    return shown_tensor(page, f"{chosen.path}.{step}", head=chosen.head, kind=chosen.kind)


def see(page: Page) -> Statements:
    chosen, stage = head(page), page.choice("stage", list(STEPS), "3 softmax")
    t, d_k = page.oracle[f"{chosen.path}.q"].shape[1:]
    s = page.oracle[f"{chosen.path}.k"].shape[1]
    yield from head_controls(page)
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
    yield caption(
        f"Shapes: Q ({t}, {d_k}), K ({s}, {d_k}), V ({s}, {d_k}); weights ({t}, {s}). Cost: QKᵀ takes {t} · {s} · {d_k} "
        f"= {t * s * d_k:,} multiplications and the last step as many. For T pieces of width d the cost grows like "
        "T²·d, written O(T²·d): a sentence twice as long costs four times as much."
    )


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def entropy(weights: Array) -> float:
    """In bits, the mean over the rows."""
    return float(np.mean([-sum(p * math.log2(p) for p in row if p > 0) for row in weights]))


def do(page: Page) -> Statements:
    chosen, off = head(page), page.switch("scale_off")
    d_k = page.oracle[f"{chosen.path}.q"].shape[-1]
    yield markdown(
        f"Why divide at all? A product of query and key is a sum of {d_k} terms: the longer the vectors, the larger "
        "the sums. Switch the scale off, in the whole model, and see what becomes of the weights."
    )
    yield toggle("Do not divide by √d_k", off)
    passes = [page.oracle] + ([page.reading(page.translation, scale_off=True)] if off else [])
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
        f"bits when all {n} get the same. The *slope* tells how much a weight changes with its score, at most 0.25; "
        "training learns from it, so near 0 it learns nothing."
    )
    if off:
        other = text_of(page.translated(scale_off=True).labels)
        yield markdown(
            f"The translation was **{inline(page.translation) or '(nothing)'}**; without the scale it is "
            f"**{inline(other) or '(nothing)'}**."
        )
        yield caption(
            f"Without the scale, the scores of the first layer are {math.isqrt(d_k)} times as large (what later layers "
            "read has changed as well). Large scores *saturate* the softmax: one piece gets nearly everything."
        )


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
        "A row belongs to one query, which meets every key. It is the softmax that bounds the weights; the scale keeps "
        "it from saturating, where one weight takes nearly all and the slope is nearly 0.",
    )
    chosen = head(page)
    asks, answers = asks_and_answers(page, chosen.kind)
    row = min(len(asks) - 1, len(asks) // 2)
    name, weights = inline(asks[row].text), page.oracle[f"{chosen.path}.weights"][chosen.head, row]
    yield which_piece(
        f"In layer {chosen.layer + 1}, head {chosen.head + 1} of the {KINDS[chosen.kind].name.lower()}: which piece gets "
        f"the largest weight in the row of **{name}** (row {row + 1})?",
        weights,
        answers,
        f"Its weight is {number(weights.max())}. Choose the cell in *See* to work it out.",
    )
    bare = page.reading(page.translation, scale_off=True)[f"{chosen.path}.weights"][chosen.head, row]
    grows, shrinks = bare.max() > weights.max() + 0.005, bare.max() < weights.max() - 0.005
    yield question(
        f"Switch the scale off. The largest weight in the row of **{name}** will…",
        ("grow towards 1", "stay as it is", "shrink"),
        0 if grows else 2 if shrinks else 1,
        f"It was {number(weights.max())} and becomes {number(bare.max())}. Larger scores mean larger gaps between them, "
        "and the softmax turns gaps into ratios. (The scale is off in every layer, so the scores themselves change "
        "too; that is why a row may now and then go the other way.)",
    )


def code(page: Page) -> Statements:
    yield from code_part(
        ("model/attention.py", "scaled_dot_product_attention"), ("model/attention.py", "MultiHeadAttention")
    )
