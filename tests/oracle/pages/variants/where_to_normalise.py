"""What the lesson on the place and the kind of a norm must show."""

from typing import Any

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import number
from tests.oracle.language.common import Shown, Statements, code_of
from tests.oracle.language.page import Page, chances
from tests.oracle.language.words import inline, text_of
from tests.oracle.passes.deep_stack import PLACES, one_step, place_run
from tests.oracle.passes.forward import EOS, config
from tests.oracle.passes.network import per_word, per_word_rms
from tests.oracle.shown.siblings import two_siblings
from tests.oracle.shown.variants import Variant, norm_reads, rewritten, variant

prose = Prose("where_to_normalise")

LONG = " ".join(["The animal didn't cross the street because it was too wide."] * 4)
NORMS = {"LayerNorm": "layer", "RMSNorm": "rms"}
KEYS = dict(zip(PLACES, ("post", "pre", "sandwich", "deep"), strict=True))
AROUND = ("feed-forward", "self-attention")
RATES = ("0.00001", "0.0001", "0.001")
SHOWS = {
    "Post-norm": {"after the norm": "output", "the sum": "sum"},
    "Pre-norm": {"after the norm": "normed"},
    "Sandwich": {"after the second norm": "renormed", "after the first norm": "normed"},
    "DeepNorm": {"after the norm": "output", "the sum": "sum"},
}
STATES = (
    {},
    {"norm_place": "DeepNorm", "norm_kind_of": "RMSNorm", "norm_shows_deep": "the sum", "layer": "1", "places_depth": "2", "cell": "2.3"},
    {"norm_place": "Pre-norm", "norm_kind_of": "LayerNorm", "norm_around": AROUND[1], "sentence": "Frobnicating quokkas!"},
    {"norm_place": "Sandwich", "norm_kind_of": "RMSNorm", "places_rate": RATES[0], "places_draw": "3", "sentence": "Go", "cell": "1.9"},
    {"norm_place": "Sandwich", "norm_shows_sandwich": "after the first norm", "norm_kind_of": "LayerNorm", "layer": "2", "sibling_map": "Masked decoder"},
    {"norm_place": "Post-norm", "norm_kind_of": "RMSNorm", "places_rate": RATES[2], "places_depth": "11", "sentence": LONG, "cell": "40.16"},
    {"norm_place": "Post-norm", "norm_shows_post": "the sum", "sentence": "Go"},
    {"norm_place": "DeepNorm", "norm_shows_deep": "after the norm", "sibling_map": "Encoder-decoder", "sentence": "Go"},
)  # fmt: skip
DEEPEST, LOST, SCENE = 24, 5, 8
# In the scene: 0 after the sum, 1 behind the sub-layer, 2 before it.
STANDS = {
    "Post-norm": ((0, 0), "after the sum"),
    "Pre-norm": ((2, 2), "before the sub-layer"),
    "Sandwich": ((2, 1), "before the sub-layer and after it"),
    "DeepNorm": ((0, 0), "after a sum that holds more of the stream"),
}


def place(page: Page) -> str:
    return page.choice("norm_place", PLACES, "Pre-norm")


def norm(page: Page) -> str:
    return page.choice("norm_kind_of", list(NORMS), "LayerNorm")


def layer(page: Page) -> int:
    return page.count("layer", config()["n_layers"], config()["n_layers"])


def path(page: Page) -> str:
    around = page.choice("norm_around", AROUND, AROUND[0])
    return f"encoder.layers.{layer(page) - 1}.add_norm_{2 - AROUND.index(around)}"


def kinds(page: Page) -> dict[str, str]:
    return {path(page).replace(".", "__"): f"{NORMS[norm(page)]} {KEYS[place(page)]}"}


def other(page: Page) -> Variant:
    return variant(page, **kinds(page))


def scene(page: Page) -> Statements:
    sways = [one_step(name, DEEPEST, float(RATES[1]), 0)[1] for name in PLACES]
    furthest = max(moved for *_, moved in sways)
    frames = [scene_frame(page, name, sway, furthest) for name, sway in zip(PLACES, sways, strict=True)]
    opens, caption = [sway[-1] for sway in sways].index(furthest), prose.line("four places to normalise")
    yield from screen.scene(page, caption, "The norm stands", frames, opens, wide=(1, 1, 1.2))


def scene_frame(page: Page, name: str, sway: list[float], furthest: float) -> dict[str, Any]:
    (norms, where), moved = STANDS[name], percent(sway[-1])
    last = f"encoder__layers__{config()['n_layers'] - 1}__add_norm_2"
    before, later = page.probabilities, chances(variant(page, **{last: f"layer {KEYS[name]}"}))
    trained = (
        prose.line("your translator was trained")
        if name == "Post-norm"
        else prose.line("put the last norm", stays_or_goes(before.mean(), later.mean()))
    )
    tower = f"{DEEPEST} random layers, one step", "layer 1 at the bottom, the output on top", furthest
    pieces = [
        screen.bar(piece.text, later[n], number(later[n], 2), before[n]) for n, piece in enumerate(page.labels[:SCENE])
    ]
    panels = [
        screen.wiring("feed-forward", norms, "One layer", int(name == "DeepNorm")),
        screen.tower([*sway[:-2], sway[-1]], moved, *tower),
        screen.bars(pieces, "Your translator, its last encoder norm so", note="dashed: as it was trained"),
    ]
    return screen.frame(name, prose.line("norm one step moves", where, DEEPEST, moved, trained), panels)


def stays_or_goes(before: float, later: float) -> str:
    was, now = number(before, 2), number(later, 2)
    same = f"{before:.2f}" == f"{later:.2f}"
    return prose.line("stays at", now) if same else prose.line("goes from", was, now)


def idea(page: Page) -> Statements:
    yield from prose("attention and feed-forward are")
    yield prose.table("the table of place formula used")
    yield from prose("is above and grows")


def label(page: Page) -> str:
    labels = list(SHOWS[place(page)])
    return page.choice(f"norm_shows_{KEYS[place(page)]}", labels, labels[0])


def shown(page: Page) -> Shown:
    return common.shown_tensor(
        page,
        f"{path(page)}.{SHOWS[place(page)][label(page)]}",
        n_columns=16,
        oracle=other(page),
        describe="“{row}”, dimension {column}: {value}",
    )


def see(page: Page) -> Statements:
    yield claims.segmented("Layer", range(1, config()["n_layers"] + 1), layer(page))
    yield claims.segmented("Around", AROUND, page.choice("norm_around", AROUND, AROUND[0]))
    yield claims.segmented("Norm", list(NORMS), norm(page))
    yield claims.segmented("Place", PLACES, place(page))
    yield claims.segmented("Show", list(SHOWS[place(page)]), label(page))
    view, oracle = shown(page), other(page)
    title = f"{place(page)} with {norm(page)}: {label(page)}"
    yield from common.tensor_matrix(view, title=title, how_to_read="One row a piece; the first 16 dimensions.")
    before = oracle[norm_reads(oracle, view.name)][[view.cell[0]]]
    rows = {"before the norm": before, "LayerNorm": per_word(before), "RMSNorm": per_word_rms(before)}
    yield claims.table(
        ("the row, without γ and β", "mean", "deviation", "RMS"),
        *(
            (name, number(one.mean(), 3), number(one.std(), 3), number(np.sqrt((one**2).mean()), 3))
            for name, one in rows.items()
        ),
    )
    one, two = (rows[name][0] for name in NORMS)
    along = one @ two / np.sqrt((one @ one) * (two @ two))
    yield from prose(
        "the row of layernorm", inline(page.src[view.cell[0]].text), number(abs(one - two).max(), 3), number(along, 4)
    )


def percent(share: float) -> str:
    return f"{number(100 * share, 1)}%"


def do(page: Page) -> Statements:
    yield from deep_stack(page)
    yield from prose("exchange one norm of")
    most = len(page.labels) + LOST
    before, later = (number(chances(one).mean()) for one in (page.oracle, other(page)))
    anew = rewritten(page, most, **kinds(page))
    both = (inline(text or "(nothing)") for text in (page.translation, text_of(list(anew))))
    cut = "" if anew[-1:] == (EOS,) else f" (cut after {most} pieces)"
    yield from prose("the chosen add norm", place(page), norm(page), before, later, *both, cut)
    yield from two_siblings(page, "norm")


def deep_stack(page: Page) -> Statements:
    yield from prose("a deep stack before")
    depth, draw = page.count("places_depth", DEEPEST, DEEPEST), page.count("places_draw", 3, 1)
    rate = page.choice("places_rate", RATES, RATES[1])
    yield claims.slider("Layers", 2.0, DEEPEST, depth)
    yield claims.segmented("Size of the step", RATES, rate)
    yield claims.segmented("Random weights", (1, 2, 3), draw)
    runs = {name: place_run(name, depth, float(rate), draw - 1) for name in PLACES}
    colours = (claims.BLUE, claims.GREY, claims.ORANGE, "#CC79A7")
    looks = zip(colours, ("solid", "dot", "dash", "dashdot"), ("circle", "diamond", "square", "x"), strict=True)
    ends = (
        f"{name} {number(sizes[0], 0)} at the first and {number(sizes[-1], 0)} at the last"
        for name, (sizes, _) in runs.items()
    )
    traces = [
        claims.scatter(
            np.arange(1, depth + 1),
            np.array(sizes),
            "lines+markers",
            colour,
            dash=dash,
            name=name,
            marker={"size": 6, "symbol": symbol},
            hover=f"layer %{{x}}: %{{y:.3g}}<extra>{name}</extra>",
        )
        for (name, (sizes, _)), (colour, dash, symbol) in zip(runs.items(), looks, strict=True)
    ]
    y = {"title": {"text": "length of the gradient"}, "rangemode": "tozero"}
    alt = prose.line("the length of the", depth, ", ".join(ends))
    yield claims.plot(alt, traces, {"title": {"text": "layer"}}, y)
    yield claims.table(
        ("place", "gradient, layer 1", f"gradient, layer {depth}", "one step moves the output by"),
        *((name, number(sizes[0], 0), number(sizes[-1], 0), percent(moved)) for name, (sizes, moved) in runs.items()),
    )
    few, many = place_run("Post-norm", 2, float(rate), draw - 1)[1], runs["Post-norm"][1]
    yield from prose("how far the output", percent(few), depth, percent(many))
    yield from common.numbers_of_figure(
        ("layer", *runs), *((str(n + 1), *(number(sizes[n], 1) for sizes, _ in runs.values())) for n in range(depth))
    )


def predict(page: Page) -> Statements:
    row = np.array([[1.0, 3.0]])
    results = (per_word(row)[0], per_word_rms(row)[0], row[0] / row.sum())
    yield prose.question("rmsnorm divides a row", 1, options=[f"({number(a, 2)}, {number(b, 2)})" for a, b in results])
    moved = {name: place_run(name, DEEPEST, float(RATES[1]), 0)[1] for name in PLACES}
    options = ("Post-norm", "Pre-norm", "DeepNorm")
    right = int(np.argmax([moved[name] for name in options]))
    every = ", ".join(f"{name} {percent(share)}" for name, share in moved.items())
    wrong = [prose.line("there it moves by", percent(moved[name])) for name in options]
    yield prose.question("three stacks of layers", right, DEEPEST, every, options=options, wrong=wrong)
    few, many = place_run("Post-norm", 2, float(RATES[1]), 0)[1], moved["Post-norm"]
    right = 0 if many < 2 * few else 1 if many <= 10 * few else 2
    says = list(prose.words("how much further", percent(2 * few), percent(10 * few)).values())
    values = percent(many), percent(few), number(many / few, 0)
    yield prose.question("a post-norm stack has", right, DEEPEST, *values, wrong=says)


code = code_of(
    "model/parts/residual.py: PreNorm, PostNorm, SandwichNorm, DeepNorm",
    "experiments/blocks/norm_comparison.py: per_word_rms",
    "experiments/blocks/norm_places.py: Stack, place_run",
)
