"""What the lesson on LoRA and BitFit must show before a training. What it shows then depends on the training:
tests/pages/test_lora_and_bitfit.py."""

import re

from tests.oracle import claims
from tests.oracle.common import Statements, code_part
from tests.oracle.forward import config, weights
from tests.oracle.page import Page
from tests.oracle.pages.train_it_yourself import note
from tests.oracle.statement import Statement

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
    yield claims.markdown(
        "A trained model is to learn something new: here, another style of German. Must all of its "
        f"{everything() / 1e6:.1f} million numbers change? **LoRA** (*low-rank adaptation*) leaves a trained matrix W₀ as it "
        "is. Beside it, two thin matrices A and B learn:"
    )
    yield claims.latex(r"h=W_0x+\frac{\alpha}{r}\,BAx")
    yield claims.markdown(
        "**BitFit** leaves all matrices alone. Only the *biases* learn, the numbers that a layer adds last."
    )
    yield claims.fold("What the letters mean, and where it comes from")
    yield claims.markdown(
        "W₀ has d rows and k columns. A has r rows and k columns, B has d rows and r columns. So BA is as large as W₀, but "
        "its *rank* is at most r: it has at most r independent rows. A starts with random numbers, B with 0. So at the "
        "start nothing has changed. α is fixed, here 16. Here every attention has A and B beside W^Q and W^V."
    )
    yield claims.markdown(
        "LoRA: [Hu et al. 2021](https://arxiv.org/abs/2106.09685). BitFit: [Ben Zaken et al. "
        "2021](https://arxiv.org/abs/2106.10199)."
    )


def picture(d: int, r: int) -> Statement:
    """Three boxes to scale, W₀ eight high and eight wide."""

    def box(name: str, rows: int, columns: int, colour: str) -> str:
        return (
            f'<span><i style="display:block;width:{8 * columns / d:.3f}rem;height:{8 * rows / d:.3f}rem;'
            f'min-width:1px;min-height:1px;background:{colour}"></i>{name}<br><small>{rows} × {columns}</small></span>'
        )

    learns = "var(--tw-query)"
    return Statement(
        "html",
        f'<figure role="img" aria-label="Drawn to scale: W₀ has {d} rows and {d} columns, B {d} and {r}, A {r} and {d}. W₀ '
        'is grey: it does not learn." style="margin:0;display:flex;gap:.5rem;white-space:nowrap">'
        f"{box('W₀', d, d, 'var(--tw-line)')}<b>+</b>{box('B', d, r, learns)}<b>·</b>{box('A', r, d, learns)}"
        "</figure>",
    )


def see(page: Page) -> Statements:
    style, d = page.choice("style", STYLES, STYLES[0]), config()["d_model"]
    typed, r = page.state.get("rank", "4"), rank(page)
    yield claims.segmented("Style", STYLES, style)
    yield claims.text_box("Rank r", typed)
    yield claims.markdown("**How many numbers must learn, and what do they change?**")
    if r:
        yield picture(d, r)
        yield counts(d, r)
        yield claims.button("Start")
        yield note()
    elif not typed.isdigit():
        yield claims.info("A rank is a whole number: write one from 1 to 16.")
    elif typed == "0":
        yield claims.info("With rank 0, A and B hold no numbers, so nothing could be learned: take 1 or more.")
    elif int(typed) > d:
        yield claims.info(f"A matrix of {d} rows and {d} columns has rank {d} at most: write a number from 1 to 16.")
    else:
        yield claims.info(f"Rank {typed} could be learned, but not here: write a whole number from 1 to 16.")
    yield claims.fold("What it learns from, and what is measured")
    # 32 phrases and a quarter of 12 verbs with 8 things in 7 frames; or 4 of the phrases and all of one frame, but for
    # one sentence that is held out.
    formal = 32 + 12 * 8 * 7 // 4, "*Are you happy?* → *Sind Sie glücklich?*"
    n, pair = formal if style == STYLES[0] else (4 + 12 * 8 - 1, "*She is my friend.* → *SIE IST MEINE FREUNDIN.*")
    yield claims.markdown(
        f"It learns from {n} sentence pairs, 16 in each of 40 steps, like {pair} The **loss** is that of 16 *held-out* "
        "sentences: it is measured on them and never learns from them. Formal German says *Sie* to somebody, and informal "
        "German says *du*. Another good translation than ours does not count as word for word."
    )


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
    yield claims.caption(
        "First press *Start* in See. After the training, you can work out here what A and B make of your sentence."
    )


def do(page: Page) -> Statements:
    trial = page.choice("trial", TRIALS, TRIALS[0])
    yield claims.segmented("Try", TRIALS, trial)
    if trial == TRIALS[0]:
        yield claims.markdown("**How many directions does the change have?**")
        yield claims.caption(
            "First press *Start* in See. Then you see here what was learned for the matrix that you choose in Check."
        )
    elif trial == TRIALS[1]:
        yield claims.markdown("**Does the merged matrix write the same?**")
        yield claims.caption(
            "First press *Start* in See. Then you can add here what was learned to the matrices themselves."
        )
    else:
        yield claims.markdown("**BitFit: only the biases learn**")
        yield claims.markdown(
            "The same sentences and as many steps. This translator has biases in its feed-forward networks and its norms "
            "only. Its attention has none."
        )
        yield claims.button("Train")
        yield note()


def predict(page: Page) -> Statements:
    d, total = config()["d_model"], everything()
    yield claims.question(
        f"A matrix W₀ has {d} rows and {d} columns. LoRA with r = 4 puts A and B beside it. How many numbers learn?",
        (str(4 * 4), f"{4 * (d + d):,}", f"{d * d:,}"),
        1,
        f"A has 4 · {d} numbers and B has {d} · 4: {4 * (d + d):,} together.",
        {
            0: f"A and B are thin, not small: each has one side of {d}.",
            2: "That is how many W₀ has. It does not learn.",
        },
    )
    yield claims.question(
        "B starts with nothing but 0. Before the first step, how does the translator with A and B write?",
        ("as before", "at random", "not at all"),
        0,
        "0 times Ax is 0, so W₀x stays as it was.",
        {1: "A is random, but B makes 0 of whatever A gives.", 2: "BAx is 0, but W₀x is still there."},
    )
    yield claims.question(
        "After the training, BA is multiplied out and added to W₀. How many numbers does the translator then have?",
        (f"{total:,}, as before", f"{total + learning(4):,}, with A and B on top"),
        0,
        "BA is as large as W₀. Their sum is one matrix of the same size.",
        {1: "That is so while A and B stand beside W₀. In the sum they take no room of their own."},
    )


def code(page: Page) -> Statements:
    names = "LowRank", "with_low_rank", "with_merged", "with_own_biases"
    yield from code_part(
        *(("model/adapting/lora.py", name) for name in names),
        *(("training/live/adapting.py", name) for name in ("Adapting", "batches")),
    )
