"""What the lesson on the feed-forward network must show."""

import functools
import json
import re

import numpy as np

from tests.oracle.claims import (
    Question,
    Series,
    bars,
    caption,
    columns,
    fold,
    latex,
    magnitude,
    markdown,
    matrix,
    number,
    question,
    rounding,
    segmented,
    select,
    strips,
    table,
    visible,
)
from tests.oracle.common import (
    Shown,
    Statements,
    check_cell,
    code_part,
    numbers_of_figure,
    shown_tensor,
    tensor_matrix,
)  # fmt: skip
from tests.oracle.decode import Writer, greedy, translated
from tests.oracle.forward import EOS, FOLDER, Array, Forward, config, softmax, weights
from tests.oracle.page import READABLE, Page
from tests.oracle.words import Piece, inline, text_of
from tests.oracle.words import pieces as pieces_of
from tests.oracle.worked import writes

LONG = " ".join(["The animal didn't cross the street because it was too wide."] * 4)
STEPS = ("1 comes in", "2 × W₁ + b₁", "3 ReLU", "4 × W₂ + b₂")
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
)
SHOWN = 16  # units or dimensions


def place(page: Page) -> tuple[str, int]:
    """Stack and layer, from 0."""
    n_layers = config()["n_layers"]
    stack = page.choice("stack", ("Encoder", "Decoder"), "Encoder").lower()
    return stack, page.count("layer", n_layers, n_layers) - 1


def path(page: Page) -> str:
    return "{}.layers.{}.feed_forward".format(*place(page))


def phrase(page: Page) -> str:
    stack, layer = place(page)
    return f"layer {layer + 1} of the {stack}"


def pieces(page: Page) -> tuple[Piece, ...]:
    return page.src if place(page)[0] == "encoder" else page.tgt


def idea(page: Page) -> Statements:
    d_model, d_ff = config()["d_model"], config()["d_ff"]
    assert d_ff == 4 * d_model
    yield markdown(
        "Attention has mixed the pieces. Now a small network works on **each piece by itself**. It widens the piece's "
        f"vector x from {d_model} numbers to {d_ff:,} **hidden units**, sets the negative ones to 0 (the "
        f"**ReLU**), and narrows the rest to {d_model} numbers again."
    )
    yield latex(r"\operatorname{FFN}(x)=\operatorname{ReLU}(xW_1+b_1)\,W_2+b_2")
    total = sum(w.size for w in weights().values())
    own = 2 * config()["n_layers"] * (2 * d_model * d_ff + d_ff + d_model)
    yield fold("The weights, and what is special about the ReLU")
    yield markdown(
        "The weights W₁, b₁, W₂ and b₂ are the same at every position; each layer has its own. There are d_ff = "
        f"{d_ff:,} hidden units, four times d_model = {d_model}. The networks hold "
        f"**{number(100 * own / total, 0)}%** of all {number(total / 1e6, 1)} million parameters, the numbers that the "
        "model has learned."
    )
    yield latex(r"\operatorname{ReLU}(z)=\max(0,z)")
    yield markdown(
        "The ReLU is the only place in the model where a single number is changed by a rule that is no straight line; "
        "softmax and norm treat a row as a whole."
    )


def shown_units(page: Page) -> list[int]:
    """Of each piece the units that fire most: about sixteen in all, none twice."""
    hidden = page.oracle[f"{path(page)}.hidden"][:READABLE]
    units: list[int] = []
    for row in hidden:
        best = np.argsort(-row, kind="stable")[: max(1, SHOWN // len(hidden))]
        units += [int(unit) for unit in best if row[unit] > 0 and unit not in units]
    return units


def step(page: Page) -> str:
    return page.choice("ff_step", STEPS, STEPS[2])


def shown(page: Page) -> Shown:
    stack, layer = place(page)
    by_unit = step(page) in STEPS[1:3]
    comes_in = f"{stack}.layers.{layer}.add_norm_{1 if stack == 'encoder' else 2}.output"
    name = dict(
        zip(
            STEPS, (comes_in, *(f"{path(page)}.{what}" for what in ("pre_activation", "hidden", "output"))), strict=True
        )
    )[step(page)]
    return shown_tensor(
        page,
        name,
        only_columns=shown_units(page) if by_unit else None,
        describe=f"“{{row}}”, {'unit' if by_unit else 'dimension'} {{column}}: {{value}}",
    )


def see(page: Page) -> Statements:
    (stack, layer), hidden = place(page), page.oracle[f"{path(page)}.hidden"]
    (t, d_ff), d_model = hidden.shape, config()["d_model"]
    yield segmented("Stack", ("Encoder", "Decoder"), stack.capitalize())
    yield segmented("Layer", range(1, config()["n_layers"] + 1), layer + 1)
    yield segmented("Step", STEPS, step(page))
    title, how_to_read = {
        STEPS[0]: ("What comes in", f"The rows that the Add & Norm before it returns, {d_model} dimensions."),
        STEPS[1]: ("Before the ReLU", "For each piece the units that it drives most; a column is one unit."),
        STEPS[2]: ("After the ReLU", "The same units: what was negative is 0 now. Those units rest."),
        STEPS[3]: (
            "What goes out",
            f"{d_model} dimensions again; Add & Norm adds these rows to those that came in.",
        ),
    }[step(page)]
    yield from tensor_matrix(shown(page), title=f"{title} ({stack}, layer {layer + 1})", how_to_read=how_to_read)
    yield caption(
        f"Shapes: in ({t}, {d_model}), W₁ ({d_model}, {d_ff}), hidden ({t}, {d_ff}), W₂ ({d_ff}, {d_model}), out "
        f"({t}, {d_model})."
    )
    if step(page) in STEPS[1:3]:
        yield from units_that_fire(page, shown(page).cell[0])


def units_that_fire(page: Page, chosen: int) -> Statements:
    hidden = page.oracle[f"{path(page)}.hidden"]
    t, d_ff = hidden.shape
    fires = [(row > 0).sum() for row in hidden]
    best = np.argsort(-hidden[chosen], kind="stable")[: min(3, fires[chosen])]
    strongest = ", ".join(f"unit {unit + 1} ({number(hidden[chosen, unit], 2)})" for unit in best)
    yield markdown(
        f"The chosen row is **{inline(pieces(page)[chosen].text)}**: {fires[chosen]} of {d_ff:,} units fire, "
        f"{number(100 - 100 * fires[chosen] / d_ff, 1)}% rest." + f" The strongest: {strongest}." * bool(strongest)
    )
    yield markdown(f"**All {d_ff:,} units at once: a tick for each that fires**")
    texts = [piece.text for piece in pieces(page)[:READABLE]]
    yield strips(texts, hidden[:READABLE], f"For each piece, how many of the {d_ff} hidden units fire")
    yield caption(f"From left to right units 1 to {d_ff:,}; the fainter, the weaker. On the right: how many fire.")
    yield from numbers_of_figure(
        ("piece", "units that fire", "units that rest", "strongest unit", "its value"),
        *(
            (text, str(n), f"{number(100 - 100 * n / d_ff, 1)}%", str(row.argmax() + 1), number(row.max()))
            for text, n, row in zip(texts, fires, hidden, strict=False)
        ),
    )
    if t > READABLE:
        yield caption(f"Shown: the first {READABLE} of {t} pieces.")


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


# --- one unit --------------------------------------------------------------------------------------------------------


@functools.cache
def everyday() -> tuple[str, ...]:
    return tuple(json.loads((FOLDER / "about.json").read_text())["everyday"])


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
    units, (stack, layer) = shown_units(page), place(page)
    asked = re.fullmatch(rf"{stack}\.{layer}\.(\d+)", page.state.get("unit", ""))
    if not asked:
        # The one that several different pieces of the everyday sentences drive hard.
        texts, hidden = everywhere(path(page))
        fourth = {u: [0.0, *(value for _, value in strongest(texts, hidden[:, u])[3:4])][-1] for u in units}
        return units, max(units, key=fourth.__getitem__)
    chosen = int(asked[1])
    return list(dict.fromkeys([*units, chosen])), chosen


def do(page: Page) -> Statements:
    trial = page.choice("ff_trial", TRIALS, TRIALS["leave_out" in page.state])
    yield segmented("Try", TRIALS, trial)
    if trial == TRIALS[2]:
        yield from alone(page)
        return
    (units, unit), hidden = offered_units(page), page.oracle[f"{path(page)}.hidden"]

    def option(unit: int) -> str:
        best = int(hidden[:READABLE, unit].argmax())
        fires = hidden[best, unit] > 0
        what = f"strongest for {visible(pieces(page)[best].text)}" if fires else "rests in this sentence"
        return f"unit {unit + 1}: {what}"

    yield select(f"Hidden unit of {phrase(page)}", [option(u) for u in units], option(unit))
    if trial == TRIALS[1]:
        yield from leave_out(page, unit)
        return
    texts, others = everywhere(path(page))
    sides = (
        ("In your sentence", [piece.text for piece in pieces(page)], hidden[:, unit]),
        (f"In {len(everyday())} everyday sentences", texts, others[:, unit]),
    )
    limit = max((value for _, names, values in sides for _, value in strongest(names, values)), default=1.0)
    for title, names, values in sides:
        fires, best = (values > 0).sum(), strongest(names, values)
        yield markdown(f"**{title}** it fires for {fires} of {len(values)} pieces" + (", most for" if fires else "."))
        yield bars(
            [name for name, _ in best],
            [value for _, value in best],
            f"{title}: how much unit {unit + 1} fires",
            limit,
        )
    yield caption(
        "The same everyday sentences for every visitor"
        + ", in the model's own translation" * (place(page)[0] == "decoder")
        + ". A piece that occurs several times is listed once, with its largest value. Some units have a clear taste "
        "(verbs, full stops, one word), many have none that one could name."
    )


def left_out(page: Page, way: str, unit: int = 0) -> dict[str, tuple]:
    """The change of `Forward`."""
    return {
        WAYS[0]: {"units_off": ((path(page), unit),)},
        WAYS[1]: {"relu_off": (path(page),)},
        WAYS[2]: {"blocks_off": (path(page),)},
    }[way]


def leave_out(page: Page, unit: int) -> Statements:
    way = page.choice("leave_out", WAYS, WAYS[0])
    yield segmented("Leave out", WAYS, way)
    after, last = page.under(**left_out(page, way, unit)), writes(*place(page))
    rows = page.oracle[last], after[last]
    change = np.abs(rows[1] - rows[0]).max(0)
    dimensions = sorted(np.argsort(-change, kind="stable")[:SHOWN])
    says = {
        WAYS[0]: f"unit {unit + 1} is 0 for every piece",
        WAYS[1]: "negative units pass too",
        WAYS[2]: "the network writes 0",
    }[way]
    seen = [one[:READABLE, dimensions] for one in rows]
    for title, values in zip(("As it is", f"After: {says}"), seen, strict=True):
        yield matrix(
            values,
            [piece.text for piece in pieces(page)[:READABLE]],
            [str(d + 1) for d in dimensions],
            title=title,
            how_to_read=f"What {phrase(page)} passes on: the {SHOWN} dimensions that change most.",
            describe="“{row}”, dimension {column}: {value}",
            scale="signed",
            limit=max(np.abs(one).max() for one in seen),
            csv_name=f"output of {phrase(page)} {title}",
        )
    if len(rows[0]) > READABLE:
        yield caption(f"Shown: the first {READABLE} of {len(rows[0])} rows.")
    yield from consequences(page, after, left_out(page, way, unit))
    if way == WAYS[0]:
        yield caption(
            "One unit of many. In this layer only the rows for which it fires change; the other rows can change in "
            "later layers alone, where attention brings the news."
        )
    elif way == WAYS[1]:
        # Numbers here reach hundreds, so what 32 bits round off is larger than elsewhere.
        negative = np.median([(row < 0).sum() for row in page.oracle[f"{path(page)}.pre_activation"]])
        yield caption(
            "Without the ReLU two matrices in a row are just one: multiply W₁W₂ beforehand and you get the same rows "
            f"(largest difference {rounding(1e-3)}). In training W₂ met no negative unit; here it meets {int(negative)} in "
            "a typical row (the median)."
        )
    else:
        yield caption(
            "The rows still run past the network: Add & Norm adds what came in, so what attention gathered is kept."
        )


def written(oracle: Forward, labels: list[int]) -> Array:
    """The probability of each label."""
    return softmax(oracle["logits"])[np.arange(len(labels)), labels]


def consequences(page: Page, after: Forward, change: dict[str, tuple]) -> Statements:
    labels = page.oracle.labels
    one, two = page.probabilities, written(after, labels)
    yield markdown("**The probability of each piece of the translation, before and after**")
    texts = [piece.text for piece in page.labels[:READABLE]]
    yield columns(
        texts,
        [Series("as it is", one[:READABLE]), Series("after", two[:READABLE])],
        alt=f"Two bars for each of {len(texts)} pieces: its probability as it is, and after.",
        axis="probability",
        limit=1.0,
    )
    yield from numbers_of_figure(
        ("piece", "as it is", "after", "change"),
        *((text, number(a), number(b), number(b - a)) for text, a, b in zip(texts, one, two, strict=False)),
    )
    if len(labels) > READABLE:
        yield caption(f"Shown: the first {READABLE} of {len(labels)} pieces. What is said below is about all.")
    most = len(labels) + 5
    anew = greedy(Writer(page.sentence, **change), most=most)
    yield markdown(
        f"The probability falls for {(two < one - 0.005).sum()} of {len(labels)} pieces and rises for "
        f"{(two > one + 0.005).sum()}; on average it goes from **{number(one.mean())}** to **{number(two.mean())}**. "
        f"The translation was **{inline(page.translation or '(nothing)')}** "
        f"Now it is **{inline(text_of(anew) or '(nothing)')}**" + f" (cut after {most} pieces)" * (anew[-1] != EOS)
    )


# --- rows alone ------------------------------------------------------------------------------------------------------


def moved_alone(page: Page) -> float:
    """What self-attention writes for a row alone looks at nothing but itself: its own value. The largest difference."""
    attention = path(page).replace("feed_forward", "self_attn")
    own = np.concatenate(list(page.oracle[f"{attention}.v"]), axis=1) @ weights()[f"{attention}.w_o.weight"].T
    return float(np.abs(own - page.oracle[f"{attention}.output"]).max())


def alone(page: Page) -> Statements:
    yield markdown(
        "Take every row out of the sentence and send it through the network alone, as a sequence of one. Do the same "
        "with the self-attention of this layer."
    )
    yield table(
        ("each row alone, against the same row in its sentence", "largest difference of a number"),
        ("feed-forward network", rounding()),
        ("self-attention", magnitude(moved_alone(page))),
    )
    yield caption(
        "For the network no more than rounding is left: it never looks at another row, so it does not matter who "
        "stands beside it, in which order, or whether anybody does. That is what *position-wise* means. Attention is "
        "the opposite."
    )


# --- questions -------------------------------------------------------------------------------------------------------


def predict(page: Page) -> Statements:
    yield how_many_fire(page)
    yield question(
        f"Take one row out of your sentence and send it alone through the two blocks of {phrase(page)}. Which of them "
        "writes the same for it as before? (The same: no number differs by a thousandth.)",
        ("only the feed-forward network", "only self-attention", "both", "neither"),
        0,
        f"The largest difference is {rounding()} for the network and {magnitude(moved_alone(page))} for "
        "self-attention. (Some slides say that in the feed-forward network the pieces learn from each other. They do "
        "not: that is what attention is for.)",
        {
            1: "Self-attention mixes the rows of a sentence; alone there is nothing to mix.",
            2: "Self-attention mixes the rows of a sentence; alone it has only the one.",
            3: "The feed-forward network never looks at another row.",
        },
    )
    yield what_hurts_more(page)


def how_many_fire(page: Page) -> Question:
    row, d_ff = min(1, len(pieces(page)) - 1), config()["d_ff"]
    n = (page.oracle[f"{path(page)}.hidden"][row] > 0).sum()
    right = 0 if n < d_ff / 10 else 1 if n <= d_ff / 2 else 2
    wrong = (
        f"That would be fewer than {d_ff / 10:,.0f} units.",
        f"That would be at least {d_ff / 10:,.0f} units.",
        f"That would be more than {d_ff / 2:,.0f} units.",
    )
    return question(
        f"Of the {d_ff:,} hidden units of {phrase(page)}: how many fire (are above 0) for "
        f"**{inline(pieces(page)[row].text)}** (piece {row + 1})?",
        ("fewer than one in ten", "between one in ten and a half", "more than half"),
        right,
        f"It is {n} of {d_ff:,}, so {number(100 - 100 * n / d_ff, 1)}% rest.",
        {option: text for option, text in enumerate(wrong) if option != right},
    )


def what_hurts_more(page: Page) -> Question:
    labels = page.oracle.labels
    linear, off = (written(page.under(**left_out(page, way)), labels).mean() for way in WAYS[1:])
    right = 2 if abs(off - linear) < 0.02 else 0 if linear < off else 1
    wrong = (
        "Without the ReLU the translation stays likelier than without the network.",
        "Without the network the translation stays likelier than without the ReLU.",
        f"The two mean probabilities differ by {number(abs(off - linear), 2)}.",
    )
    return question(
        f"What makes your translation less likely in {phrase(page)}: to leave out the ReLU alone, or the whole "
        f"network? (The same: the mean probability of its pieces differs by less than {number(0.02, 2)}.)",
        ("the ReLU alone", "the whole network", "both about the same"),
        right,
        f"The mean probability of the translation's pieces is {number(page.probabilities.mean())} as it is, "
        f"{number(linear)} without the ReLU and {number(off)} without the network.",
        {option: text for option, text in enumerate(wrong) if option != right},
    )


def code(page: Page) -> Statements:
    yield from code_part(
        ("model/parts/feed_forward.py", "FeedForward"), ("experiments/blocks/position_wise.py", "each_row_alone")
    )
