"""What the lesson on scaled dot-product attention must show."""

import math

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import Series, box, number
from tests.oracle.language.common import Choice, Head, Shown, Statements, code_of
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.words import inline, text_of
from tests.oracle.passes.forward import Array, config, softmax

prose = Prose("scaled_dot_product")

ANIMAL = "The animal didn't cross the street because it was too wide."
WHERE = Choice("Where", "scale_model", ("The trained model", "The same shape, random weights"))
TRAINED, BEFORE = WHERE.options
STATES = (
    {},
    {"stage": "1 QKᵀ", "attention": "Masked decoder", "layer": "1", "head": "3", "cost_length": "10"},
    {"sentence": ANIMAL, "stage": "2 divided by √d_k", "attention": "Encoder-decoder", "layer": "2", "cell": "3.4"},
    {"sentence": ANIMAL, "stage": "4 times V", "head": "4", "cell": "5.60", "scale_off": "true", "cost_length": "1000"},
    {"sentence": "Go", "attention": "Masked decoder", "cell": "1.2", "scale_model": BEFORE, "cost_length": "10000"},
    {"layer": "1", "scale_model": BEFORE, "scale_off": "true", "cost_length": "50"},
)

STEPS = {"1 QKᵀ": "products", "2 divided by √d_k": "scaled", "3 softmax": "weights", "4 times V": "heads"}
STEP = Choice("Step", "stage", list(STEPS), "3 softmax")


def idea(page: Page) -> Statements:
    yield from prose("how well a blue")
    products, words = np.array([112, 96]), ("Thinking", "Machines")
    scaled = products / 8
    shares = softmax(scaled)
    yield claims.flow(
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
        ["Added up:", box("z₁", f"{number(shares[0], 2)} v₁ + {number(shares[1], 2)} v₂", "output", size=(4, 1.6))],
    )
    yield claims.bars(words, shares, "The share of each word")
    yield from prose("the scores differ by", number(shares[0] / shares[1], 2))


def chosen_head(page: Page) -> Head:
    return common.head(page, common.early_kinds(page))


def shown(page: Page) -> Shown:
    chosen, step = chosen_head(page), STEPS[STEP.of(page)]
    return common.shown_tensor(page, f"{chosen.path}.{step}", head=chosen.head, kind=chosen.kind)


def see(page: Page) -> Statements:
    chosen, step = chosen_head(page), STEP.of(page)
    t, d_k = page.oracle[f"{chosen.path}.q"].shape[1:]
    s = page.oracle[f"{chosen.path}.k"].shape[1]
    yield from common.head_controls(page, common.early_kinds(page))
    yield STEP.drawn(page)
    sizes = {"2 divided by √d_k": (d_k, math.isqrt(d_k)), "4 times V": (d_k,)}.get(step, ())
    words = prose.words(step, *sizes)
    yield from common.tensor_matrix(shown(page), **words | {"title": f"{words['title']} ({chosen.phrase})"})
    yield from prose("shapes q k v", t, d_k, s)
    yield from softmax_of_row(page, chosen, shown(page).cell[0])


def softmax_of_row(page: Page, chosen: Head, row: int) -> Statements:
    asks, answers = common.asks_and_answers(page, chosen.kind)
    scores = page.oracle[f"{chosen.path}.scores"][chosen.head, row]
    powers = np.exp(scores)
    yield from prose("row e to a", row + 1, inline(asks[row].text), number(powers.sum()))
    seen = [j for j in range(min(READABLE, len(answers))) if scores[j] > -np.inf]
    names = [answers[j].text for j in seen]
    for name, values in (
        ("1. Score", scores),
        ("2. e to the score", powers),
        ("3. Share of the sum", page.oracle[f"{chosen.path}.weights"][chosen.head, row]),
    ):
        yield claims.markdown(name)
        yield claims.bars(names, values[seen], f"{name}, for each piece", limit=np.abs(values[seen]).max())
    yield from prose("a negative score has")


def entropy(weights: Array) -> float:
    """In bits, the mean over the rows."""
    return float(np.mean([-sum(p * math.log2(p) for p in row if p > 0) for row in weights]))


def do(page: Page) -> Statements:
    chosen = chosen_head(page)
    d_k = page.oracle[f"{chosen.path}.q"].shape[-1]
    yield from why_the_root(d_k)
    yield from without_the_scale(page, chosen)
    yield from prose("what attention costs for")
    yield from cost(page)


def why_the_root(d_k: int) -> Statements:
    yield from prose("why the root a", d_k, math.isqrt(d_k))
    random, sizes = np.random.default_rng(0), (4, 16, 64, 256)
    measured = []
    for size in sizes:
        left, right = (random.standard_normal((10_000, size), dtype=np.float32).astype(float) for _ in range(2))
        products = (left * right).sum(1)
        measured.append(math.sqrt(((products - products.mean()) ** 2).mean()))
    roots = [math.sqrt(size) for size in sizes]
    labels = [f"d_k = {size}" for size in sizes]
    yield claims.columns(
        labels,
        [Series("typical size of q·k, measured", np.array(measured)), Series("√d_k", np.array(roots))],
        alt="Two columns for each length: the typical size of the products of 10,000 random pairs, and √d_k.",
        axis="size",
    )
    yield from common.numbers_of_figure(
        ("length", "measured", "√d_k"),
        *((label, number(one, 2), number(root, 2)) for label, one, root in zip(labels, measured, roots, strict=True)),
    )


def without_the_scale(page: Page, chosen: Head) -> Statements:
    yield from prose("what harm do large")
    where, off = WHERE.of(page), page.switch("scale_off")
    yield WHERE.drawn(page)
    yield claims.toggle("Do not divide by √d_k", off)
    untrained = {"untrained": True} if where == BEFORE else {}
    passes = [page.reading(page.translation, **untrained)]
    if off:
        passes.append(page.reading(page.translation, **untrained, scale_off=True))
    yield from common.heads_before_after(
        page,
        passes,
        ("With the scale", "Without the scale"),
        chosen,
        instead="Switch the scale off, and the weights without it appear here.",
    )
    maps = [oracle[f"{chosen.path}.weights"][chosen.head] for oracle in passes]
    yield claims.table(
        ("on average over the rows", "with the scale", *["without it"] * off),
        ("entropy, in bits", *(number(entropy(w), 2) for w in maps)),
        ("largest weight", *(number(w.max(1).mean(), 2) for w in maps)),
        ("steepest slope of the softmax", *(number((w - w**2).max(1).mean(), 3) for w in maps)),
    )
    n = maps[0].shape[1]
    yield from prose("entropy tells how evenly", number(math.log2(n), 2), n)
    if off and where == TRAINED:
        other = text_of(page.translated(scale_off=True).labels)
        yield claims.table(
            ("", "translation"),
            ("with the scale", page.translation or "(nothing)"),
            ("without it", other or "(nothing)"),
        )
        d_k = page.oracle[f"{chosen.path}.q"].shape[-1]
        yield from prose("without the scale the", math.isqrt(d_k))


def cost(page: Page) -> Statements:
    lengths = ["5", "10", "50", "100", "500", "1000", "5000", "10000"]
    t = int((yield from common.choose(page, "Pieces, T", "cost_length", lengths)))
    d, h = config()["d_model"], config()["n_heads"]
    matrices, products, bytes_ = ([of(n) for n in (t, 2 * t)] for of in (
        lambda n: 4 * n * d * d, lambda n: 2 * n * n * d, lambda n: 4 * h * n * n
    ))  # fmt: skip
    together = [sum(pair) for pair in zip(matrices, products, strict=True)]
    yield claims.table(
        ("one attention layer", f"T = {t:,}", f"T = {2 * t:,}", "times"),
        ("the four matrices: 4 · T · d²", *(f"{n:,}" for n in matrices), "2.00"),
        ("QKᵀ and weights · V: 2 · T² · d", *(f"{n:,}" for n in products), "4.00"),
        ("together", *(f"{n:,}" for n in together), number(together[1] / together[0], 2)),
        ("memory of the weights", *map(claims.in_bytes, bytes_), "4.00"),
    )
    yield from prose("multiplications with d and", d, h, 2 * d)


def predict(page: Page) -> Statements:
    yield prose.question("about attention which of", [1, 3])
    chosen = chosen_head(page)
    asks, answers = common.asks_and_answers(page, chosen.kind)
    row = min(len(asks) - 1, len(asks) // 2)
    name, weights = inline(asks[row].text), page.oracle[f"{chosen.path}.weights"][chosen.head, row]
    yield common.which_piece(
        f"In {chosen.where}: which piece gets the largest weight in the row of **{name}** (row {row + 1})?",
        weights,
        answers,
        f"Its weight is {number(weights.max())}. Choose the cell in *See* to work it out.",
    )
    bare = page.reading(page.translation, scale_off=True)[f"{chosen.path}.weights"][chosen.head, row]
    right = 0 if bare.max() > weights.max() + 0.005 else 2 if bare.max() < weights.max() - 0.005 else 1
    sizes = number(weights.max()), number(bare.max())
    yield prose.question("suppose nothing is divided", right, name, row + 1, chosen.where, *sizes)


code = code_of("model/parts/attention.py: scaled_dot_product_attention, MultiHeadAttention")
