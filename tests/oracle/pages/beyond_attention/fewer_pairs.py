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
    KINDS,
    Choice,
    Shown,
    Statements,
    check_cell,
    code_of,
    shown_tensor,
    tensor_matrix,
)
from tests.oracle.language.page import READABLE, Page
from tests.oracle.passes import shipped
from tests.oracle.passes.decode import Ids
from tests.oracle.passes.family.language_models import NAME, Gpt, Text, most_pieces, text_on
from tests.oracle.passes.forward import EOS, Array

prose = Prose("fewer_pairs")

LAYER = "decoder.layers.3.self_attn"
PATTERN = Choice("Pattern", "pattern", ("window", "window and first", "strided", "top k"))
SIZES = ("1", "2", "4", "8", "16", "32", "64")
LONG = "Once upon a time there was a little girl who lived in a house by the wood. Every day she walked. "
STATES = (
    {"stop": "1"},
    {"sentence": LONG, "pattern": "strided", "keeps": "4", "cell": "9.2"},
    {"sentence": LONG, "pattern": "top k", "keeps": "2"},
    {"sentence": "Go", "pattern": "window and first", "keeps": "1", "stop": "7"},
    {"sentence": LONG * 7, "pattern": "window and first", "keeps": "0", "cell": "20.1"},
)


class Sparse(Gpt):
    """A reading in which each query asks only the keys that a pattern keeps, in all heads of all layers."""

    def __init__(self, ids: Ids, pattern: str, k: int) -> None:
        self.pattern, self.k = pattern, k
        super().__init__([*ids, EOS])

    def keep(self, name: str, value: Array) -> Array:
        self.tensors[name] = value
        return value

    def mixed(self, path: str, q: Array, k: Array, v: Array, allowed: Array, first: int = 0) -> Array:
        n, key = q.shape[-2], np.arange(k.shape[-2])
        back = np.arange(n)[:, None] - key
        kept = back < self.k
        if self.pattern == "window and first":
            kept = kept | (key == 0)
        elif self.pattern == "strided":
            kept = kept | (back % self.k == 0)
        elif self.pattern == "top k":
            scores = np.where(allowed, q @ k.swapaxes(-1, -2), -np.inf)
            order = np.argsort(np.argsort(-scores, axis=-1, kind="stable"), axis=-1)
            kept = order < self.k
        return super().mixed(path, q, k, v, allowed & kept, first)


@functools.lru_cache(64)
def sparse(ids: Ids, pattern: str, k: int) -> Sparse:
    return Sparse(ids, pattern, k)


def whole(ids: Ids) -> Sparse:
    return sparse(ids, "window", len(ids) + 1)


def perplexity(read: Gpt) -> float:
    return math.exp(float(read["losses"][:-1].mean()))


def left(read: Gpt) -> int:
    return int((read[f"{LAYER}.scores"][0] > -np.inf).sum())


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
    pairs, mine, of_books = n * (n + 1) // 2, number(perplexity(read), 1), books()
    costs = [of_books["window"][str(one)] if one else of_books["all pairs"] for one in stops]
    at = stops.index(k)
    said = prose.line("all pairs your text's", pairs, mine, number(costs[0], 1))
    if k:
        higher = number(100 * (costs[at] / costs[0] - 1), 0)
        said = prose.line("of pairs are left", left(read), pairs, mine, number(perplexity(whole(text.ids)), 1), higher)
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
        ("perplexity", 0, costs[-1]),
        "Perplexity: as unsure as among so many pieces",
        knob=(at, costs[at]),
    )
    return screen.frame(str(k or "all"), said, (map_, curve))


def chosen(page: Page) -> tuple[Text, str, int]:
    return text_on(page.sentence), PATTERN.of(page), int(page.choice("keeps", SIZES, "2"))


def shown(page: Page) -> Shown:
    text, pattern, k = chosen(page)
    names, read = ["<sos>", *text.names][:READABLE], sparse(text.ids, pattern, k)
    looks: dict[str, Any] = {
        "rows": names,
        "columns": names,
        "describe": KINDS["decoder"].describe,
        "start": (len(names) - 1,) * 2,
    }
    found = shown_tensor(page, f"{LAYER}.weights", head=0, kind="decoder", oracle=read, **looks)  # type: ignore[arg-type]
    return replace(found, hidden=np.isneginf(read[f"{LAYER}.scores"][0])[np.ix_(*found.at)])


def see(page: Page) -> Statements:
    text, pattern, k = chosen(page)
    yield PATTERN.drawn(page)
    yield claims.control("select_slider", "Pieces that a piece may ask, k", options=list(SIZES), value=str(k))
    if text.n_cut:
        yield from prose("this gpt reads at", most_pieces(), text.n_cut)
    yield from tensor_matrix(shown(page), **prose.words("a map", pattern, k))
    read, n = sparse(text.ids, pattern, k), len(text.ids) + 1
    costs = (number(perplexity(one), 1) for one in (whole(text.ids), read))
    yield from prose("the pattern holds in", n * (n + 1) // 2, left(read), *costs)


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def do(page: Page) -> Statements:
    text, _, k = chosen(page)
    measured = books()
    yield from prose("what does each pattern", k, f"{measured['tokens']:,}")
    base = measured["all pairs"]
    rows = [("all pairs", whole(text.ids), base)]
    rows += [(name, sparse(text.ids, name, k), measured[name][str(k)]) for name in PATTERN.options]
    head = ("", "pairs left of yours", "perplexity of yours", "of books", "more than with all")
    lines = [
        (name, str(left(read)), number(perplexity(read), 1), number(cost, 1), f"{number(100 * (cost / base - 1), 1)}%")
        for name, read, cost in rows
    ]
    lines[0] = (*lines[0][:-1], "0%")
    yield claims.table(head, *lines)
    yield from prose("the k largest scores")


def predict(page: Page) -> Statements:
    n, measured = len(text_on(page.sentence).ids) + 1, books()
    yield prose.question("gpt reads rows of", 1, n, 2 * n - 1, n * n)
    costs = measured["all pairs"], measured["window"]["8"], measured["top k"]["8"]
    yield prose.question("eight keys for each", 0, *(number(cost, 1) for cost in costs))


code = code_of("experiments/attention/patterns.py: window, window_and_first, strided, top, read_sparsely")
