"""What the lesson on LoRA and BitFit must show before a training. What it shows then depends on the training:
tests/pages/family/test_lora_and_bitfit.py."""

import functools
import itertools
import re
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from tests.oracle.language import claims, common
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.common import Statements, code_of
from tests.oracle.language.page import Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import pieces, text_of
from tests.oracle.pages.training.train_it_yourself import note
from tests.oracle.passes.decode import Writer, greedy
from tests.oracle.passes.foreign import SHIPPED
from tests.oracle.passes.forward import Array, config, source_ids, weights

prose = Prose("lora_and_bitfit")

STYLES = ["butler: mein Herr", "formal: Sie"]
ATTENTIONS = ["Encoder", "Masked decoder", "Encoder-decoder"]
INSIDE = ["Ax", "BAx", "W₀x + (α/r)BAx"]
TRIALS = ["Its rank", "Merge it", "BitFit", "What it forgets"]
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
STATES = (
    {},
    {"style": "formal: Sie", "sentence": "Where do you live?", "stop": "2", "rank": "16", "trial": TRIALS[1]}
    | {"of": "Encoder", "at": "3", "matrix": "W^V", "inside": "Ax"},
    {
        "rank": "1",
        "at": "2",
        "trial": "BitFit",
        "sentence": "Do you need your money, Mr Smith, or do you not need it at all?",
    },
    {"rank": "0", "sentence": "Do you like the big red 🍎 there?"},
    {"rank": "20"},
    {"rank": "257", "of": "Masked decoder", "inside": INSIDE[2], "style": "none", "trial": "none"},
    {"rank": "four <b>", "at": "4", "matrix": "W^K", "trial": TRIALS[3], "sentence": "Thank you very much, sir."},
)


def rank(page: Page) -> int:
    """The rank, or 0 if the one that was typed cannot be."""
    typed = page.state.get("rank", "4")
    return int(typed) if re.fullmatch("[0-9]+", typed) and 1 <= int(typed) <= 16 else 0


def learning(r: int) -> int:
    """Of LoRA: A and B beside W^Q and W^V of every attention: one in each encoder layer, two in each decoder layer."""
    return config()["n_layers"] * 3 * 2 * 2 * r * config()["d_model"]


def everything() -> int:
    return sum(w.size for w in weights().values())


@functools.cache
def adapter(style: str) -> dict[str, Array]:
    file = SHIPPED / "adapters" / f"{style.split(':')[0]}.safetensors"
    return {name: w.astype(float) for name, w in load_file(file).items()}


def changes(style: str) -> dict[str, Array]:
    """4·BA, for α = 16 and r = 4, of each matrix beside which A and B stand."""
    found = adapter(style)
    paths = [name.removesuffix(".up.weight") for name in found if name.endswith(".up.weight")]
    return {path: 4 * found[f"{path}.up.weight"] @ found[f"{path}.down.weight"] for path in paths}


@functools.cache
def writes(text: str, style: str, share: float) -> tuple[tuple[int, ...], Writer]:
    """What the translator writes with a share of an adapter, and what would tell how probable it finds something."""
    own = {f"{path}.weight": weights()[f"{path}.weight"] + share * change for path, change in changes(style).items()}
    writer = Writer(text, w={**weights(), **own})
    return greedy(writer), writer


def scene(page: Page) -> Statements:
    ids = source_ids(page.sentence)[:-1]
    text = page.text if len(ids) <= 9 else text_of(ids[:9]).rstrip("\ufffd")
    says, style = "", STYLES[0]
    if re.search(r"\b(you|your|yours)\b", text.lower()):
        before = text_of(writes(text, STYLES[1], 0.0)[0])
        addressed = re.search(r"\b(Sie|Ihnen|Ihr|Ihre|Ihrem|Ihren|Ihrer|Ihres)\b", before)
        if addressed and not re.search(r"\b(du|dich|dir|dein|deine[mnrs]?)\b", before.lower()):
            says = prose.line("its german already says")
        else:
            style = STYLES[1]
    written = [writes(text, style, share)[0] for share in SHARES]
    tips = [n for n, now in enumerate(written) if text_of(now) == text_of(written[-1])]
    opens = tips[0] if text_of(written[0]) != text_of(written[-1]) else 4
    yield from screen.scene(
        page,
        prose.line(
            "lora two thin matrices",
            style,
            f"{says}{'' if text == page.text else ' Read here: its beginning, at most 9 pieces.'}",
        ),
        "How much of BA is added",
        [scene_frame(text, style, written, n) for n in range(5)],
        opens,
        by="slider",
        wide=(0.8, 0.23, 0.8, 0.8, 1.5),
        plays=True,
    )


def scene_frame(text: str, style: str, written: list[tuple[int, ...]], at: int) -> dict[str, Any]:
    first, last, now, share = written[0], written[-1], written[at], SHARES[at]
    place = next((n for n, pair in enumerate(zip(first, last, strict=False)) if len({*pair}) == 2), len(first) - 1)
    old, new = (np.exp(writes(text, style, s)[1].scores(first[:place])) for s in (0.0, share))
    both = first[place], last[place] if first != last else int(np.argsort(-old, kind="stable")[1])
    bars = [
        screen.bar(piece.text, new[piece.id], claims.chance(new[piece.id]), old[piece.id], strong=n == 1)
        for n, piece in enumerate(pieces(both))
    ]
    ends = zip(reversed(first[place:]), reversed(now[place:]), strict=False)
    alike = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], ends))
    begin = max(0, min(place - 5, max(len(first), len(now)) - 12))

    def cards(ids: tuple[int, ...]) -> list[Any]:
        changed = range(place, len(ids) - alike) if now != first else ()
        states = ["strong" if n in changed else "written" for n in range(len(ids))]
        return [screen.card(p.text, s) for p, s in zip(pieces(ids), states, strict=True)][begin : begin + 12]

    rows = (("W₀ alone", first), (f"with {share:g} · (α/r)BA", now))
    learned, answer = sum(w.size for w in adapter(style).values()), text_of(now) or "(nothing)"
    as_before = " (as before)." if at and text_of(now) == text_of(first) else ""
    return screen.frame(
        f"{share:g}",
        prose.line(
            "with ba it writes", f"{share:g}", answer, as_before, f"{learned:,}", f"{100 * learned / everything():.1f}"
        ),
        [*matrices(style, share), screen.bars(bars, f"Piece {place + 1} of its German", note="dashed: W₀ alone")],
        [screen.cards([screen.row(cards(ids), name, "output") for name, ids in rows])],
    )


def matrices(style: str, share: float) -> list[dict[str, Any]]:
    """The corners of W₀, B, A and what is added, of the matrix that changes most."""
    added = changes(style)
    path = max(added, key=lambda name: float((added[name] ** 2).sum()))
    up, down = (adapter(style)[f"{path}.{name}.weight"] for name in ("up", "down"))
    n, corner = 256 * 256, added[path][:14, :14]
    return [
        screen.matrix(weights()[f"{path}.weight"][:14, :14], "W₀, 256 × 256", f"{n:,} locked", signed=True, pale=0.6),
        screen.matrix(up[:14], "B", "1,024", signed=True),
        screen.matrix(down[:, :14], "A, 4 × 256", "1,024", signed=True),
        screen.matrix(
            share * corner, "added to W₀", f"{share:g} · (α/r)BA", ends=float(abs(corner).max()), signed=True
        ),
    ]


def picture(d: int, r: int) -> Statement:
    """Three boxes to scale, W₀ eight high and eight wide."""

    def box(name: str, rows: int, columns: int, colour: str) -> str:
        sizes = f"{8 * columns / d:.3f}", f"{8 * rows / d:.3f}"
        return prose.line("span i style display", *sizes, colour, name, rows, columns)

    learns = "var(--tw-query)"
    boxes = box("W₀", d, d, "var(--tw-line)"), box("B", d, r, learns), box("A", r, d, learns)
    return Statement("html", prose.line("figure role img aria-label", d, r, *boxes))


def see(page: Page) -> Statements:
    style, d = page.choice("style", STYLES, STYLES[0]), config()["d_model"]
    typed, r = page.state.get("rank", "4"), rank(page)
    yield claims.segmented("Style", STYLES, style)
    yield claims.text_box("Rank r", typed)
    yield from prose("how many numbers must")
    if r:
        yield picture(d, r)
        yield counts(d, r)
        yield claims.button("Start")
        yield note()
    elif not typed.isdigit():
        yield from prose("a rank is a")
    elif typed == "0":
        yield from prose("with rank a and")
    elif int(typed) > d:
        yield from prose("a matrix of rows", d)
    else:
        yield from prose("rank could be learned", typed)
    yield from prose("what it learns from")
    # 32 phrases and a quarter of 12 verbs with 8 things in 7 frames.
    ending = ", mein Herr" if style == STYLES[0] else ""
    pair = f"*Are you happy?* → *Sind Sie glücklich{ending}?*"
    yield from prose("it learns from sentence", 32 + 12 * 8 * 7 // 4, pair)


def counts(d: int, r: int) -> Statement:
    """The numbers that learn, in one matrix and in all."""
    total, biases = everything(), sum(w.size for name, w in weights().items() if name.endswith(".bias"))

    def row(name: str, one: str, n: int) -> tuple[object, ...]:
        return name, one, f"{n:,}", f"{100 * n / total:.2f}%"

    return claims.table(
        ("what learns", "in one matrix W₀", "in the whole translator", "share"),
        row("all weights", f"d · k = {d * d:,}", total),
        row(f"LoRA, r = {r}", f"r · (d + k) = {r * (d + d):,}", learning(r)),
        row("BitFit", "none: it has no bias", biases),
    )


def check(page: Page) -> Statements:
    yield claims.segmented("Attention", ATTENTIONS, page.choice("of", ATTENTIONS, ATTENTIONS[2]))
    yield claims.segmented("Layer", [1, 2, 3], page.choice("at", ["1", "2", "3"], "1"))
    yield claims.segmented("Matrix", ["W^Q", "W^V"], page.choice("matrix", ["W^Q", "W^V"], "W^Q"))
    yield claims.segmented("What to work out", INSIDE, page.choice("inside", INSIDE, "BAx"))
    yield from prose("first press start in")


def do(page: Page) -> Statements:
    trial = yield from common.choose(page, "Try", "trial", TRIALS)
    if trial == TRIALS[0]:
        yield from prose("how many directions does")
    elif trial == TRIALS[1]:
        yield from prose("does the merged matrix")
    else:
        yield from prose("bitfit only the biases" if trial == TRIALS[2] else "catastrophic forgetting what does")
        yield claims.button("Train")
        yield note()


def predict(page: Page) -> Statements:
    d, total = config()["d_model"], everything()
    n, every = f"{4 * (d + d):,}", f"{d * d:,}"
    yield prose.question("a matrix w has", 1, d, n, options=(str(4 * 4), n, every))
    yield prose.question("b starts with nothing", 0)
    yield prose.question("after the training ba", 0, f"{total:,}", f"{total + learning(4):,}")


code = code_of(
    "model/adapting/lora.py: LowRank, with_low_rank, with_merged, with_own_biases",
    "training/live/adapting.py: Adapting, batches",
)
