"""What the lesson on ALBERT must show."""

import math
from typing import Any

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import Series, chance, number
from tests.oracle.language.common import Choice, Shown, Statements
from tests.oracle.language.page import Page
from tests.oracle.language.words import visible
from tests.oracle.passes import shipped
from tests.oracle.passes.family import bert
from tests.oracle.shown.blanks import Clearest

prose = Prose("one_layer")

BERT, ALBERT = "bert-mini", "albert-mini"
INSIDE = Choice("The layer’s input, or its output", "albert_show", ("input", *(f"round {n}" for n in range(1, 5))))
TRIAL = Choice("Try", "albert_trial", ("Count and compare", "What a round changes", "How fast"))
STOPS = {
    "V: pieces that it knows": ("albert_v", ("8000", "30000", "30522"), "30522"),
    "E: width of a narrow table": ("albert_e", ("64", "128", "256", "512"), "128"),
    "H: width of a state": ("albert_h", ("256", "512", "768", "1024", "2048", "4096"), "768"),
    "L: layers, or rounds": ("albert_l", ("2", "4", "6", "12", "24"), "12"),
}
LONG = "The man who told me that he had lost his umbrella there forgot it again, because it never rained. " * 5
STATES = (
    {"sentence": "The boy sees the girl.", "stop": "2"},
    {"hide": "2", "albert_show": "round 1", "albert_trial": TRIAL.options[1], "stop": "3"},
    {"sentence": LONG, "albert_show": "round 4", "cell": "3.2"}
    | {"albert_v": "30000", "albert_e": "512", "albert_h": "256", "albert_l": "2"},
    {"sentence": "Go", "albert_show": "round 3", "albert_trial": TRIAL.options[2]},
    {
        "sentence": "Frobnicating quokkas!",
        "albert_show": "round 2",
        "albert_narrow": "true",
        "albert_h": "4096",
        "albert_e": "256",
    },
    {"sentence": LONG, "hide": "12", "albert_trial": TRIAL.options[1], "present": "true", "step": "4"},
    {"albert_shared": "true", "albert_narrow": "true", "albert_v": "8000", "albert_e": "64", "albert_l": "24"},
)

Parts = dict[str, int]


def measures(v: int, h: int, e: int, layers: int, places: int = 512) -> Parts:
    """Matrix by matrix. layers: that differ"""
    heads = (h * e + e) + 2 * e + v + (h * h + h) + (2 * h + 2)
    return {
        "layers": layers * (4 * h * h + (h * 4 * h + 4 * h) + (4 * h * h + h) + 2 * 2 * h),
        "table of pieces": v * e,
        "widening": 0 if e == h else e * h + h,
        "all else": places * e + 2 * e + 2 * e + heads,
    }


BASE, SHARED, SMALL = (measures(*one) for one in ((30522, 768, 768, 12), (30522, 768, 768, 1), (30000, 768, 128, 1)))
OWN, OWN_SHARED, OWN_SMALL = (measures(8000, 256, *one, 128) for one in ((256, 4), (256, 1), (64, 1)))
PUBLISHED = {
    "BERT base": (BASE, "108", "82.3"),
    "BERT large": (measures(30522, 1024, 1024, 24), "334", "85.2"),
    "ALBERT base": (SMALL, "12", "80.1"),
    "ALBERT xxlarge": (measures(30000, 4096, 128, 1), "235", "88.7"),
}
OURS = {"our BERT": BERT, "our ALBERT": ALBERT}


def millions(parts: Parts, digits: int = 1) -> str:
    return number(sum(parts.values()) / 1e6, digits)


def scene(page: Page) -> Statements:
    text = Clearest(page, (BERT, ALBERT), opened=True)
    frames = [
        scene_frame(text, "BERT", BASE, OWN, BERT),
        scene_frame(text, "layers shared", SHARED, OWN_SHARED),
        scene_frame(text, "table narrowed, too", SMALL, OWN_SMALL, ALBERT),
    ]
    caption = prose.line("albert has bert's shape", f" {prose.line('ended')}" * text.ended)
    yield from screen.scene(page, caption, "The same shape, written as", frames, wide=(1, 1))


def scene_frame(text: Clearest, stop: str, real: Parts, own: Parts, name: str = "") -> dict[str, Any]:
    place, first = text.places[0], stop == "BERT"
    words, right = [screen.card(one) for one in text.shown], text.ids[place]
    words[text.hidden[0]] = screen.card("[MASK]", "asked", text.word(text.hidden[0]))
    guesses, ending = [screen.card("–", "", "no model", 0)] * 4, prose.line("at ours million counts", millions(own, 2))
    if name:
        after = [text.read(name).said_after(n, place + 1) for n in (1, 2, 3, 4)]
        best = [(int(of.argmax()), of.max()) for of in after]
        guesses = [screen.card(bert.entry(id), "strong" if id == right else "", chance(p), p) for id, p in best]
        gives = visible(text.pieces[place].text), chance(after[-1][right])
        ending = prose.line("ours with million gives", millions(own, 2), *gives)
    after_each = screen.row(guesses, f"after {'layer' if first else 'round'} 1 to 4", "output")
    used = [screen.card(*((str(n), "strong") if first or n == 1 else ("1", "asked"))) for n in range(1, 13)]
    shares = (f"{real[part] / sum(real.values()):.0%}" for part in ("layers", "table of pieces"))
    return screen.frame(
        stop,
        f"{prose.line('million numbers of them', millions(real), *shares)} {ending}",
        [screen.cards([screen.row(words, "your sentence"), after_each])],
        [screen.cards([screen.row(used, "12 layers" if first else "1 layer, 12 times")])],
        [sized(real, BASE, "At BERT base’s measures", 1), sized(own, OWN, "At ours", 2)],
    )


def sized(now: Parts, then: Parts, title: str, digits: int) -> screen.Panel:
    before, note = ({}, "") if now is then else (then, "dashed: BERT")
    texts = {part: f"{number(n / 1e6, digits)} M" if n else "–" for part, n in now.items()}
    drawn = [screen.bar(part, n, texts[part], before.get(part), part == "layers") for part, n in now.items()]
    return screen.bars(drawn, f"{title}: {millions(now, digits)} M", "query", then["layers"], note)


def shown(page: Page) -> Shown:
    text, at = Clearest(page, (BERT, ALBERT)), INSIDE.at(page)
    name = f"encoder.layers.{at - 1}.add_norm_2.output" if at else "encoder.widened"
    rows = ["[CLS]", *("[MASK]" if n in text.places else one.text for n, one in enumerate(text.pieces)), "[SEP]"]
    return common.shown_tensor(page, name, oracle=text.read(ALBERT), rows=rows, n_columns=12)  # type: ignore[arg-type]


def see(page: Page) -> Statements:
    yield from Clearest(page, (BERT, ALBERT)).control(prose, "ended", "the models read only")
    yield INSIDE.drawn(page)
    yield from common.tensor_matrix(shown(page), **prose.words("the first of numbers", INSIDE.of(page)))


def check(page: Page) -> Statements:
    yield from common.check_cell(shown(page))


def count(page: Page) -> Statements:
    yield from prose("how many numbers does")
    yield from (claims.button(name) for name in (*PUBLISHED, *OURS))
    chosen = [page.choice(*stops) for stops in STOPS.values()]
    switches = {"Narrow table": page.switch("albert_narrow"), "One layer for all": page.switch("albert_shared")}
    for n, (label, (_, options, _)) in enumerate(STOPS.items()):
        yield claims.control("select_slider", label, options=list(options), value=chosen[n])
        if n % 2:
            yield claims.toggle(*[*switches.items()][n // 2])
    (v, e, h, layers), (is_narrow, is_shared) = map(int, chosen), switches.values()
    yours = measures(v, h, e if is_narrow else h, 1 if is_shared else layers)
    values = [n / 1e6 for n in yours.values()]
    yield claims.bars([*yours], values, f"Your {millions(yours)} million numbers, in millions", max(values), 2)
    tests = [shipped.metrics(name)["test"] for name in OURS.values()]
    p, q = (test["accuracy"] for test in tests)
    errors = [math.sqrt((x - x * x) / test["masked_tokens"]) for x, test in zip((p, q), tests, strict=True)]
    rights = [f"{number(100 * x, 1)} ± {number(100 * error, 1)}" for x, error in zip((p, q), errors, strict=True)]
    rows = [("yours", millions(yours, 2), "–", "–", "–")]
    rows += [(name, millions(parts, 2), *paper, "–") for name, (parts, *paper) in PUBLISHED.items()]
    own = zip(OURS, (OWN, OWN_SMALL), rights, strict=True)
    rows += [(title, millions(parts, 2), "–", "–", right) for title, parts, right in own]
    yield claims.table(("", "counted, millions", "in the paper", "its score", "blanks right, in %"), *rows)
    apart = number(100 * abs(p - q), 1), number(abs(p - q) / math.sqrt(errors[0] ** 2 + errors[1] ** 2), 1)
    yield from prose("counted is all that", *apart, bert.again("accuracy"))


def moved(page: Page) -> Statements:
    yield from prose("what does each layer")
    series = []
    for title, name in OURS.items():
        reader = Clearest(page, (BERT, ALBERT)).read(name)
        layers = (reader[f"encoder.layers.{n}.add_norm_2.output"] for n in range(4))
        states = np.stack([reader["encoder.embedding.output" if name == BERT else "encoder.widened"], *layers])
        lengths = np.sqrt((states**2).sum(-1))
        cosines = (states[1:] * states[:-1]).sum(-1) / (lengths[1:] * lengths[:-1])
        series.append(Series(title, cosines.mean(-1)))
    yield from common.chart_and_numbers("layer or round", "1234", series, **prose.words("the cosine of what"))
    yield from prose("lan et al figure")


def fast(page: Page) -> Statements:
    yield from prose("is it faster a")
    yield claims.button("Measure both")


def predict(page: Page) -> Statements:
    layers, every = BASE["layers"] / 1e6, sum(BASE.values()) / 1e6
    values = number(every / 12, 1), millions(SHARED), number(layers, 1), number(layers / 12, 1)
    yield prose.question("let all be one", 1, millions(BASE), *values)
    n, times = len(Clearest(page, (BERT, ALBERT)).ids) + 2, sum(OWN.values()) / sum(OWN_SMALL.values())
    products = 4 * (4 * n * 256**2 + 2 * n * 256 * 1024 + 2 * n * n * 256)
    yield prose.question("our bert has times", 1, number(times, 1), f"{products:,}", n)


do = TRIAL.trials(count, moved, fast)
code = common.code_of("model/parts/stacks.py: Encoder", "experiments/family/sizes.py: counted")
