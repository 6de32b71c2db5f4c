"""What the lesson on tokens of every kind must show."""

import math
from typing import Any

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.common import (
    Choice,
    Shown,
    Statements,
    Stops,
    addresses,
    check_cell,
    code_of,
    shown_tensor,
    tensor_matrix,
)
from tests.oracle.language.page import Page
from tests.oracle.pages.beyond_text.a_picture_as_words import ROWS, ink, sample, sheet
from tests.oracle.passes import pictures, sound
from tests.oracle.shown.frame import UNKEPT

prose = Prose("what_is_a_token")

STATES = addresses(
    "",
    "sentence=Größe 🙂 <b>!&stop=2&digit=9&see=your drawing&cell=1.5&try=Cut finer",
    "sentence=A dog sees a cat and a bird and a fish, and so on.&stop=4&try=Draw another&cell=2.3",
    "stop=5&digit=99&try=Cut finer&side=28&cut=1",
    "stop=9&try=Cut finer&side=300&cut=28&see=none",
)
SEE = Choice("Columns of", "see", ("your sentence", "your drawing"))
TRY = Choice("Try", "try", ("Who reads what", "Cut finer", "Draw another"))
WAYS = ("word pieces", "bytes", "patches", "windows", "sound patches", "pixels", "one state")
SIDE = Stops("Picture, in pixels to a side", "side", ("28", "56", "112", "224"), "224")
CUT = Stops("Patch, in pixels to a side", "cut", ("1", "2", "4", "7", "14", "28"), "14")
LINES = ("your sentence is pieces", "the same sentence in", "with class your drawing", "in patches of your")
LINES += ("with two learned rows", "pixel by pixel your", "a state space reads")
UNKEPT["what-is-a-token"] = "what you drew or recorded"


def counts(page: Page) -> list[tuple[int, int]]:
    """Columns and pairs of each way."""
    squares = [len(page.src), len(page.text.encode()), 17, 196, 42, 784]
    pairs = [n * (49 if n == 196 else n) for n in squares]
    return [*zip(squares, pairs, strict=True), (1, 0)]


def scene(page: Page) -> Statements:
    frames = [scene_frame(page, n) for n in range(7)]
    caption, wide = prose.line("what is a token"), (0.62, 0.85, 1.5)
    yield from screen.scene(page, caption, "Cut into", frames, by="slider", wide=wide, plays=True)


def sheet_of(picture: Any, is_cut: bool, side: int) -> dict[str, Any]:
    """A picture in patches of so many pixels to a side, of which lines are drawn if it is cut."""
    high, wide = picture.shape
    told = {"size": wide, "side": wide // side, "down": high // side, "whole": not is_cut, "ink": ink(picture)}
    return told | {"kind": "sheet", "note": "", "marked": 0, "weights": [], "hidden": []}


def scene_frame(page: Page, n: int) -> dict[str, Any]:
    parts = [piece.text for piece in page.src]
    if n == 1:
        parts = [f"{byte:02x}" for byte in page.text.encode()]
    if len(parts) > 12:
        parts = [*parts[:11], "…"]
    texts, drawing, tone = ({"title": one} for one in prose.words("inputs").values())
    of = [texts, texts, drawing, drawing, tone, drawing, texts][n]
    of["title"] += f", in {WAYS[n]}"
    picture, heard = pictures.sample(sample(page))[0], sound.spectrogram()[::-1]
    cut = {2: 7, 3: 2, 5: 1}.get(n, 0)
    drawn = sheet_of(picture, cut > 0, cut or 28) | {"windows": [0, 7, 14] if n == 3 else []}
    waves = sheet_of(heard, n == 4, 8) | {"windows": []}
    found = counts(page)
    most = math.log10(1 + max(columns for columns, _ in found))
    bars = [
        screen.bar(name, math.log10(1 + columns) / most, f"{columns:,} · {pairs:,}", None, n == at)
        for at, (name, (columns, pairs)) in enumerate(zip(WAYS, found, strict=True))
    ]  # fmt: skip
    columns, pairs = found[n]
    told = {3: (), 6: (len(page.src),)}.get(n, (columns, f"{pairs:,}"))
    return screen.frame(
        WAYS[n],
        prose.line(LINES[n], *told),
        [screen.cards([screen.row([screen.card(part) for part in parts])], slots=12, **texts)],
        [drawn | drawing, waves | tone, screen.bars(bars, role="query", **prose.words("columns pairs that a"))],
    )


def shown(page: Page) -> Shown:
    if SEE.of(page) == "your drawing":
        read: Any = pictures.read(sample(page))
        return shown_tensor(page, "encoder.embedding.output", rows=ROWS, oracle=read)
    return shown_tensor(page, "encoder.embedding.output")


def see(page: Page) -> Statements:
    yield SEE.drawn(page)
    which = "patches of your drawing" if SEE.of(page) == "your drawing" else "pieces of your sentence"
    yield from tensor_matrix(shown(page), **prose.words(which))


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def who(page: Page) -> Statements:
    yield from prose("who reads what a")
    lines = [row.split(" | ") for row in prose.words("table of readers").values()]
    yield claims.table(prose.line("head of readers"), *lines)


def finer(page: Page) -> Statements:
    yield from prose("what does a finer")
    side, patch = SIDE.of(page), CUT.of(page)
    yield from (SIDE.drawn(page), CUT.drawn(page))
    rows = []
    for one in dict.fromkeys((28, int(patch), int(patch) // 2 or 1)):
        n = (int(side) // one) ** 2
        rows.append((f"{one} × {one}", f"{n:,}", f"{n * n:,}", f"{3 * one * one:,}"))
    yield claims.table(prose.line("head of cuts"), *rows)
    yield from prose("half the side four")


def another(page: Page) -> Statements:
    yield from sheet(page)
    yield from prose("what you record in")


do = TRY.trials(who, finer, another)


def predict(page: Page) -> Statements:
    yield prose.question("straße has six letters", 1)
    yield prose.question("a picture of pixels", 1)
    yield prose.question("patches half as high", 2)


code = code_of(
    "model/parts/embedding.py: TokenEmbedding",
    "model/families/pictures.py: PatchEmbedding, cut_into_patches",
    "model/sound/spectrogram.py: spectrogram",
)
