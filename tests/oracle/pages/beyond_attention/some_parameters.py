"""What the lesson on a mixture of experts must show."""

import json
from functools import partial
from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import number
from tests.oracle.language.common import Choice, Shown, Statements, check_cell, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import OWN, Own, Page
from tests.oracle.language.words import pieces, text_of
from tests.oracle.passes import shipped
from tests.oracle.shown.siblings import (
    MODELS,
    Sibling,
    config_of,
    margin,
    read_along,
    translated,
    two_siblings,
    weights_of,
)

prose = Prose("some_parameters")

LONG = " ".join(["The animal didn't cross the street because it was too wide."] * 4)
NAMES = {"not balanced": "experts-free", "balanced": "experts-balanced", "balanced, two a piece": "experts-two"}
OWN["some-parameters"] = Own(config_of("experts-free"), partial(translated, "experts-free"))
MODEL = Choice("Trained", "experts_of", tuple(NAMES))
PLACES = [(stack, n) for stack in ("encoder", "decoder") for n in (0, 1)]
LAYER = Choice("Network", "experts_at", tuple(f"{stack}, layer {n + 1}" for stack, n in PLACES), "decoder, layer 1")
TENSOR = Choice("Show", "experts_show", ("shares", "gates"))
TRIAL = Choice("Try", "experts_trial", ("Who works", "Has each a subject", "Translate with two"))
STATES = (
    {"stop": "1", "experts_of": "balanced", "experts_at": "encoder, layer 1"},
    {},
    {"experts_of": "not balanced", "experts_at": "decoder, layer 2", "experts_show": "shares", "cell": "2.3"},
    {"experts_trial": TRIAL.options[1]},
    {"sentence": LONG, "experts_at": "encoder, layer 2", "experts_show": "gates", "stop": "2"},
    {"sentence": LONG, "experts_trial": TRIAL.options[2], "sibling_map": "Masked decoder"},
    {"experts_trial": TRIAL.options[2], "sentence": "I see."},
    {"experts_trial": TRIAL.options[2], "sentence": "Go", "sibling_map": "Encoder-decoder"},
    {"experts_of": "balanced, two a piece", "experts_at": "encoder, layer 2", "experts_show": "gates"},
    {"sentence": "Go", "experts_of": "not balanced", "experts_at": "decoder, layer 1", "cell": "1.1"},
    {"sentence": "Frobnicating quokkas!", "experts_at": "decoder, layer 1", "experts_show": "gates", "cell": "1.4"},
)


def network(at: int) -> str:
    stack, n = PLACES[at]
    return f"{stack}.layers.{n}.feed_forward"


def measured(trained: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((MODELS / NAMES[trained] / "routing.json").read_text())
    return found


def work(trained: str, at: int) -> list[float]:
    return measured(trained)["layers"][network(at)]["work"]


def reading(page: Page, trained: str) -> Sibling:
    first = translated(NAMES["not balanced"], page.sentence)
    if trained == "not balanced":
        return first
    return read_along(NAMES[trained], page.sentence, text_of(first.labels))


def scene(page: Page) -> Statements:
    at = max(range(4), key=lambda at: max(work("not balanced", at)))
    frames = [scene_frame(page, trained, at) for trained in ("not balanced", "balanced")]
    stack, layer = PLACES[at]
    caption = prose.line("in a mixture of experts", stack, layer + 1)
    yield from screen.scene(page, caption, "Trained", frames, 0, wide=(2, 1))


def scene_frame(page: Page, trained: str, at: int) -> dict[str, Any]:
    given, done, free = reading(page, trained)[f"{network(at)}.gates"], work(trained, at), work("not balanced", at)
    words = texts_of(page, trained, at)[:10]
    asked = given.argmax(-1).tolist()[: len(words)]
    most = done.index(max(done))
    names = [f"expert {n}" for n in range(1, 5)]
    experts = [screen.card(str(n + 1), "strong" if n == most else "", str(asked.count(n))) for n in range(4)]
    rows = screen.row([screen.card(word) for word in words], "pieces"), screen.row(experts, "experts", "output")
    links = [screen.link((0, t), (1, n), float(given[t, n])) for t, n in enumerate(asked)]
    bars = [
        screen.bar(name, done[n], f"{done[n]:.0%}", free[n] if trained == "balanced" else None, n == most)
        for n, name in enumerate(names)
    ]
    said = prose.line(
        "of pieces ask expert", asked.count(most), len(words), most + 1, f"{done[most]:.0%}", number(4 * done[most], 1)
    )
    dashed = "dashed: not balanced" if trained == "balanced" else ""
    pictures = (
        screen.cards(rows, links, "Whom each piece asks, and how many ask an expert"),
        screen.bars(bars, "Who does the work, on test sentences", note=dashed),
    )
    return screen.frame(trained, said, pictures)


def texts_of(page: Page, trained: str, at: int) -> list[str]:
    """Of the rows of a network: the sentence, or what the sibling has read of the translation."""
    read = pieces([1, *reading(page, trained).labels[:-1]])
    return [piece.text for piece in (page.src if PLACES[at][0] == "encoder" else read)]


def shown(page: Page) -> Shown:
    shows, at, trained = TENSOR.of(page), LAYER.at(page), MODEL.of(page)
    return shown_tensor(
        page,
        f"{network(at)}.{shows}",
        oracle=reading(page, trained),
        rows=texts_of(page, trained, at),
        columns=[f"expert {n}" for n in range(1, 5)],
        describe=f"{shows[:-1]} of “{{row}}” for {{column}}: {{value}}",
    )


def see(page: Page) -> Statements:
    for control in (MODEL, LAYER, TENSOR):
        yield control.drawn(page)
    run = "matrix of gates" if TENSOR.of(page) == "gates" else "matrix of shares"
    words = prose.words(run, LAYER.of(page), MODEL.of(page))
    yield from tensor_matrix(shown(page), **words)


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def counts(trained: str) -> tuple[int, int]:
    """Stored, and at work: of every four experts three have no part, or two."""
    sizes, busy = {name: w.size for name, w in weights_of(NAMES[trained]).items()}, 1 + trained.endswith("two a piece")
    idle = sum(size for name, size in sizes.items() if any(f".experts.{n}." in name for n in range(busy, 4)))
    return sum(sizes.values()), sum(sizes.values()) - idle


def who_works(page: Page) -> Statements:
    yield from prose("who is busy how")
    rows = [(name, *(number(4 * max(work(name, at)), 2) for at in range(4))) for name in NAMES]
    yield claims.table(("", *LAYER.options), *rows)
    yield from prose("what does it store")
    plain = sum(w.size for w in weights_of("plain-1").values())
    every = {"plain": (plain, plain), **{name: counts(name) for name in NAMES}}
    lines = [
        (name, *(f"{n:,}" for n in each), number(loss(NAMES.get(name, "plain-1")), 3)) for name, each in every.items()
    ]
    yield claims.table(("", "parameters stored", "at work for a piece", "loss"), *lines)
    same = [loss(f"plain-{seed}") for seed in (1, 2, 3)]
    bounds = (np.mean(same) - margin(same), np.mean(same) + margin(same))
    yield from prose("plain ones which differ", 3, *(number(one, 3) for one in (min(same), max(same), *bounds)))


def loss(name: str) -> float:
    return shipped.metrics(name)["training"]["validation_loss"]


def subjects(page: Page) -> Statements:
    yield from prose("has each expert a")
    found = measured("balanced")
    yield claims.table(
        ("", "the choice", "known from how common the piece is", "from its word class", "from another's word class"),
        *(
            (
                LAYER.options[at],
                *(
                    number(one[name], 2) if name in one else "–"
                    for one in (found["layers"][network(at)],)
                    for name in ("bits", "common", "classes", "shuffled")
                ),
            )
            for at in range(4)
        ),
    )
    yield from prose("the balanced sibling pairs", f"{found['pairs']:,}", f"{found['sentences']:,}")


def side_by_side(page: Page) -> Statements:
    yield from two_siblings(page, "experts")


def predict(page: Page) -> Statements:
    stored, at_work = counts("balanced")
    yield prose.question("each of networks has", 1, f"{stored:,}", f"{stored // 4:,}", f"{at_work:,}")
    most = [number(4 * max(max(work(name, at)) for at in range(4)), 1) for name in ("not balanced", "balanced")]
    yield prose.question("one sibling was trained", 1, *most)


do = TRIAL.trials(who_works, subjects, side_by_side)
code = code_of("model/parts/experts.py: MixtureOfExperts, largest, balance_loss")
