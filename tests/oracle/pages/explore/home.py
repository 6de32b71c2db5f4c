"""What the home page must show."""

import functools
import json
import math

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, link, segmented, toggle, visible
from tests.oracle.language.common import KINDS, Statements, asks_and_answers
from tests.oracle.language.page import Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import words
from tests.oracle.passes.forward import FOLDER, config
from tests.oracle.shown.attention import groups, overview, weights_of, work_out
from tests.oracle.shown.frame import bar, notices
from tests.oracle.shown.machine_map import large_map
from tests.oracle.shown.stage import stage
from tests.oracle.shown.translation import translation

prose = Prose("home")

ANIMAL = "The animal didn't cross the street because it was too wide."
STATES = (
    {},
    {"sentence": ANIMAL, "attention": "Encoder", "words": "true", "map": "1.3", "cell": "1.2"},
    {"sentence": ANIMAL, "attention": "Masked decoder", "hide_eos": "true", "map": "3.0"},
    {"sentence": ANIMAL, "attention": "Masked decoder", "map": "1.4", "cell": "2.5"},
    {"sentence": "Zoë Österreich <b>", "words": "true", "map": "2.1", "cell": "1.2", "hide_eos": "true"},
    {"sentence": "ฉันชอบสุนัข"},
    {
        "sentence": "My neighbour's washing machine is unbelievably noisy.",
        "words": "true",
        "attention": "Masked decoder",
    },
    {"sentence": "The animal didn't cross the street because it was too wide."},
    {"sentence": "Quokkas tergiversate 3 xylophones.", "attention": "Encoder"},
    {"sentence": "My neighbour's cat sleeps on the sofa all day long. " * 4, "map": "9.9", "cell": "99.1"},
    {"sentence": "2 + 2 = 4", "words": "true"},
    {"sentence": "Little Rose sleeps."},  # in doubt by its pieces alone
    {"sentence": "The ticket costs $3.50."},  # by a number, a name, its language
    {"sentence": "The war began on September 1, 1939."},
    {"sentence": "My friend Priya lives in Mumbai."},
    {"sentence": "Hallo Welt"},
    {"sentence": "THE BOY SEES THE GIRL."},
    {"sentence": "Zelda wears an emerald."},  # one word hardly read, and a name that is copied
    {"sentence": "My neighbour's cat sleeps on the sofa all day long. " * 10},  # more than the model takes
    {"sentence": " "},
    {"sentence": "The girl sees the boy.", "present": "true"},
)

LOOKS_AT = {
    "encoder": ("next", "the next piece"),
    "decoder": ("itself", "the piece just read"),
    "cross": ("aligned", "the English word being translated"),
}


@functools.cache
def telling(kind: str) -> tuple[int, int]:
    """The head, over the 2,000 sentences measured, that gives the largest share of its weight to one place."""
    shares = json.loads((FOLDER / "heads.json").read_text())["shares"]
    best = max(
        (name for name in shares if name.startswith(f"{kind}.")), key=lambda name: shares[name][LOOKS_AT[kind][0]]
    )
    layer, head = best.split(".")[1:]
    return int(layer), int(head)


def frame(page: Page) -> Statements:
    yield from bar(page)
    yield from prose("transformer walkthrough")
    yield from notices(page)
    if not page.sentence.strip():
        return
    yield from translation(page.text, page.oracle)
    yield link("Watch it learn your sentence →", "how-it-learned")
    yield stage(page)
    if page.switch("present"):
        return
    yield from prose("how sure it was")
    yield from certainty(page)
    yield from prose("where it looked", config()["n_layers"], config()["n_heads"])
    yield from maps(page)
    yield from prose("the machine with your")
    yield large_map(page)


def certainty(page: Page) -> Statements:
    rows, shares = [], []
    for word in words(page.labels):
        each = [float(page.probabilities[n]) for n in word.pieces]
        share = math.prod(each)
        rows.append([visible(word.text), small(share)])
        if len(each) > 1:
            named = zip(word.pieces, each, strict=True)
            rows[-1].append(visible(" · ".join(f"{page.labels[n].text} {small(p)}" for n, p in named)))
        shares.append(share)
    yield Statement("bars", {"label": "Words written, with their probabilities", "rows": rows, "bars": shares})
    yield from prose("each word with its")


def small(probability: float) -> str:
    return chance(probability, 2)


def maps(page: Page) -> Statements:
    by_label = {kind.label: name for name, kind in KINDS.items()}
    kind = by_label[page.choice("attention", list(by_label), "Encoder-decoder")]
    by_word, hide_eos = page.switch("words"), page.switch("hide_eos")
    yield segmented("Attention", list(by_label), KINDS[kind].label)
    yield toggle("Group pieces into words", by_word)
    yield toggle("Hide <eos>", hide_eos)
    rows, columns = (groups(pieces, by_word, hide_eos) for pieces in asks_and_answers(page, kind))
    layer, head = telling(kind)
    weights, masked = weights_of(page.oracle, kind)
    yield from overview(
        page,
        weights,
        masked,
        rows,
        columns,
        **KINDS[kind].caption,
        describe=KINDS[kind].describe,
        csv_name=f"attention {kind}",
        default=telling(kind),
        note=prose.line("layer head comes first", layer + 1, head + 1, LOOKS_AT[kind][1]),
    )
    if hide_eos and kind != "decoder":  # whose own words have no <eos>
        yield from prose("rows no longer add")
    yield from work_out(page, page.oracle, kind, rows, columns, telling(kind))
