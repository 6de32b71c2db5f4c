"""The first screen: a cursor over the text, what GPT expected there, and, past the end, what it writes."""

import math
from collections.abc import Sequence

import numpy as np

from figures.statistics import softmax
from model.text.tokenizer import EOS_ID
from model.trace import Trace
from pages.family.gpt.writing import picture
from ui.components.scene import Card, Cards, Frame, Link, Row, Scene
from ui.components.scene.answer import quoted
from ui.text import chance, number, piece

WINDOW = 10  # cards side by side
TEXT, WRITTEN = 12, 6  # pieces where the cursor stops: the last of the text, and behind it
GUESSES = 5


def scene(trace: Trace) -> Scene:
    whole = picture(trace)
    n = len(whole.model.tokenizer.encode(whole.text))
    stops = range(max(0, n - TEXT), min(n + WRITTEN, len(whole.labels)))
    costs = [-math.log(max(float(p), 1e-30)) for p in whole.probabilities]
    inner = [at for at in stops if 0 < at < n] or [0]  # before the first piece there is nothing to be wrong about
    return Scene(
        "GPT reads from left to right. Under a piece: its surprise, −ln P, in nats. In the row below: what GPT "
        "expected there. Struck through: not read yet.",
        "Move right to read on; past your last piece GPT writes",
        [frame(whole, n, costs, at) for at in stops],
        by="slider",
        start=stops.index(max(inner, key=lambda at: costs[at])),
        plays=True,
    )


def frame(whole: Trace, n: int, costs: Sequence[float], at: int) -> Frame:
    tokens, label = whole.labels, whole.labels[at]
    end, size = max(n, at + 1), whole.model.config.vocab_size
    first = max(0, min(at - WINDOW + 4, end - WINDOW))
    chances = softmax(whole.tensors["logits"][at].astype(float))

    def card(i: int) -> Card:
        if i > at:
            return Card(tokens[i].text, "unseen")
        state = "written" if i >= n else "asked" if i == at else ""
        return Card(tokens[i].text, state, number(costs[i], 1), costs[i] / math.log(size))

    best = [int(id) for id in np.argsort(-chances, kind="stable")[:GUESSES]]
    best = best if label.id in best else [*best[:-1], label.id]
    names = [token.text for token in whole.model.tokenizer.tokens(best)]
    fan = [
        Card(name, "strong" if id == label.id else "", chance(float(chances[id])), float(chances[id]))
        for name, id in zip(names, best, strict=True)
    ]
    rows = [
        Row([card(i) for i in range(first, min(first + WINDOW, end))], "Text and surprise"),
        Row(fan, "GPT's guesses", "output"),
    ]
    links = [Link((0, at - first), (1, i), float(chances[id]), "output") for i, id in enumerate(best)]
    left = (names[0], fan[0].note) if at == n and best[0] != label.id else None
    return Frame(piece(label.text), says(whole, n, at, costs[at], left), [[Cards(rows, links, slots=WINDOW)]])


def says(whole: Trace, n: int, at: int, cost: float, left: tuple[str, str] | None) -> str:
    """Args: left: the likeliest piece and its probability, if the first that is written is another one"""
    label, share = whole.labels[at], chance(math.exp(-cost))
    if at >= n and label.id == EOS_ID:
        return f"GPT takes “{label.text}”, with **{share}**: the sign that ended each text it learned from. It stops."
    if left:
        return (
            f"GPT’s likeliest piece is “{quoted(left[0])}”, with **{left[1]}**. So that it writes on, it "
            f"takes its likeliest word here: “{quoted(label.text)}”, with **{share}**."
        )
    if at >= n:
        return (
            f"Past your text nothing new happens: GPT takes “{quoted(label.text)}”, with **{share}**, and reads it as "
            "if it were yours."
        )
    before = f"After “{quoted(whole.labels[at - 1].text)}”" if at else "With nothing to read yet"
    return (
        f"{before} GPT gives “{quoted(label.text)}” **{share}**: a surprise of **{number(cost, 1)}** nats. A blind "
        f"guess costs {number(math.log(whole.model.config.vocab_size), 1)}."
    )
