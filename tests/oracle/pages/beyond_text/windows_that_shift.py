"""What the lesson on windows that shift must show."""

from dataclasses import replace
from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, number
from tests.oracle.language.common import (
    KINDS,
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
from tests.oracle.pages.beyond_text.a_picture_as_words import ink, sample, share, sheet
from tests.oracle.passes import pictures, shipped
from tests.oracle.shown.frame import INSTEAD, UNKEPT

prose = Prose("windows_that_shift")

STATES = addresses(
    "",
    "digit=7&patch=195&stop=2&map=1.3&cell=3.48",
    "digit=10&patch=3&stop=4&see=pixels&cell=5.7&try=Bias&block=2&of_block=1",
    "digit=99&patch=196&stop=9&map=4.0&try=What it costs&side=14&window=14&after=4",
    "digit=2&patch=x&stop=1&map=3.2&try=What it costs&side=112&cell=48.0",
    "block=1&try=Bias&of_block=3",
    "patch=195&map=2.1&after=4",
    "try=Bias&block=3&of_block=4",
    "try=Bias&block=4&of_block=2",
    "patch=100&after=1&windows=stay&stop=3&cell=0.0",
    "digit=5&patch=0&after=4&windows=shift&try=Which reads better",
)
SEE = Choice("What to see", "see", ("attention", "pixels"))
TRY = Choice("Try", "try", ("Invert a patch", "Bias", "What it costs", "Which reads better"))
MOVES = Choice("Windows", "windows", ("shift", "stay"))
AFTER = Stops("Blocks passed", "after", ("1", "2", "3", "4"), "2")
BLOCK, HEAD = (
    Choice(label, name, ("1", "2", "3", "4")) for label, name in (("Block", "block"), ("Head of it", "of_block"))
)
SIDE = Stops("Picture, in patches to a side", "side", ("14", "28", "56", "112"), "56")
WINDOW = Stops("Window, in patches to a side", "window", ("7", "14"))
UNKEPT["windows-that-shift"] = "what you drew"
INSTEAD["windows-that-shift"] = sheet


def patch(page: Page) -> int:
    """The one that is turned, from 0."""
    text = page.state.get("patch", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) < 196 else 76


def scene(page: Page) -> Statements:
    moving, still = (pictures.news(sample(page), shifts, patch(page)) for shifts in (True, False))
    frames = [scene_frame(page, n, moving[n], still[n]) for n in range(5)]
    caption, looks = prose.line("swin attention within windows"), {"wide": (1, 1, 1), "plays": True}
    yield from screen.scene(page, caption, "Blocks passed", frames, 2, by="slider", **looks)


def scene_frame(page: Page, n: int, moving: np.ndarray, still: np.ndarray) -> dict[str, Any]:
    picture = pictures.swin(sample(page), True, patch(page))["picture"]
    titles = prose.words("titles of the sheets")

    def cut(changed: np.ndarray, title: str, windows: list[int]) -> dict[str, Any]:
        blue = [screen.near(0.25 + 0.75 * np.sqrt(one / changed.max())) if one > 0 else 0 for one in changed]
        told = {"size": 28, "side": 14, "down": 14, "whole": False, "ink": ink(picture), "weights": blue}
        note = titles["lines"] if n else titles["before"]
        told |= {"kind": "sheet", "hidden": [0] * 196, "windows": windows, "marked": patch(page) + 1}
        return told | {"title": title, "note": note}

    far, near = int((moving > 0).sum()), int((still > 0).sum())
    blocks = "1 block" if n == 1 else f"{n} blocks"
    says = prose.line("after blocks patches have", blocks, far, near)
    if n == 0:
        says = prose.line("patch is turned before", patch(page) + 1)
    bars = [
        screen.bar("windows shift", far / 196, f"{far} of 196", strong=True),
        screen.bar("windows stay", near / 196, f"{near} of 196"),
    ]
    begin = [[], [0, 7, 14], [0, 3, 10, 14], [0, 7, 14], [0, 3, 10, 14]][n]
    return screen.frame(
        f"{n} of 4",
        says,
        [
            cut(moving, titles["shift"], begin),
            cut(still, titles["stay"], [0, 7, 14] if n else []),
            screen.bars(bars, role="query", **prose.words("patches that have changed")),
        ],
    )


def chosen(page: Page) -> tuple[int, int]:
    return page.pair("map", (4, 4), (0, 0))


def place(page: Page, block: int) -> tuple[int, int, list[str]]:
    """The window of the turned patch, its place in it, and the names of the patches there."""
    windows = pictures.swin(sample(page)).windows(block)
    which, at = np.argwhere(windows == patch(page))[0].tolist()
    return which, at, [str(one + 1) for one in windows[which]]


def shown(page: Page) -> Shown:
    read: Any = pictures.swin(sample(page))
    if SEE.of(page) == "pixels":
        row, column = divmod(patch(page), 14)
        of = range(14 * row, 14 * row + 14)
        looks: dict[str, Any] = {"rows": [str(n + 1) for n in of], "only_rows": of, "start": (column, 0)}
        return shown_tensor(page, "patches", oracle=read, scale="weight", **looks)
    block, head = chosen(page)
    which, at, names = place(page, block)
    name, rows = f"encoder.layers.{block}.self_attn.weights", range(49 * which, 49 * which + 49)
    most = int(read[name][head, rows[at]].argmax())
    both: dict[str, Any] = {"rows": names, "columns": names, "start": (at, most)}
    both |= {"only_rows": rows, "describe": KINDS["encoder"].describe, "scale": "positive"}
    hidden = np.isneginf(read[name.replace("weights", "scores")][head, rows])
    return replace(shown_tensor(page, name, head=head, oracle=read, **both), hidden=hidden)


def see(page: Page) -> Statements:
    yield SEE.drawn(page)
    if SEE.of(page) == "pixels":
        first = patch(page) // 14 * 14 + 1
        yield from tensor_matrix(shown(page), **prose.words("pixels of patches to", first, first + 13))
        return
    read, block_head = pictures.swin(sample(page)), chosen(page)
    looks = []
    for n in range(4):
        which, at, _ = place(page, n)
        looks.append(read[f"encoder.layers.{n}.self_attn.weights"][:, 49 * which + at])
    maps = np.stack(looks).reshape(4, 4, 7, 7)
    title = prose.line("where patch looks in", patch(page) + 1)
    yield claims.head_grid(maps / maps.max(), selected=block_head, title=title, row_label="block", mean=False)
    block, head = block_head
    windows = pictures.swin(sample(page)).windows(block)[place(page, block)[0]]
    wraps = block % 2 and (np.ptp(windows // 14) == 13 or np.ptp(windows % 14) == 13)
    hatched = prose.line("hatched no neighbours in") if wraps else ""
    told = block + 1, head + 1, patch(page) + 1, hatched
    yield from tensor_matrix(shown(page), **prose.words("weights of block head", *told))


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def invert(page: Page) -> Statements:
    yield from prose("click a patch to")
    n = int(AFTER.of(page))
    yield AFTER.drawn(page)
    yield MOVES.drawn(page)
    changed = pictures.news(sample(page), MOVES.of(page) == "shift", patch(page))[n]
    rows, columns = ([f"{what} {at}" for at in range(1, 15)] for what in ("row", "column"))
    yield claims.matrix(
        changed.reshape(14, 14),
        rows,
        columns,
        **prose.words("changed after of blocks", n, patch(page) + 1),
        csv_name=f"Changed after {n} of 4 blocks",
        scale="positive",
        selected=divmod(patch(page), 14),
        hidden=(changed == 0).reshape(14, 14),
        hatched=prose.line("exactly as it was"),
        describe="Patch {name}: {value}",
        value_names=[[str(14 * row + column) for column in range(1, 15)] for row in range(14)],
    )
    yield from prose("of patches have changed", int((changed > 0).sum()))


def bias(page: Page) -> Statements:
    yield from prose("what does it add")
    block, head = BLOCK.at(page), HEAD.at(page)
    yield from (BLOCK.drawn(page), HEAD.drawn(page))
    table = pictures.weights("swin-8000")[f"encoder.layers.{block}.self_attn.positions.table.weight"][:, head]
    seen = np.array([[table[13 * (6 - down) + 6 - right] for right in range(-6, 7)] for down in range(-6, 7)])
    rows = [*(f"{n} up" for n in range(6, 0, -1)), "same row", *(f"{n} down" for n in range(1, 7))]
    columns = [*(f"{n} left" for n in range(6, 0, -1)), "same column", *(f"{n} right" for n in range(1, 7))]
    words = prose.words("bias of block head", block + 1, head + 1)
    yield claims.matrix(seen, rows, columns, **words, csv_name="bias", scale="signed")
    down, right = (int(at) - 6 for at in np.unravel_index(int(seen.argmax()), seen.shape))
    vertical = f"{abs(down)} {'up' if down < 0 else 'down'}" if down else ""
    level = f"{abs(right)} {'left' if right < 0 else 'right'}" if right else ""
    way = "a patch " + (f"{vertical} and {level}" if down and right else vertical or level)
    yield from prose(
        "most is added for", way if down or right else "the patch itself", number(seen.max(), 2), number(seen.min(), 2)
    )


def cost(page: Page) -> Statements:
    yield from prose("how many pairs does")
    side, window = SIDE.of(page), WINDOW.of(page)
    yield from (SIDE.drawn(page), WINDOW.drawn(page))
    rows, m = [], int(window)
    for one in dict.fromkeys((14, int(side), 2 * int(side))):
        n = one * one
        pairs = f"{n * n:,}", f"{n * m * m:,}", number(n * n / (n * m * m), 1)
        rows.append((f"{one} × {one}", f"{n:,}", *pairs))
    yield claims.table(prose.line("head of costs", window), *rows)
    yield from prose("twice as high and")


def better(page: Page) -> Statements:
    kept, read = shipped.metrics("pictures"), pictures.swin(sample(page)).chances
    yield from prose("which reads better right", f"{kept['pictures']:,}")
    sizes = {name: (f"{of['parameters']:,}", f"{of['steps']:,}") for name, of in kept["training"].items()}
    lines = prose.words("readers of the table")
    rows = [
        (lines["shift"], share(kept["test"]["swin-8000"]), *sizes["swin-8000"]),
        (lines["stay"], share(kept["windows_kept_still"]), *sizes["swin-8000"]),
        (lines["vit"], share(kept["test"]["vit-8000"]), *sizes["vit-8000"]),
        (lines["cnn"], share(kept["test"]["cnn-8000"]), *sizes["cnn-8000"]),
    ]
    yield claims.table(prose.line("head of the readers"), *rows)
    mean, error = kept["swin_ahead"]
    apart = number(100 * abs(mean), 1), number(100 * error, 1)
    says = prose.line("swin and the vision", *apart)
    if abs(mean) >= 2 * error:
        says = prose.line("swin is points the", *apart, "ahead of" if mean > 0 else "behind")
    yield from prose("swin learned with windows", says, int(read.argmax()), chance(read.max()))


do = TRY.trials(invert, bias, cost, better)


def predict(page: Page) -> Statements:
    yield prose.question("the picture has patches", 2)
    yield prose.question("windows begin at row", 2)
    yield prose.question("a picture becomes twice", 1)


code = code_of(
    "model/parts/window_attention.py: into_windows, neighbours, ShiftedWindowAttention",
    "model/families/pictures.py: Swin",
    "experiments/pictures/looking.py: travelled",
)
