"""What the lesson on fewer pairs must show."""

import functools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import number
from tests.oracle.language.common import (
    HEAD_HELP,
    KINDS,
    LAYER_HELP,
    Choice,
    Head,
    Shown,
    Statements,
    check_cell,
    code_of,
    head,
    head_controls,
    shown_tensor,
    tensor_matrix,
)
from tests.oracle.language.page import READABLE, Page, chances
from tests.oracle.language.statement import perplexity, rounding
from tests.oracle.language.words import inline, text_of
from tests.oracle.passes import shipped
from tests.oracle.passes.decode import Ids, Writer, greedy
from tests.oracle.passes.family.language_models import NAME, Gpt, Text, most_pieces, text_on
from tests.oracle.passes.forward import EOS, Array, Forward
from tests.oracle.passes.network import Network

prose = Prose("fewer_pairs")

LAYER, ENCODER = "decoder.layers.3.self_attn", "encoder.layers.2.self_attn"
PATTERN = Choice("Pattern", "pattern", ("window", "window and first", "strided", "top k"))
READER = Choice("Model", "reader", ("GPT", "Translator"))
TRIAL = Choice(
    "Try",
    "pairs_trial",
    ("Compare the patterns", "By hand", "Are the weights of low rank?", "Trained so from the start"),
)
SIZES = ("1", "2", "4", "8", "16", "32", "64")
LONG = "Once upon a time there was a little girl who lived in a house by the wood. Every day she walked. "
HAND, RANK, TRAINED = ({"pairs_trial": trial} for trial in TRIAL.options[1:])
STATES = (
    {"stop": "1"},
    {"sentence": LONG, "pattern": "strided", "keeps": "4", "cell": "9.2", "hidden": "1003000", **HAND},
    {"sentence": LONG, "pattern": "top k", "keeps": "2", "reader": "Translator", "cell": "3.3"},
    {"sentence": "Go", "pattern": "window and first", "keeps": "1", "stop": "7", "hidden": "f" * 36, **HAND},
    {"sentence": LONG * 7, "pattern": "window and first", "keeps": "0", "cell": "20.1"},
    {"reader": "Translator", "pattern": "strided", "keeps": "4", "hidden": "fff000004", **HAND},
    {"reader": "Translator", "keeps": "64", "hidden": "f" * 37, **HAND},
    {"sentence": "Entschuldigung " * 60},
    {"sentence": LONG, **TRAINED},
    {"sentence": "🙂", "reader": "Translator", **TRAINED},
    {"sentence": LONG, "rank": "1", "layer": "2", "head": "3", **RANK},
    {"reader": "Translator", "attention": "Encoder-decoder", "rank": "64", "layer": "4", "keeps": "1", **RANK},
)

Pairs = frozenset[tuple[int, int]]


class Narrowed(Network):
    """A pass in which a query asks only the keys that a pattern keeps, in all heads of all self-attentions.

    rule: the pattern and k; by_hand: a stack, and pairs that it does without, too. Who may ask nobody gets zeros.
    """

    rule: tuple[str, int]
    by_hand: tuple[str, Pairs]

    def keep(self, name: str, value: Array) -> Array:
        self.tensors[name] = value
        return value

    def mixed(self, path: str, q: Array, k: Array, v: Array, allowed: Array, first: int = 0) -> Array:
        if path.endswith("cross_attn"):
            return super().mixed(path, q, k, v, allowed, first)
        scores = np.where(allowed, q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]), -np.inf)
        key, (pattern, reach) = np.arange(k.shape[-2]), self.rule
        back = first + np.arange(q.shape[-2])[:, None] - key
        kept = abs(back) < reach
        if pattern == "window and first":
            kept = kept | (key == 0)
        elif pattern == "strided":
            kept = kept | (back % reach == 0)
        elif pattern == "top k":
            kept = np.argsort(np.argsort(-scores, axis=-1, kind="stable"), axis=-1) < reach
        scores = np.where(kept, scores, -np.inf)
        stack, hidden = self.by_hand
        for row, column in hidden if path.startswith(stack) else ():
            scores[:, row, column] = -np.inf
        powers = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e9))
        weights = powers / np.maximum(powers.sum(-1, keepdims=True), 1e-300)
        self.keep(f"{path}.scores", scores)
        return self.joined_heads(path, self.keep(f"{path}.weights", weights) @ v)


def narrowed(of: type[Network], pattern: str, k: int, by_hand: tuple[str, Pairs], *given: Any) -> Any:
    """What reads as `of` does, but with fewer pairs."""
    return type(of.__name__, (Narrowed, of), {"rule": (pattern, k), "by_hand": by_hand})(*given)


@functools.lru_cache(64)
def sparse(ids: Ids, pattern: str, k: int, hidden: Pairs = frozenset()) -> Any:
    return narrowed(Gpt, pattern, k, ("decoder", hidden), [*ids, EOS])


def whole(ids: Ids) -> Gpt:
    return sparse(ids, "window", len(ids) + 1)


@functools.lru_cache(64)
def translated(sentence: str, pattern: str, k: int, hidden: Pairs = frozenset()) -> tuple[Any, str]:
    """Its first translation read with fewer pairs, and what greedy search then writes."""
    page = Page("fewer-pairs", {"sentence": sentence})
    src, labels, writer = page.oracle.ids["encoder"], page.oracle.labels, Writer(sentence)
    writer.passes = narrowed(Forward, pattern, k, ("encoder", hidden), src, [EOS])
    ids = greedy(writer, most=len(labels) + 10)
    says = (text_of(list(ids)) or "(nothing)") + " …" * (ids[-1] != EOS)
    return narrowed(Forward, pattern, k, ("encoder", hidden), src, labels), says


ALL = "window", 1000


def reading(page: Page, pattern: str, k: int, hidden: Pairs = frozenset()) -> Any:
    """By the model that is chosen."""
    if READER.at(page):
        return translated(page.sentence, pattern, k, hidden)[0]
    return sparse(text_on(page.sentence).ids, pattern, k, hidden)


def of_text(read: Gpt) -> str:
    return perplexity(float(read["losses"][:-1].mean()))


def left(read: Network) -> int:
    return int((read[f"{path_of(read)}.scores"][0] > -np.inf).sum())


def path_of(read: Network) -> str:
    """The self-attention that is shown."""
    return LAYER if isinstance(read, Gpt) else ENCODER


def sureness(read: Any) -> str:
    return of_text(read) if isinstance(read, Gpt) else number(float(chances(read).mean()), 3)


def names(page: Page) -> list[str]:
    return [piece.text for piece in page.src] if READER.at(page) else ["<sos>", *text_on(page.sentence).names]


def costs(page: Page, pattern: str, k: int, hidden: Pairs = frozenset()) -> Statements:
    read, n = reading(page, pattern, k, hidden), len(names(page))
    says = [left(read), n * n, sureness(reading(page, *ALL)), sureness(read)]
    if not READER.at(page):
        says[1] = n * (n + 1) // 2
        yield from prose("perplexity of your text", *says)
        return
    before, now = (inline(translated(page.sentence, *one)[1]) for one in (ALL, (pattern, k, hidden)))
    yield from prose("with all pairs it", *says, before, now)


def books() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shipped.MODELS / NAME / "patterns.json").read_text())
    return found


def scene(page: Page) -> Statements:
    text, stops = text_on(page.sentence), (0, 32, 16, 8, 4, 2, 1)
    n = len(text.ids) + 1
    few = [k for k in stops[1:] if left(sparse(text.ids, "window", k)) < 0.65 * n * (n + 1) / 2]
    opens = stops.index(few[0] if few else 1)
    frames = [scene_frame(text, n, k, stops) for k in stops]
    caption = prose.line("the map of gpt's")
    looks: dict[str, Any] = {"by": "slider", "wide": (1, 1.4), "plays": True}
    yield from screen.scene(page, caption, "Pieces that each may ask", frames, opens, **looks)


def scene_frame(text: Text, n: int, k: int, stops: tuple[int, ...]) -> dict[str, Any]:
    read = sparse(text.ids, "window", k) if k else whole(text.ids)
    pairs, mine, of_books = n * (n + 1) // 2, of_text(read), books()
    costs = [of_books["window"][str(one)] if one else of_books["all pairs"] for one in stops]
    at = stops.index(k)
    said = prose.line("all pairs your text's", pairs, mine, number(costs[0], 1))
    if k:
        higher = number(100 * (costs[at] / costs[0] - 1), 0)
        said = prose.line("of pairs are left", left(read), pairs, mine, of_text(whole(text.ids)), higher)
    map_ = screen.matrix(
        read[f"{LAYER}.weights"].mean(0)[:16, :16], "Who asks whom", rows=["<sos>", *text.names][:16], ends=1.0
    )
    lines = [
        screen.line("books", list(enumerate(costs)), "output"),
        screen.line("all pairs", [(0, costs[0]), (6, costs[0])], "plain", dashed=True),
    ]
    x = "Pieces that each may ask".lower(), 0, 6, [(i, str(one or "all")) for i, one in enumerate(stops)]
    curve = screen.curve(
        lines,
        x,
        ("perplexity", 0, math.ceil(costs[-1])),
        "Perplexity: as unsure as among so many pieces",
        knob=(at, costs[at]),
    )
    return screen.frame(str(k or "all"), said, (map_, curve))


def chosen(page: Page) -> tuple[str, int]:
    return PATTERN.of(page), int(page.choice("keeps", SIZES, "2"))


def shown(page: Page) -> Shown:
    texts, read = names(page)[:READABLE], reading(page, *chosen(page))
    kind = "encoder" if READER.at(page) else "decoder"
    looks: dict[str, Any] = {"rows": texts, "columns": texts, "describe": KINDS[kind].describe}
    looks["start"] = (len(texts) - 1,) * 2
    found = shown_tensor(page, f"{path_of(read)}.weights", head=0, kind=kind, oracle=read, **looks)
    return replace(found, hidden=np.isneginf(read[f"{path_of(read)}.scores"][0])[np.ix_(*found.at)])


def see(page: Page) -> Statements:
    pattern, k = chosen(page)
    text = text_on(page.sentence)
    yield READER.drawn(page)
    yield PATTERN.drawn(page)
    yield claims.control("select_slider", "Pieces that a piece may ask, k", options=list(SIZES), value=str(k))
    if text.n_cut and not READER.at(page):
        yield from prose("this gpt reads at", most_pieces(), text.n_cut)
    where = "encoder, layer 3" if READER.at(page) else "layer 4"
    yield from tensor_matrix(shown(page), **prose.words("a map", pattern, k, where))
    yield from costs(page, pattern, k)
    yield from prose("both stacks" if READER.at(page) else "all layers")


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def compared(page: Page) -> Statements:
    k, measured, base = chosen(page)[1], books(), books()["all pairs"]
    named = [("all pairs", ALL, base), *((one, (one, k), measured[one][str(k)]) for one in PATTERN.options)]
    rows = [(name, str(left(reading(page, *at))), sureness(reading(page, *at))) for name, at, _ in named]
    if READER.at(page):
        yield from prose("each pattern on your sentence", k)
        head = ("", "pairs left", "mean probability of the first translation", "writes")
        more = [(translated(page.sentence, *at)[1],) for _, at, _ in named]
    else:
        yield from prose("what does each pattern", k, f"{measured['tokens']:,}")
        head = ("", "pairs left of yours", "perplexity of yours", "of books", "more than with all")
        more = [(number(cost, 1), f"{number(100 * (cost / base - 1), 1)}%") for *_, cost in named]  # type: ignore[misc]
    yield claims.table(head, *((*row, *rest) for row, rest in zip(rows, more, strict=True)))
    yield from prose("the k largest scores")


def painted(page: Page) -> Statements:
    texts = names(page)[:12]
    n, said = len(texts), page.state.get("hidden", "")
    bits = int(said, 16) if 0 < len(said) <= 36 and set(said) <= set("0123456789abcdef") else 0
    grid = np.array([bits >> place & 1 for place in range(144)], bool).reshape(12, 12)[:n, :n]
    hidden = frozenset((int(r), int(c)) for r, c in np.argwhere(grid if READER.at(page) else np.tril(grid)))
    read = reading(page, *ALL, hidden)
    yield from prose("which pairs would you", "the encoder" if READER.at(page) else "GPT")
    yield from map(claims.button, ("Keep all", "Keep none", "Keep what See keeps"))
    unseen = np.isneginf(read[f"{path_of(read)}.scores"][0])
    looks: dict[str, Any] = {"csv_name": "pairs by hand", "hidden": unseen[:n, :n]}
    yield claims.matrix(
        read[f"{path_of(read)}.weights"].mean(0)[:n, :n], texts, texts, **prose.words("your pairs"), **looks,
        describe="“{row}” asks “{column}”: {value}",
    )  # fmt: skip
    yield from costs(page, *ALL, hidden)
    if alone := [f"**{inline(texts[row])}**" for row in np.flatnonzero(unseen.all(-1))]:
        yield from prose("nobody is left to", ", ".join(alone))
    if len(names(page)) > n:
        yield from prose("these are the first", n, len(names(page)))


def rank(page: Page) -> Statements:
    yield from prose("are the weights of")
    at = Head("decoder", page.count("layer", 4, 4) - 1, page.count("head", 4, 1) - 1)
    if READER.at(page):
        at = head(page)
        yield from head_controls(page)
    else:
        yield claims.segmented("Layer", range(1, 5), at.layer + 1, LAYER_HELP)
        yield claims.segmented("Head", range(1, 5), at.head + 1, HEAD_HELP)
    asked = page.choice("rank", SIZES, "4")
    yield claims.control("select_slider", "Singular values kept, r", options=list(SIZES), value=asked)
    read = reading(page, *ALL)
    weights, values = (read[f"{at.path}.{name}"][at.head] for name in ("weights", "v"))
    # The squares of the singular values are the largest eigenvalues of WᵀW.
    squares, axes = np.linalg.eigh(weights.T @ weights)
    n = min(weights.shape)
    squares, axes = np.maximum(squares[::-1][:n], 0), axes[:, ::-1]
    result, r = weights @ values, min(n, int(asked))
    away = [result - weights @ axes[:, :m] @ axes[:, :m].T @ values for m in range(n + 1)]
    errors = 100 * np.array([np.linalg.norm(one) for one in away]) / np.linalg.norm(result)
    words, shares = prose.words("singular values"), 100 * np.sqrt(squares / squares[0])
    x = claims.Axis(words["along"], 0, n, [(m, str(m)) for m in range(0, n + 1, math.ceil(n / 6))])
    lines = [
        claims.Line(words["blue"], np.arange(1, n + 1), shares, claims.BLUE, dotted=True),
        claims.Line(words["orange"], np.arange(n + 1), errors, claims.ORANGE, dotted=True),
    ]
    yield claims.curves(lines, x, claims.Axis("%", 0, max(105, 1.05 * errors.max())), alt=words["alt"], upright=r)
    needed = next(m for m in range(1, n + 1) if squares[:m].sum() >= 0.9 * squares.sum())
    yield from prose("singular values hold", needed, n, r, number(float(errors[r]), 1))
    if at.kind == "decoder":
        yield from prose("full rank", n)
    yield from prose("linformer")


def trained(page: Page) -> Statements:
    ids = text_on(page.sentence).ids
    n, measured, depth, width, block, rows = len(ids) + 1, books(), 4, 256, 16, 4
    yield from prose("what if it learns", block, rows)
    base, state = measured["all pairs"], depth * 4 * (64 * 64 + 64)
    kept = {"all pairs": n, "squeezed": n // block * rows + n % block}
    kept = {name: 2 * depth * width * held for name, held in kept.items()} | {"linear": state}
    of_books = {"all pairs": base} | {kind: measured["trained so"][f"gpt-{kind}"] for kind in ("squeezed", "linear")}
    own = {"all pairs": whole(ids), "linear": Gpt([*ids, EOS], "gpt-linear")}
    yours = {name: of_text(read) for name, read in own.items()}
    yield claims.table(
        f" | perplexity of books | more than with all | of your text | numbers to keep of {n} pieces",
        *(
            (kind, number(cost, 1), f"{number(100 * (cost / base - 1), 1)}%", yours.get(kind, ""), f"{kept[kind]:,}")
            for kind, cost in of_books.items()
        ),
    )
    yield from prose("linear attention can be", rounding(1e-5))
    yield from prose("the state is as", math.ceil(state / (2 * depth * width)))


do = TRIAL.trials(compared, painted, rank, trained)


def predict(page: Page) -> Statements:
    n, measured = len(text_on(page.sentence).ids) + 1, books()
    yield prose.question("gpt reads rows of", 1, n, 2 * n - 1, n * n)
    costs = measured["all pairs"], measured["window"]["8"], measured["top k"]["8"]
    yield prose.question("eight keys for each", 0, *(number(cost, 1) for cost in costs))


code = code_of(
    "experiments/attention/patterns.py: window, window_and_first, strided, top, keeping, translate_sparsely",
    "experiments/attention/rank.py: spectrum",
    "model/parts/squeezed_attention.py: squeeze, CausalSqueezedAttention",
    "model/parts/efficient_attention.py: causal_linear_as_matrix",
)
