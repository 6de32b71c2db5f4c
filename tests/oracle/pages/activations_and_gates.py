"""What the lesson on activations and gates must show."""

import numpy as np

from tests.oracle import claims
from tests.oracle.approved import Prose
from tests.oracle.claims import number
from tests.oracle.common import (
    Shown,
    Statements,
    check_cell,
    code_part,
    numbers_of_figure,
    pieces_before_after,
    shown_tensor,
    tensor_matrix,
)  # fmt: skip
from tests.oracle.forward import EOS, Array, Forward, config, softmax
from tests.oracle.network import CURVES, GATES
from tests.oracle.page import READABLE, Page
from tests.oracle.pages.feed_forward import path, phrase, pieces, place
from tests.oracle.siblings import two_siblings
from tests.oracle.variants import Variant, rewritten, slope, variant
from tests.oracle.words import inline, text_of

prose = Prose("activations_and_gates")

LONG = " ".join(["The animal didn't cross the street because it was too wide."] * 4)
KINDS = {
    "ReLU": "relu", "GELU": "gelu", "GELU (tanh)": "gelu_tanh", "Swish": "silu", "SwiGLU": "swiglu", "GEGLU": "geglu",
}  # fmt: skip
WHERE = ("all networks", "this network")
STATES = (
    {},
    {"activation": "SwiGLU", "stack": "Decoder", "layer": "1", "gate_step": "gate", "cell": "2.3"},
    {"activation": "Swish", "sentence": "Frobnicating quokkas!", "layer": "2", "exchange_in": WHERE[1], "cell": "3.2"},
    {"activation": "GELU (tanh)", "sentence": "Go", "stack": "Decoder"},
    {"activation": "ReLU", "sentence": LONG, "exchange_in": WHERE[1]},
    {"activation": "GEGLU", "gate_step": "value", "sentence": "Go"},
    {"activation": "GEGLU"},
)
SMALL, LOST, SAME = 0.01, 5, 0.02


def activation(page: Page) -> str:
    return page.choice("activation", list(KINDS), "GELU")


def named(path: str) -> str:
    return path.replace(".", "__")


def everywhere() -> list[str]:
    return [f"{stack}.layers.{n}.feed_forward" for stack in ("encoder", "decoder") for n in range(config()["n_layers"])]


def with_activation(page: Page, name: str, paths: list[str]) -> Variant:
    return variant(page, **{named(one): KINDS[name] for one in paths})


def here(page: Page) -> Variant:
    return with_activation(page, activation(page), [path(page)])


def idea(page: Page) -> Statements:
    yield from prose("between its two matrices")
    yield claims.table(
        ("Activation", "Formula", "Used by"),
        ("ReLU", r"$\max(0,z)$", "the original Transformer; this model"),
        ("GELU", r"$z\cdot\Phi(z)$", "BERT"),
        ("GELU (tanh)", r"$0.5\,z\,\bigl(1+\tanh(\sqrt{2/\pi}\,(z+0.044715\,z^3))\bigr)$", "GPT-2"),
        ("Swish (SiLU)", r"$z\,/\,(1+e^{-z})$", "as the gate of SwiGLU"),
        ("SwiGLU", r"$\operatorname{Swish}(xW_1)\odot xV$", "Llama"),
        ("GEGLU", r"$\operatorname{GELU}(xW_1)\odot xV$", "T5, version 1.1"),
    )
    yield from prose("z is the share")


def shown(page: Page) -> Shown:
    what = (
        page.choice("gate_step", ("hidden", "gate", "value"), "hidden")
        if KINDS[activation(page)] in GATES
        else "hidden"
    )
    hidden = here(page)[f"{path(page)}.hidden"][:READABLE]
    units: list[int] = []
    for row in hidden:
        best = np.argsort(-row, kind="stable")[: max(1, 16 // len(hidden))]
        units += [int(unit) for unit in best if row[unit] > 0 and unit not in units]
    values = here(page)[f"{path(page)}.{what}"][:READABLE, units]
    row, column = divmod(int(values.argmin()), len(units))
    return shown_tensor(
        page,
        f"{path(page)}.{what}",
        rows=[piece.text for piece in pieces(page)[:READABLE]],
        only_columns=units,
        start=(row, column),
        oracle=here(page),
        describe="“{row}”, unit {column}: {value}",
    )


def see(page: Page) -> Statements:
    (stack, layer), name, view = place(page), activation(page), shown(page)
    yield claims.segmented("Stack", ("Encoder", "Decoder"), stack.capitalize())
    yield claims.segmented("Layer", range(1, config()["n_layers"] + 1), layer + 1)
    yield claims.segmented("Activation", list(KINDS), name)
    gated, row, oracle = KINDS[name] in GATES, view.cell[0], here(page)
    before, after = (oracle[f"{path(page)}.{what}"][row] for what in ("pre_activation", "hidden"))
    yield from curve_with_ticks(name, before, after)
    yield from prose(
        "each orange tick is",
        f"{len(before):,}",
        phrase(page),
        inline(pieces(page)[row].text),
        "This model has learned no gate: its three matrices are drawn at random here. A tick leaves the curve, because what passes the gate is multiplied by xV."
        if gated
        else "What goes in are the translator's own numbers. Choose another row below.",
    )
    what = view.name.rpartition(".")[2]
    if gated:
        yield claims.segmented("What to work out", ("hidden", "gate", "value"), what)
    title = f"After the activation: {name}" if what == "hidden" else f"{name}: {what}"
    yield from tensor_matrix(view, title=title, how_to_read="A column is one unit.")
    own = page.oracle[f"{path(page)}.pre_activation"][row]
    outputs = {one: CURVES[kind](own) for one, kind in KINDS.items() if kind in CURVES}
    small = {one: number(100 * (abs(output) < SMALL).mean(), 1) for one, output in outputs.items()}
    yield claims.table(
        ("activation", f"units whose output is smaller than {SMALL:g} in size"),
        *((one, f"{share}%") for one, share in small.items()),
    )
    yield from prose("the translator's own numbers", number(100 * (own <= 0).mean(), 1))


def curve_with_ticks(name: str, before: Array, after: Array) -> Statements:
    kind = GATES.get(KINDS[name], KINDS[name])
    low, high = min(-4, np.floor(before.min())), max(4, np.ceil(before.max()))
    z, title = np.linspace(low, high, 201), f"{name}'s gate" if KINDS[name] in GATES else name
    values, slopes = CURVES[kind](z), slope(kind, z)
    half = (values.max() - values.min()) / 40
    heights = np.concatenate([values, slopes, after])
    bottom, top = heights.min() - half, heights.max() + half

    def places(x: Array, y: Array) -> Array:
        return np.stack([(x - low) / (high - low), (y - bottom) / (top - bottom)], -1)

    ends = places(np.repeat(before, 2), np.stack([after - half, after + half], 1).ravel())
    yield claims.curves(
        [(title, "#0072B2", ""), ("its slope", "#808a96", "dashed")],
        [
            claims.path(places(z, values), "#0072B2", 2),
            claims.path(places(z, slopes), "#808a96", 2, **{"stroke-dasharray": "8 5"}),
            claims.path(ends, "#E69F00", 1, "ML" * len(before), opacity="0.6"),
        ],
        alt=prose.line("the curve of and", title, number(low, 0), number(high, 0), len(before)),
        axes=("after it", "before the activation"),
        beside=[((at - bottom) / (top - bottom), text) for at, text in claims.ticks(bottom, top)],
        below=[((at - low) / (high - low), text) for at, text in claims.ticks(low, high)],
    )
    points = np.arange(-3.0, 4)
    lines = zip(points, CURVES[kind](points), slope(kind, points), strict=True)
    yield from numbers_of_figure(("before", title, "slope"), *(tuple(number(n, 3) for n in line) for line in lines))


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def written(page: Page, oracle: Forward) -> Array:
    return softmax(oracle["logits"])[np.arange(len(page.labels)), page.oracle.labels]


def do(page: Page) -> Statements:
    yield from exchange(page)
    yield from two_siblings(page, "activation")


def exchange(page: Page) -> Statements:
    name = activation(page)
    yield from prose("exchange the activation of")
    if KINDS[name] in GATES:
        yield from prose("a gate needs a")
        return
    where = page.choice("exchange_in", WHERE, WHERE[0])
    yield claims.segmented("Exchange it in", WHERE, where)
    paths = everywhere() if where == WHERE[0] else [path(page)]
    one, two = page.probabilities, written(page, with_activation(page, name, paths))
    yield from pieces_before_after(page, one, two, ("with ReLU", f"with {name}"))
    most = len(one) + LOST
    anew = rewritten(page, most, **{named(p): KINDS[name] for p in paths})
    yield from prose(
        "on average the probability",
        number(one.mean()),
        number(two.mean()),
        inline(page.translation or "(nothing)"),
        inline(text_of(list(anew)) or "(nothing)"),
        "" if anew[-1:] == (EOS,) else f" (cut after {most} pieces)",
    )


def predict(page: Page) -> Statements:
    relu, gelu = (CURVES[kind](np.array(-1.0)) for kind in ("relu", "gelu"))
    yield prose.question(
        "a unit gets which",
        [(True, False), (False, True), (True, True), (False, False)].index((bool(relu < 0), bool(gelu < 0))),
        number(relu, 2),
        number(gelu, 2),
    )
    gelu, swish = (written(page, with_activation(page, name, everywhere())).mean() for name in ("GELU", "Swish"))
    right = 2 if abs(gelu - swish) < SAME else 0 if gelu > swish else 1
    wrong = (
        "With Swish its mean probability is higher.",
        "With GELU its mean probability is higher.",
        f"They differ by {number(abs(gelu - swish), 2)}.",
    )
    at_2 = [CURVES[kind](np.array(-2.0)) for kind in ("gelu", "silu")]
    yield prose.question(
        "the trained translator gets",
        right,
        f"{SAME:g}",
        number(gelu, 2),
        number(swish, 2),
        number(at_2[0], 2),
        number(at_2[1], 2),
        wrong={n: text for n, text in enumerate(wrong) if n != right},
    )
    d_ff = config()["d_ff"]
    fewer = round(d_ff * 2 / 3)
    yield prose.question(
        "a network without a", 1, f"{d_ff:,}", f"{fewer:,}", options=(f"{d_ff:,}", f"{fewer:,}", f"{d_ff // 2:,}")
    )


def code(page: Page) -> Statements:
    names = ("FeedForward", "GatedFeedForward")
    yield from code_part(
        *(("model/parts/feed_forward.py", n) for n in names), ("experiments/blocks/activations.py", "curve")
    )
