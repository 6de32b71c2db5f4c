"""What the lesson on the price of attention must show."""

from dataclasses import replace
from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import in_bytes, number
from tests.oracle.language.common import Choice, Shown, Statements, check_cell, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import Page
from tests.oracle.passes.forward import Forward
from tests.oracle.shown.variants import Variant

prose = Prose("price_of_attention")

PATH = "encoder.layers.0.self_attn"
INSIDE = Choice("What to work out", "inside", ("window: weights", "one state: the state", "one state: result"))
RUNS = ("a row asks", "row i column j", "a row for each")
PIECES = ("16", "128", "512", "1024", "8192", "100000")
LONG = "The man who told me that he had lost his keys on the train to Boston forgot his umbrella there as well. " * 3
STATES: tuple[dict[str, str], ...] = (
    {},
    {"sentence": LONG, "inside": INSIDE.options[1], "cell": "3.2", "stop": "1", "pieces": "100000"},
    {"sentence": "Go", "cell": "1.1", "pieces": "0", "stop": "9"},
    {"inside": INSIDE.options[2], "cell": "2.5", "pieces": "1000000000", "stop": "2"},
    {"sentence": LONG, "inside": INSIDE.options[2], "pieces": "16", "stop": "3"},
)


def scene(page: Page) -> Statements:
    n = len(page.src)
    frames = [scene_frame(n, times) for times in (1, 2, 4, 8)]
    caption = prose.line("attention compares every piece")
    looks: dict[str, Any] = {"by": "slider", "wide": (1, 1.3), "plays": True}
    yield from screen.scene(page, caption, "Pieces in the text", frames, 3, **looks)


def scene_frame(n: int, times: int) -> dict[str, Any]:
    long = n * times
    now, before = ((m * m, 3 * m - 2, m) for m in (long, n))
    if times == 1:
        said = prose.line("your text pieces pairs", n, *(f"{one:,}" for one in now))
    else:
        counts = times * times, f"{now[0]:,}", f"{before[0]:,}"
        said = prose.line("times the text times", times, *counts, number(now[1] / before[1], 1))
    names = ("square: every pair", "band: window of 3", "strip: one state")
    bars = [screen.bar(names[k], now[k], f"{now[k]:,}", before[k], strong=k == 0) for k in range(3)]
    square = screen.square(long, n, 8 * n, 1, (f"yours, {n:,}", f"{long:,} pieces"), "All pairs")
    return screen.frame(
        f"{long:,}", said, (square, screen.bars(bars, "Pairs to compare, or steps to take", "query", 64 * n * n))
    )


def read(page: Page, kind: str) -> Forward:
    return Variant(page.oracle.ids["encoder"], page.oracle.labels, {PATH: kind})


def shown(page: Page) -> Shown:
    at = INSIDE.at(page)
    if at == 0:
        window, columns = read(page, "windowed 1"), ("before", "itself", "after")
        says = "“{row}” looks at the piece {column}: {value}"
        found = shown_tensor(page, f"{PATH}.weights", head=0, columns=columns, oracle=window, describe=says)
        return replace(found, hidden=np.isneginf(window[f"{PATH}.scores"][0])[np.ix_(*found.at)])
    name, part = (
        ("state", {"only_rows": range(8), "only_columns": range(8)}) if at == 1 else ("heads", {"n_columns": 8})
    )
    rows = [str(n + 1) for n in range(8)] if at == 1 else None
    return shown_tensor(page, f"{PATH}.{name}", head=0, oracle=read(page, "linear"), rows=rows, **part)


def see(page: Page) -> Statements:
    yield from prose("the first layer reads")
    yield INSIDE.drawn(page)
    yield from tensor_matrix(shown(page), **prose.words(RUNS[INSIDE.at(page)]))
    heads = page.oracle[f"{PATH}.heads"]
    others = (read(page, kind)[f"{PATH}.heads"] for kind in ("windowed 1", "linear"))
    away = (number(100 * float(np.linalg.norm(one - heads) / np.linalg.norm(heads)), 0) for one in others)
    yield from prose("what the first layer's", *away)


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def do(page: Page) -> Statements:
    yield from prose("how long does it")
    yield claims.button("Measure")
    yield from prose("how much is there")
    chosen = page.choice("pieces", PIECES, "8192")
    yield claims.control("select_slider", "Pieces in the text, N", options=list(PIECES), value=chosen)
    n, d, h, d_k = int(chosen), 256, 4, 64
    # What each piece meets, and the numbers held, in one head.
    work = {"every pair": (n, n * n), "window": (129, n * 129), "one state": (d_k, d_k * (d_k + 1))}
    rows = [
        (way, f"{2 * n * meets * d:,}", number(meets / (2 * d), 2), in_bytes(4 * h * held))
        for way, (meets, held) in work.items()
    ]
    first = ("the four projections: 4Nd²", f"{4 * n * d * d:,}", "1.00", "")
    yield claims.table((f"N = {n:,}", "multiplications", "times the projections", "held at once"), first, *rows)
    yield from prose("here d in heads")


def predict(page: Page) -> Statements:
    n, d = len(page.src), 256
    counts = (f"{times * n * n:,}" for times in (2, 4, 8))
    yield prose.question("your text has pieces", 1, n, *counts, 2 * n, f"{n * n:,}")
    yield prose.question("queries keys values and", 0, f"{4 * n * d * d:,}", f"{2 * n * n * d:,}")


code = code_of(
    "model/parts/efficient_attention.py: windowed_attention, linear_attention, causal_linear_attention, features",
    "model/parts/attention.py: scaled_dot_product_attention",
)
