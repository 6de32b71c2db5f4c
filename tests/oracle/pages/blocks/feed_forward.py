"""What the lesson on the feed-forward network must show."""

import functools
import re

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import magnitude, number, rounding, visible
from tests.oracle.language.common import Choice, Shown, Statements, code_of, layer_of, read_by
from tests.oracle.language.page import READABLE, Page, chances
from tests.oracle.language.words import inline, text_of
from tests.oracle.language.words import pieces as pieces_of
from tests.oracle.passes.decode import Writer, greedy, translated
from tests.oracle.passes.forward import EOS, Array, Forward, config, weights
from tests.oracle.passes.shipped import everyday
from tests.oracle.shown.worked import writes

prose = Prose("feed_forward")

LONG = " ".join(["The animal didn't cross the street because it was too wide."] * 4)
STEPS = ("1 comes in", "2 × W₁ + b₁", "3 ReLU", "4 × W₂ + b₂")
STEP = Choice("Step", "ff_step", STEPS, STEPS[2])
WAYS = ("This unit", "The ReLU", "The whole network")
TRIALS = ("What one unit looks for", "Leave something out", "Each row by itself")
STATES = (
    {},
    {"stack": "Decoder", "layer": "1", "ff_step": STEPS[0], "cell": "2.3", "leave_out": WAYS[2], "unit": "decoder.0.7"},
    {"sentence": "Frobnicating quokkas!", "layer": "2", "ff_step": STEPS[1], "leave_out": WAYS[1], "cell": "3.2"},
    {"sentence": "Go", "stack": "Decoder", "ff_step": STEPS[3], "cell": "1.9", "leave_out": WAYS[1]},
    {"sentence": "Go", "layer": "1", "unit": "encoder.0.0", "leave_out": WAYS[2], "cell": "2.1"},
    {"sentence": LONG, "ff_step": STEPS[3], "ff_trial": TRIALS[1]},
    {"stack": "Decoder", "layer": "3", "ff_trial": TRIALS[2]},
    {"sentence": LONG, "layer": "2", "unit": "encoder.0.5"},
    {"sentence": "Go", "unit": "encoder.2.623"},
    {"unit": "encoder.2.1024", "leave_out": "", "ff_trial": "²"},
)

SHOWN = 16  # units or dimensions


def path(page: Page) -> str:
    """Of the network in the chosen layer."""
    return f"{layer_of(page).path}.feed_forward"


def shown_units(page: Page, oracle: Forward) -> list[int]:
    """Of each piece the units that fire most: about sixteen in all, none twice."""
    hidden = oracle[f"{path(page)}.hidden"][:READABLE]
    units: list[int] = []
    for row in hidden:
        best = np.argsort(-row, kind="stable")[: max(1, SHOWN // len(hidden))]
        units += [int(unit) for unit in best if row[unit] > 0 and unit not in units]
    return units


def idea(page: Page) -> Statements:
    d_model, d_ff = config()["d_model"], config()["d_ff"]
    assert d_ff == 4 * d_model
    yield from prose("attention has mixed the", d_model, f"{d_ff:,}")
    total = sum(w.size for w in weights().values())
    own = 2 * config()["n_layers"] * (2 * d_model * d_ff + d_ff + d_model)
    yield from prose(
        "the weights and what", f"{d_ff:,}", d_model, number(100 * own / total, 0), number(total / 1000000.0, 1)
    )


def shown(page: Page) -> Shown:
    at, by_unit = layer_of(page), STEP.of(page) in STEPS[1:3]
    comes_in = f"{at.path}.add_norm_{1 if at.stack == 'encoder' else 2}.output"
    names = comes_in, *(f"{path(page)}.{what}" for what in ("pre_activation", "hidden", "output"))
    return common.shown_tensor(
        page,
        names[STEP.at(page)],
        only_columns=shown_units(page, page.oracle) if by_unit else None,
        describe=f"“{{row}}”, {'unit' if by_unit else 'dimension'} {{column}}: {{value}}",
    )


def see(page: Page) -> Statements:
    hidden, step = page.oracle[f"{path(page)}.hidden"], STEP.of(page)
    (t, d_ff), d_model = hidden.shape, config()["d_model"]
    yield from common.layer_controls(page)
    yield STEP.drawn(page)
    sizes = [d_model] * (step in (STEPS[0], STEPS[3]))
    yield from common.tensor_matrix(shown(page), **prose.words(step, layer_of(page).where, *sizes))
    yield from prose("shapes in w hidden", t, d_model, d_ff)
    if step in STEPS[1:3]:
        yield from units_that_fire(page, shown(page).cell[0])


def units_that_fire(page: Page, chosen: int) -> Statements:
    hidden = page.oracle[f"{path(page)}.hidden"]
    t, d_ff = hidden.shape
    fires = [(row > 0).sum() for row in hidden]
    best = np.argsort(-hidden[chosen], kind="stable")[: min(3, fires[chosen])]
    strongest = ", ".join(f"unit {unit + 1} ({number(hidden[chosen, unit], 2)})" for unit in best)
    text, more = inline(read_by(page)[chosen].text), f" The strongest: {strongest}." * bool(strongest)
    silent = number(100 - 100 * fires[chosen] / d_ff, 1)
    yield from prose("the chosen row is", text, fires[chosen], f"{d_ff:,}", silent, more)
    texts = [piece.text for piece in read_by(page)[:READABLE]]
    yield claims.strips(texts, hidden[:READABLE], f"For each piece, how many of the {d_ff} hidden units fire")
    yield from prose("from left to right", f"{d_ff:,}")
    yield from common.numbers_of_figure(
        ("piece", "units that fire", "units that rest", "strongest unit", "its value"),
        *(
            (text, str(n), f"{number(100 - 100 * n / d_ff, 1)}%", str(row.argmax() + 1), number(row.max()))
            for text, n, row in zip(texts, fires, hidden, strict=False)
        ),
    )
    yield from common.cut_to((t, "pieces"))


# --- one unit --------------------------------------------------------------------------------------------------------


@functools.cache
def everywhere(path: str) -> tuple[list[str], Array]:
    """All pieces of the everyday sentences, or of their translations, and the hidden units (N, d_ff)."""
    texts, hidden = [], []
    for sentence in everyday():
        oracle = translated(sentence)
        texts += [piece.text for piece in pieces_of(oracle.ids[path.partition(".")[0]])]
        hidden.append(oracle[f"{path}.hidden"])
    return texts, np.concatenate(hidden)


def strongest(texts: list[str], values: Array) -> list[tuple[str, float]]:
    """The eight texts with the largest values above 0, each once."""
    largest: dict[str, float] = {}
    for text, value in zip(texts, values, strict=True):
        if value > 0:
            largest[text] = max(float(value), largest.get(text, 0.0))
    return sorted(largest.items(), key=lambda pair: -pair[1])[:8]


def offered_units(page: Page) -> tuple[list[int], int]:
    """The hidden units to choose from, and the one chosen."""
    units, at = shown_units(page, page.oracle), layer_of(page)
    asked = re.fullmatch(rf"{at.stack}\.{at.n}\.([0-9]+)", page.state.get("unit", ""))
    if not asked or int(asked[1]) >= config()["d_ff"]:
        # The one that several different pieces of the everyday sentences drive hard.
        texts, hidden = everywhere(path(page))
        fourth = {u: [0.0, *(value for _, value in strongest(texts, hidden[:, u])[3:4])][-1] for u in units}
        return units, max(units, key=fourth.__getitem__)
    chosen = int(asked[1])
    return list(dict.fromkeys([*units, chosen])), chosen


def do(page: Page) -> Statements:
    trial = yield from common.choose(page, "Try", "ff_trial", TRIALS, TRIALS["leave_out" in page.state])
    if trial == TRIALS[2]:
        yield from alone(page)
        return
    (units, unit), hidden = offered_units(page), page.oracle[f"{path(page)}.hidden"]

    def option(unit: int) -> str:
        best = int(hidden[:READABLE, unit].argmax())
        fires = hidden[best, unit] > 0
        what = f"strongest for {visible(read_by(page)[best].text)}" if fires else "rests in this sentence"
        return f"unit {unit + 1}: {what}"

    yield claims.select(f"Hidden unit of {layer_of(page).phrase}", [option(u) for u in units], option(unit))
    if trial == TRIALS[1]:
        yield from leave_out(page, unit)
        return
    texts, others = everywhere(path(page))
    sides = (
        ("In your sentence", [piece.text for piece in read_by(page)], hidden[:, unit]),
        (f"In {len(everyday())} everyday sentences", texts, others[:, unit]),
    )
    limit = max((value for _, names, values in sides for _, value in strongest(names, values)), default=1.0)
    for title, names, values in sides:
        fires, best = (values > 0).sum(), strongest(names, values)
        yield from prose("it fires for of", title, fires, len(values), ", most for" if fires else ".")
        yield claims.bars(
            [name for name, _ in best], [value for _, value in best], f"{title}: how much unit {unit + 1} fires", limit
        )
    yield from prose(
        "the same everyday sentences", ", in the model's own translation" * (layer_of(page).stack == "decoder")
    )


def left_out(page: Page, way: str, unit: int = 0) -> dict[str, tuple]:
    """The change of `Forward`."""
    return {
        WAYS[0]: {"units_off": ((path(page), unit),)},
        WAYS[1]: {"relu_off": (path(page),)},
        WAYS[2]: {"blocks_off": (path(page),)},
    }[way]


def leave_out(page: Page, unit: int) -> Statements:
    way = yield from common.choose(page, "Leave out", "leave_out", WAYS)
    at = layer_of(page)
    after, last = page.under(**left_out(page, way, unit)), writes(at.stack, at.n)
    rows = page.oracle[last], after[last]
    change = np.abs(rows[1] - rows[0]).max(0)
    dimensions = sorted(np.argsort(-change, kind="stable")[:SHOWN])
    says = {
        WAYS[0]: f"unit {unit + 1} is 0 for every piece",
        WAYS[1]: "negative units pass too",
        WAYS[2]: "the network writes 0",
    }[way]
    yield from common.before_after(
        [one[:, dimensions] for one in rows],
        ("As it is", f"After: {says}"),
        read_by(page),
        [str(d + 1) for d in dimensions],
        how_to_read=f"What {layer_of(page).phrase} passes on: the {SHOWN} dimensions that change most.",
        describe="“{row}”, dimension {column}: {value}",
        scale="signed",
        csv_name=f"output of {layer_of(page).phrase}",
    )
    yield from consequences(page, after, left_out(page, way, unit))
    if way == WAYS[0]:
        yield from prose("one unit of many")
    elif way == WAYS[1]:
        # Numbers here reach hundreds, so what 32 bits round off is larger than elsewhere.
        negative = np.median([(row < 0).sum() for row in page.oracle[f"{path(page)}.pre_activation"]])
        yield from prose("without the relu two", rounding(0.001), int(negative))
    else:
        yield from prose("the rows still run")


def consequences(page: Page, after: Forward, change: dict[str, tuple]) -> Statements:
    labels = page.oracle.labels
    one, two = page.probabilities, chances(after)
    yield from prose("the probability of each")
    yield from common.pieces_before_after(page, one, two, ("as it is", "after"))
    most = len(labels) + 5
    anew = greedy(Writer(page.sentence, **change), most=most)
    counts = (two < one - 0.005).sum(), len(labels), (two > one + 0.005).sum()
    texts = (inline(text or "(nothing)") for text in (page.translation, text_of(anew)))
    cut = f" (cut after {most} pieces)" * (anew[-1] != EOS)
    yield from prose("the probability falls for", *counts, number(one.mean()), number(two.mean()), *texts, cut)


# --- rows alone ------------------------------------------------------------------------------------------------------


def moved_alone(page: Page) -> float:
    """What self-attention writes for a row alone looks at nothing but itself: its own value. The largest difference."""
    attention = path(page).replace("feed_forward", "self_attn")
    own = np.concatenate(list(page.oracle[f"{attention}.v"]), axis=1) @ weights()[f"{attention}.w_o.weight"].T
    return float(np.abs(own - page.oracle[f"{attention}.output"]).max())


def alone(page: Page) -> Statements:
    yield from prose("take every row out")
    yield claims.table(
        ("each row alone, against the same row in its sentence", "largest difference of a number"),
        ("feed-forward network", rounding()),
        ("self-attention", magnitude(moved_alone(page))),
    )
    yield from prose("for the network no")


# --- questions -------------------------------------------------------------------------------------------------------


def predict(page: Page) -> Statements:
    yield how_many_fire(page)
    yield prose.question("take one row out", 0, layer_of(page).phrase, rounding(), magnitude(moved_alone(page)))
    yield what_hurts_more(page)


def how_many_fire(page: Page) -> claims.Question:
    row, d_ff = min(1, len(read_by(page)) - 1), config()["d_ff"]
    n = (page.oracle[f"{path(page)}.hidden"][row] > 0).sum()
    right = 0 if n < d_ff / 10 else 1 if n <= d_ff / 2 else 2
    values = f"{d_ff:,}", layer_of(page).phrase, inline(read_by(page)[row].text), row + 1
    shares = n, number(100 - 100 * n / d_ff, 1), f"{d_ff / 10:,.0f}", f"{d_ff / 2:,.0f}"
    return prose.question("of the hidden units", right, *values, *shares)


def what_hurts_more(page: Page) -> claims.Question:
    linear, off = (chances(page.under(**left_out(page, way))).mean() for way in WAYS[1:])
    right = 2 if abs(off - linear) < 0.02 else 0 if linear < off else 1
    shares = [number(one) for one in (page.probabilities.mean(), linear, off)]
    apart = number(abs(off - linear), 2)
    return prose.question("what makes your translation", right, layer_of(page).phrase, number(0.02, 2), *shares, apart)


code = code_of("model/parts/feed_forward.py: FeedForward", "experiments/blocks/position_wise.py: each_row_alone")
