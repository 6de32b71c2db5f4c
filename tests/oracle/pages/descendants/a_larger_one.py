"""What the lesson on scale must show."""

import functools
import json
import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, number
from tests.oracle.language.common import Choice, Shown, Statements
from tests.oracle.language.page import READABLE, Page
from tests.oracle.passes import shipped
from tests.oracle.passes.family.language_models import Gpt, Text, most_pieces, tokenizer
from tests.oracle.passes.forward import EOS, Array, softmax
from tests.oracle.shown.snapshots import loss  # noqa: F401 - its rule works out a loss

prose = Prose("a_larger_one")

VOCABULARY = 8000
NAMES, ROOM = ("gpt-16", "gpt-32", "gpt-64", "gpt-mini"), 10
SIZES = {name: shipped.n_parameters(name) for name in NAMES}
LOSSES = {name: shipped.metrics(name)["training"]["validation_loss"] for name in NAMES}


def millions(n: float) -> str:
    """With two digits that count, or all before the point."""
    if n >= 1e9:
        return f"{n / 1e9:.1f} billion"
    digits = max(0, 1 - math.floor(math.log10(n / 1e6)))
    return f"{n / 1e6:,.{digits}f} M"


STOPS = {millions(n): name for name, n in SIZES.items()}
SIZE = Choice("Whose losses", "size", tuple(STOPS), [*STOPS][-1])
TRIAL = Choice("Try", "larger_trial", ("Draw the line on", "A task told in the text"))
LONG = "The man who told me that he had lost his umbrella there forgot it again, because it never rained. " * 5
STATES = (
    {"sentence": "The boy sees the girl.", "size": next(iter(STOPS)), "stop": "1"},
    {"larger_trial": TRIAL.options[1], "shots": "2", "size": [*STOPS][1], "cell": "2.1"},
    {"sentence": LONG, "larger_trial": TRIAL.options[1], "shots": "4", "stop": "2"},
    {"sentence": "Entschuldigung " * 60},
    {"sentence": "Go", "size": [*STOPS][2], "larger_trial": TRIAL.options[1]},
)
EXAMPLES = (
    "A warm and funny film with a clever story. This is good.",
    "It is dull from the first scene to the last. This is bad.",
    "The actors are wonderful, and so is the music. This is good.",
    "A waste of time, with a plot that makes no sense. This is bad.",
)


class Line:
    """Through the logarithms of sizes and losses, by least squares."""

    def __init__(self, *names: str, without: Sequence[int] = (0, 0, 0, 0)) -> None:
        x = np.log([SIZES[name] - less for name, less in zip(names, without, strict=False)])
        y = np.log([LOSSES[name] for name in names])
        x_off, y_off = x - x.mean(), y - y.mean()
        self.slope = (x_off * y_off).sum() / (x_off**2).sum()
        self.start = y.mean() - self.slope * x.mean()
        self.fit = (x_off * y_off).sum() ** 2 / ((x_off**2).sum() * (y_off**2).sum())

    def at(self, n: float) -> float:
        return float(math.exp(self.start) * n**self.slope)


ALL, SMALLER = Line(*NAMES), Line(*NAMES[:-1])


@functools.lru_cache(64)
def reading(ids: tuple[int, ...], name: str) -> Gpt:
    return Gpt([*ids, EOS], name)


def costs(page: Page, name: str) -> Array:
    return np.asarray(reading(Text(page).ids, name)["losses"][:-1, 0])


def scene(page: Page) -> Statements:
    text = Text(page)
    said = f" {prose.line('room', ROOM)}" * (len(text.ids) > ROOM)
    frames = [scene_frame(page, stop, name) for stop, name in STOPS.items()]
    caption = prose.line("a larger one four", said)
    yield from screen.scene(page, caption, "Numbers in the model", frames, len(NAMES) - 1, plays=True)


def scene_frame(page: Page, stop: str, name: str) -> screen.Panel:
    text, last = Text(page), NAMES[-1]
    ends = math.log10(SIZES[NAMES[0]]) - 0.2, math.log10(SIZES[last]) + 0.2
    dots = [(math.log10(SIZES[one]), math.log10(LOSSES[one])) for one in NAMES]
    heights = [math.log10(SMALLER.at(10**x)) for x in ends]
    places = [(math.log10(n), millions(n)) for n in SIZES.values()]
    beside = [(y, number(10**y, 2)) for y in (dots[0][1], dots[-1][1])]
    drawn = screen.curve(
        [screen.line("foretold", [*zip(ends, heights, strict=True)], "key", True)],
        ("numbers in the model", *ends, places),
        ("loss", heights[1] - 0.02, heights[0] + 0.02, beside),
        "Loss on unseen texts; axes: logarithms",
        knob=dots[NAMES.index(name)],
        dots=dots,
    )
    p = np.exp(-costs(page, name))[:ROOM]
    cards = [screen.card(piece, "", chance(one), one) for piece, one in zip(text.names, p, strict=False)]
    values = number(LOSSES[name], 2), f"{math.exp(LOSSES[name]):.0f}", number(costs(page, name).mean(), 2)
    says = prose.line("with numbers its loss", stop, *values)
    if name == last:
        says += f" {prose.line('foretold', number(SMALLER.at(SIZES[last]), 2))}"
    return screen.frame(stop, says, [drawn], [screen.cards([screen.row(cards, "your sentence", "output")])])


def idea(page: Page) -> Statements:
    widths = ", ".join(f"{shipped.config(name)['d_model']} ({millions(n)})" for name, n in SIZES.items())
    steps = shipped.metrics(NAMES[-1])["training"]["steps"]
    told = number(SMALLER.at(SIZES[NAMES[-1]]), 2), number(LOSSES[NAMES[-1]], 2)
    yield from prose("what does a model", *told, number(-ALL.slope, 3), number(ALL.fit, 3), widths, f"{steps:,}")


def shown(page: Page) -> Shown:
    text = Text(page)
    rows = range(min(READABLE, len(text.ids)))
    return common.shown_tensor(
        page,
        "losses",
        rows=[text.names[n] for n in rows],
        columns=["loss"],
        only_rows=list(rows),
        only_columns=[0],
        oracle=reading(text.ids, STOPS[SIZE.of(page)]),  # type: ignore[arg-type]
        scale="positive",
        limit=10,
        digits=4,
    )


def see(page: Page) -> Statements:
    yield SIZE.drawn(page)
    text = Text(page)
    if text.n_cut:
        yield from prose("this gpt reads at", most_pieces(), text.n_cut)
    yield from prose("what does each size")
    yield claims.table([*STOPS], [number(costs(page, name).mean(), 2) for name in NAMES])
    yield from prose("the line is about")
    yield from common.tensor_matrix(shown(page), **prose.words("matrix", SIZE.of(page)))


def foretell(page: Page) -> Statements:
    yield from prose("how good would a")
    largest, last = SIZES[NAMES[-1]], NAMES[-1]
    further = [times * largest for times in (10, 100, 1000)]
    ends = math.log10(SIZES[NAMES[0]]), math.log10(further[-1]) + 0.4
    x, y = (np.log10([*of.values()]) for of in (SIZES, LOSSES))
    heights = np.log10([ALL.at(10**one) for one in ends])
    lines = [
        claims.Line("the line through all four", np.array(ends), heights, claims.GREY, dashed=True),
        claims.Line("measured", x, y, claims.BLUE, dotted=True),
    ]
    below = [(math.log10(n), millions(n)) for n in (*SIZES.values(), *further)]
    beside = [(math.log10(y), number(y, 2)) for y in (LOSSES[NAMES[0]], LOSSES[last], ALL.at(further[-1]))]
    axes = (
        claims.Axis("numbers in the model, as logarithms", *ends, below),
        claims.Axis("loss, in nats a piece", heights[1], y[0], beside),
    )
    yield claims.curves(lines, *axes, alt="Loss against size, measured and foretold, both on axes of logarithms")
    rows = [(millions(n), number(LOSSES[name], 2), number(ALL.at(n), 2)) for name, n in SIZES.items()]
    rows += [(millions(n), "–", number(ALL.at(n), 2)) for n in further]
    yield claims.table("numbers | measured loss | on the line", *rows)
    told = SMALLER.at(largest)
    off = told / LOSSES[last] - 1
    values = number(told, 2), number(LOSSES[last], 2), number(abs(100 * off), 1), "high" if off > 0 else "low"
    tables = [VOCABULARY * shipped.config(name)["d_model"] for name in NAMES]
    shares = (number(100 * tables[n] / SIZES[NAMES[n]], 0) for n in (0, -1))
    bare = Line(*NAMES, without=tables)
    yield from prose("one test of the", *values, *shares, number(-bare.slope, 3))


def share(pair: list[float]) -> str:
    return " ± ".join(number(100 * one, 1) for one in pair)


def few_shot(page: Page) -> Statements:
    yield from prose("a task told in")
    n = page.count("shots", 4, 0)
    yield claims.slider("Examples before it", 0, 4, n)
    end = "" if page.text.rstrip()[-1] in ".!?" else "."
    asked = " ".join([*EXAMPLES[:n], f"{page.text}{end} This is"])
    yield claims.Statement("code", asked)
    ids = tokenizer().encode(asked, add_special_tokens=False).ids
    if (left_out := len(ids) - most_pieces()) > 0:
        yield from prose("they read the last", most_pieces(), left_out)
    ids = ids[-most_pieces() :]
    words = [tokenizer().encode(word, add_special_tokens=False).ids[0] for word in ("good", "bad")]
    rows = []
    for stop, name in STOPS.items():
        good, bad = softmax(Gpt([*ids, EOS], name).logits[-1])[words]
        rows.append((stop, chance(good), chance(bad), "good" if good > bad else "bad"))
    yield claims.table("numbers | P(good) | P(bad) | so it says", *rows)
    found = json.loads((shipped.MODELS.parent / "labelled" / "sizes.json").read_text())
    counts = [str(k) for k in range(5)]
    least = min(found["models"][name][k]["says_good"] for name in NAMES for k in counts)
    said = "all" if least == 1 else f"at least {number(100 * least, 1)}%"
    yield from prose("is it right we", found["texts"], number(100 * found["good"], 1), said)
    lines = [
        (stop, *(share(found["models"][name][k]["against_the_middle"]) for k in counts)) for stop, name in STOPS.items()
    ]
    yield claims.table("numbers | 0 examples | 1 example | 2 examples | 3 examples | 4 examples", *lines)
    rows_of = [[found["models"][name][k]["against_the_middle"] for k in counts] for name in NAMES]
    gains = [(p - q) / math.sqrt(e**2 + f**2) for (q, f), *more in rows_of for p, e in more]
    yield from prose("with the standard error", "one of them" if max(gains) > 2 else "none of them")


def predict(page: Page) -> Statements:
    largest, left = SIZES[NAMES[-1]], 10**ALL.slope
    values = (
        millions(largest),
        number(100 - 100 * left, 0),
        number(ALL.slope, 3),
        number(left, 3),
        number(-ALL.slope, 3),
    )
    yield prose.question("the largest here has", 2, *values)
    means = [costs(page, name).mean() for name in NAMES]
    falls = all(a > b for a, b in pairwise(means))
    wrong = {int(falls): prose.line("compare neighbours" if falls else "on yours")}
    yield prose.question("is each larger one", int(not falls), ", ".join(number(one, 2) for one in means), wrong=wrong)


do = TRIAL.trials(foretell, few_shot)
code = common.code_of("experiments/family/scaling.py: power_law, verdict_chances")
