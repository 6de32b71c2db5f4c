"""What the lesson on activations and gates must show."""

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, number
from tests.oracle.language.common import Shown, Statements, code_of, layer_controls, layer_of, read_by
from tests.oracle.language.page import READABLE, Page, chances
from tests.oracle.language.words import inline, text_of, visible
from tests.oracle.pages.blocks.feed_forward import path, shown_units
from tests.oracle.passes.forward import EOS, Array, config
from tests.oracle.passes.network import CURVES, GATES
from tests.oracle.shown.siblings import two_siblings
from tests.oracle.shown.variants import Variant, begins_anew, most_anew, rewritten, slope, variant

prose = Prose("activations_and_gates")

LONG = " ".join(["The animal didn't cross the street because it was too wide."] * 4)
KINDS = {
    "ReLU": "relu", "GELU": "gelu", "GELU (tanh)": "gelu_tanh", "Swish": "silu", "SwiGLU": "swiglu", "GEGLU": "geglu",
}  # fmt: skip
WHERE, INSIDE = ("all networks", "this network"), ("hidden", "gate", "value")
STATES = (
    {},
    {"activation": "GELU", "stop": "1", "sibling_map": "Masked decoder"},
    {"activation": "SwiGLU", "stack": "Decoder", "layer": "1", "gate_step": "gate", "cell": "2.3"},
    {"activation": "Swish", "sentence": "Frobnicating quokkas!", "layer": "2", "exchange_in": WHERE[1], "cell": "3.2"},
    {"activation": "GELU (tanh)", "sentence": "Go", "stack": "Decoder"},
    {"activation": "ReLU", "sentence": LONG, "exchange_in": WHERE[1]},
    {"activation": "GEGLU", "gate_step": "value", "sentence": "Go"},
    {"activation": "GEGLU", "sibling_map": "Encoder-decoder"},
)
SMALL, LOST, SAME = 0.01, 5, 0.02


def activation(page: Page) -> str:
    return page.choice("activation", list(KINDS), "Swish")


def exchanged(name: str, *paths: str) -> dict[str, str]:
    """The activation in these networks, by default in all."""
    every = [
        f"{stack}.layers.{n}.feed_forward" for stack in ("encoder", "decoder") for n in range(config()["n_layers"])
    ]
    return {one.replace(".", "__"): KINDS[name] for one in paths or every}


def here(page: Page) -> Variant:
    return variant(page, **exchanged(activation(page), path(page)))


def scene(page: Page) -> Statements:
    lengths = [len(piece.text) for piece in page.src[:-1]] or [0]
    row = lengths.index(max(lengths))
    before = np.sort(page.oracle["encoder.layers.2.feed_forward.pre_activation"][row])
    frames, start = [], None
    for n, name in enumerate(("ReLU", "GELU", "Swish")):
        end, kind, changes = CURVES[KINDS[name]], KINDS[name], exchanged(name)
        likely = chances(variant(page, **changes)) if kind != "relu" else page.probabilities
        anew = "" if kind == "relu" else begins_anew(page, rewritten(page, most_anew(page), **changes))
        if start is None and anew:
            start = n
        share = f"{number(100 * (abs(end(before)) < SMALL).mean(), 0)}%"
        some = before[8::16]
        some = some[(some >= -8) & (some <= 1.5)]
        z = np.linspace(-8, 1.5, 81)
        curve = screen.curve(
            [screen.line(name, list(zip(z, end(z), strict=True)))],
            ("before the curve", -8.0, 1.5),
            ("after it", -0.4, 1.5),
            prose.line("in the encoder's layer", visible(page.src[row].text), 3, 64, "1,024"),
            rug=list(zip(some, end(some), strict=True)),
            words=[(-4, 1.2, f"{name}: {share} at 0")],
            height=290,
        )
        pieces = list(zip(page.labels, likely, page.probabilities, strict=True))[:10]
        bars = screen.bars(
            [screen.bar(piece.text, now, chance(now), was) for piece, now, was in pieces],
            "Probability of the German pieces (dashed: ReLU)",
        )
        mean = number(likely.mean(), 2)
        writes = f"“{visible(anew)}”" if anew else "the same."
        answer = (
            prose.line("of the numbers end", share, mean)
            if kind == "relu"
            else prose.line("of the numbers nearly", share, number(page.probabilities.mean(), 2), mean, writes)
        )
        frames.append(screen.frame(name, answer, (curve, bars)))
    opens = 2 if start is None else start
    yield from screen.scene(page, prose.line("the activation in all"), "Curve", frames, opens, wide=(1.7, 1))


def idea(page: Page) -> Statements:
    yield from prose("between its two matrices")
    yield prose.table("the table of activation formula used")
    yield from prose("z is the share")


def shown(page: Page) -> Shown:
    gated = KINDS[activation(page)] in GATES
    what = page.choice("gate_step", INSIDE, INSIDE[0]) if gated else INSIDE[0]
    units = shown_units(page, here(page))
    values = here(page)[f"{path(page)}.{what}"][:READABLE, units]
    return common.shown_tensor(
        page,
        f"{path(page)}.{what}",
        rows=[piece.text for piece in read_by(page)[:READABLE]],
        only_columns=units,
        start=divmod(int(values.argmin()), len(units)),
        oracle=here(page),
        describe="“{row}”, unit {column}: {value}",
    )


def see(page: Page) -> Statements:
    name, view = activation(page), shown(page)
    yield from layer_controls(page)
    yield claims.segmented("Activation", list(KINDS), name)
    gated, row, oracle = KINDS[name] in GATES, view.cell[0], here(page)
    before, after = (oracle[f"{path(page)}.{what}"][row] for what in ("pre_activation", "hidden"))
    yield from curve_with_ticks(name, before, after)
    yield from prose(
        "each orange tick is",
        f"{len(before):,}",
        layer_of(page).phrase,
        inline(read_by(page)[row].text),
        "This model has learned no gate: its three matrices are drawn at random here. A tick leaves the curve, because what passes the gate is multiplied by xV."
        if gated
        else "What goes in are the translator's own numbers. Choose another row below.",
    )
    what = view.name.rpartition(".")[2]
    if gated:
        yield claims.segmented("What to work out", INSIDE, what)
    title = f"After the activation: {name}" if what == "hidden" else f"{name}: {what}"
    yield from common.tensor_matrix(view, title=title, how_to_read="A column is one unit.")
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
    half, heights = (values.max() - values.min()) / 40, np.concatenate([values, slopes, after])
    yield claims.curves(
        [claims.Line(title, z, values, claims.BLUE), claims.Line("its slope", z, slopes, dashed=True)],
        claims.Axis("before the activation", low, high),
        claims.Axis("after it", heights.min() - half, heights.max() + half),
        alt=prose.line("the curve of and", title, number(low, 0), number(high, 0), len(before)),
        strokes=(before, after - half, after + half),
    )
    points = np.arange(-3.0, 4)
    lines = zip(points, CURVES[kind](points), slope(kind, points), strict=True)
    yield from common.numbers_of_figure(
        ("before", title, "slope"), *(tuple(number(n, 3) for n in line) for line in lines)
    )


def do(page: Page) -> Statements:
    yield from exchange(page)
    yield from two_siblings(page, "activation")


def exchange(page: Page) -> Statements:
    name = activation(page)
    yield from prose("exchange the activation of")
    if KINDS[name] in GATES:
        yield from prose("a gate needs a")
        return
    where = yield from common.choose(page, "Exchange it in", "exchange_in", WHERE)
    changes = exchanged(name, *([] if where == WHERE[0] else [path(page)]))
    one, two = page.probabilities, chances(variant(page, **changes))
    yield from common.pieces_before_after(page, one, two, ("with ReLU", f"with {name}"))
    most = len(one) + LOST
    anew = rewritten(page, most, **changes)
    texts = (inline(text or "(nothing)") for text in (page.translation, text_of(list(anew))))
    cut = "" if anew[-1:] == (EOS,) else f" (cut after {most} pieces)"
    yield from prose("on average the probability", number(one.mean()), number(two.mean()), *texts, cut)


def predict(page: Page) -> Statements:
    relu, gelu = (CURVES[kind](np.array(-1.0)) for kind in ("relu", "gelu"))
    right = [(True, False), (False, True), (True, True), (False, False)].index((bool(relu < 0), bool(gelu < 0)))
    yield prose.question("a unit gets which", right, number(relu, 2), number(gelu, 2))
    first, second = (
        chances(variant(page, **exchanged("Swish", f"{stack}.layers.0.feed_forward"))).mean()
        for stack in ("encoder", "decoder")
    )
    right = 2 if abs(first - second) < SAME else 0 if first < second else 1
    wrong = [f"In the {other} the new curve takes more." for other in ("decoder", "encoder")]
    wrong.append(f"They differ by {number(abs(first - second), 2)}.")
    means = (number(one, 2) for one in (first, second))
    yield prose.question("now one network alone", right, f"{SAME:g}", *means, wrong=wrong)
    d_ff = config()["d_ff"]
    options = [f"{n:,}" for n in (d_ff, round(d_ff * 2 / 3), d_ff // 2)]
    yield prose.question("a network without a", 1, *options[:2], options=options)


code = code_of("model/parts/feed_forward.py: FeedForward, GatedFeedForward", "experiments/blocks/activations.py: curve")
