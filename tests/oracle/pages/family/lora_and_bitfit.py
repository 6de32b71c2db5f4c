"""What the lesson on LoRA and BitFit must show before a training. What it shows then depends on the training:
tests/pages/family/test_lora_and_bitfit.py."""

import re

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.common import Statements, code_of
from tests.oracle.language.page import Page
from tests.oracle.language.statement import Statement
from tests.oracle.pages.training.train_it_yourself import note
from tests.oracle.passes.forward import config, weights

prose = Prose("lora_and_bitfit")

STYLES = ["formal: Sie", "in CAPITALS"]
ATTENTIONS = ["Encoder", "Masked decoder", "Encoder-decoder"]
INSIDE = ["Ax", "BAx", "W₀x + (α/r)BAx"]
TRIALS = ["Its rank", "Merge it", "BitFit"]
STATES = (
    {},
    {
        "style": "in CAPITALS",
        "rank": "16",
        "of": "Encoder",
        "at": "3",
        "matrix": "W^V",
        "inside": "Ax",
        "trial": TRIALS[1],
    },
    {"rank": "1", "trial": "BitFit", "sentence": "Are you happy?"},
    {"rank": "257", "of": "Masked decoder", "inside": INSIDE[2], "style": "none", "trial": "none"},
    {"rank": "four <b>", "at": "4", "matrix": "W^K"},
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


def idea(page: Page) -> Statements:
    yield from prose("a trained model is", f"{everything() / 1000000.0:.1f}")


def picture(d: int, r: int) -> Statement:
    """Three boxes to scale, W₀ eight high and eight wide."""

    def box(name: str, rows: int, columns: int, colour: str) -> str:
        return prose.line(
            "span i style display", f"{8 * columns / d:.3f}", f"{8 * rows / d:.3f}", colour, name, rows, columns
        )

    learns = "var(--tw-query)"
    return Statement(
        "html",
        prose.line(
            "figure role img aria-label",
            d,
            r,
            box("W₀", d, d, "var(--tw-line)"),
            box("B", d, r, learns),
            box("A", r, d, learns),
        ),
    )


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
    # 32 phrases and a quarter of 12 verbs with 8 things in 7 frames; or 4 of the phrases and all of one frame, but for
    # one sentence that is held out.
    formal = 32 + 12 * 8 * 7 // 4, "*Are you happy?* → *Sind Sie glücklich?*"
    n, pair = formal if style == STYLES[0] else (4 + 12 * 8 - 1, "*She is my friend.* → *SIE IST MEINE FREUNDIN.*")
    yield from prose("it learns from sentence", n, pair)


def counts(d: int, r: int) -> Statement:
    """The numbers that learn, in one matrix and in all."""
    total, biases = everything(), sum(w.size for name, w in weights().items() if name.endswith(".bias"))

    def row(name: str, one: str, n: int) -> tuple[object, ...]:
        return name, one, f"{n:,}", f"{100 * n / total:.2f}%"

    return claims.table(
        ("what learns", "in one matrix W₀", "in the whole translator", "share"),
        row("all its numbers", f"d · k = {d * d:,}", total),
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
        yield from prose("bitfit only the biases")
        yield claims.button("Train")
        yield note()


def predict(page: Page) -> Statements:
    d, total = config()["d_model"], everything()
    yield prose.question(
        "a matrix w has", 1, d, f"{4 * (d + d):,}", options=(str(4 * 4), f"{4 * (d + d):,}", f"{d * d:,}")
    )
    yield prose.question("b starts with nothing", 0)
    yield prose.question("after the training ba", 0, f"{total:,}", f"{total + learning(4):,}")


code = code_of(
    "model/adapting/lora.py: LowRank, with_low_rank, with_merged, with_own_biases",
    "training/live/adapting.py: Adapting, batches",
)
