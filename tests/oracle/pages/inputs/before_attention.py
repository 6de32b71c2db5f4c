"""What the lesson on reading before attention must show."""

import json
from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.common import Statements, chart_and_numbers, check_cell, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.words import pieces, visible
from tests.oracle.passes.readers import FOLDER, Reading, named, shares

prose = Prose("before_attention")

LONG = "The man who told me that he had lost his keys on the train to Boston forgot his umbrella there as well. " * 2
INSIDE = {"RNN: sum": "rnn.pre_activation", "RNN: state": "rnn.hidden", "LSTM: state": "lstm.hidden"}
GATES = ("cell", "forget gate", "input gate", "candidate", "output gate")
INSIDE |= {f"LSTM: {what}": f"lstm.{'_'.join(what.split())}" for what in GATES}
WEIGHTS = ["before training", "trained"]
ANSWERS = {"rnn": "an rnn hands its", "lstm": "an lstm hands two", "attention": "self attention reads all"}
STATES = (
    {"sentence": LONG, "weights": "trained", "cell": "3.2", "stop": "3"},
    {"sentence": "Go", "inside": "RNN: sum", "cell": "1.5"},
    {"sentence": "I see", "weights": "trained"},  # the first piece moves the state a fifth as far
    *({"sentence": "I ate an apple.", "weights": WEIGHTS[n % 2], "inside": one} for n, one in enumerate(INSIDE)),
)
READERS = {"rnn": "RNN", "lstm": "LSTM", "attention": "self-attention"}


def chosen(page: Page) -> tuple[str, Reading]:
    weights = page.choice("weights", WEIGHTS, "before training")
    return weights, Reading([piece.id for piece in page.src], weights == "trained")


def scene(page: Page) -> Statements:
    ids, cut = read_ids(page), " Read here: the first 9 pieces and the end mark." if len(page.src) > 10 else ""
    frames = [scene_frame(ids, name, trained) for trained in (False, True) for name in READERS]
    yield from screen.scene(page, prose.line("before attention a network", cut), "Read by", frames)


def read_ids(page: Page) -> list[int]:
    ids = [piece.id for piece in page.src]
    return [*ids[:9], ids[-1]] if len(ids) > 10 else ids


def scene_frame(ids: list[int], name: str, trained: bool) -> dict[str, Any]:
    """Row s, column t: how far piece s moves the state at t; what attention has read is never carried on."""
    texts, direct = [piece.text for piece in pieces(ids)], name == "attention"
    widths = np.zeros((len(ids), len(ids)))
    for t in range(len(ids)):
        widths[: t + 1, t] = shares(tuple(ids if direct else ids[: t + 1]), trained, name)[: t + 1]
    last = widths[:, -1]
    best = int(last.argmax())
    times = f"**{claims.magnitude(last[0])}** times as far as {visible(texts[best])} does"
    return screen.frame(
        f"{READERS[name]}, {WEIGHTS[trained]}",
        prose.line(
            ANSWERS[name], 1 if direct else len(ids), visible(texts[0]), times if best else "farther than any other"
        ),
        (
            screen.bands(
                texts,
                widths,
                [claims.magnitude(share) for share in last],
                title="No state: the end reads each piece" if direct else "One state, handed from piece to piece",
                head="moves the end (most: 1)",
                direct=direct,
            ),
        ),
    )


def see(page: Page) -> Statements:
    weights, reading = chosen(page)
    yield from prose("how far does each")
    yield claims.segmented("Weights", WEIGHTS, weights)
    pieces = [piece.text for piece in page.src]
    yield from chart_and_numbers(
        "piece",
        pieces,
        [claims.Series(title, reading.shares(name)) for name, title in READERS.items()],
        claims.magnitude,
        alt=f"How far each piece moves the last state of each reader, {weights}",
        axis="how far each piece moves the last state; the one that moves it furthest is 1",
        limit=1,
    )
    names = ", ".join(f"{title} {named(reading.w, reading.ids, name)}" for name, title in READERS.items())
    yield from prose("nudge a piece's vector", len(set(reading.ids[:-1])), weights, names)


def check(page: Page) -> Statements:
    (weights, reading), inside = chosen(page), page.choice("inside", list(INSIDE), "LSTM: cell")
    yield claims.segmented("What to work out", list(INSIDE), inside)
    rows = [piece.text for piece in page.src[:READABLE]]
    shown = shown_tensor(page, INSIDE[inside], rows=rows, n_columns=8, oracle=reading)  # type: ignore[arg-type]
    how = "A row for each step: the vector that it makes."
    yield from tensor_matrix(shown, title=f"{inside}, {weights}", how_to_read=how)
    yield from check_cell(shown)


def do(page: Page) -> Statements:
    n, d = len(page.src), 64
    yield from prose("what has to wait", n)
    yield claims.table(
        ("steps", *READERS.values()),
        ("that must wait for each other", str(n), str(n), "1"),
        ("from the first piece to the last", str(n - 1), str(n - 1), "1"),
    )
    yield from prose("what attention pays for", d, 2 * d)
    yield claims.button("Measure the time")
    yield from prose("how far back can")
    far = json.loads((FOLDER / "distances.json").read_text())
    lengths = [2, 5, 10, 20, 40]
    runs = {
        title: [{f"{share:.2f}" for share in far[str(t)][name]} for t in lengths] for name, title in READERS.items()
    }
    lines = [(title, *("–".join(sorted({min(one), max(one)})) for one in many)) for title, many in runs.items()]
    yield claims.table(("named rightly", *(f"{t} pieces" for t in lengths)), *lines)
    yield from prose("shares of new texts", far["recipe"]["steps"], claims.number(far["40"]["most frequent"], 2))
    longer = far["40, twice the steps"]
    runs = (", ".join(claims.number(share, 2) for share in one["attention"]) for one in (far["40"], longer))
    yield from prose(
        "at pieces the three", 40, *runs, *(claims.number(max(longer[name]), 2) for name in ("rnn", "lstm"))
    )


def predict(page: Page) -> Statements:
    n, ids = len(page.src), read_ids(page)
    yield prose.question("your sentence has pieces", 1, n)
    once, twice = (Reading(read, trained=False).shares("rnn")[0] for read in (ids, ids[:-1] + ids))
    times = twice / once
    far = ("at least half as far", "between a tenth and half as far", "less than a tenth as far")
    right = 0 if times >= 0.5 else 1 if times >= 0.1 else 2
    yield prose.question(
        "now the untrained rnn", right, claims.magnitude(times), options=far, wrong=[f"It is not {one}." for one in far]
    )


code = code_of("model/parts/recurrent.py: RNNCell, LSTMCell, Recurrent", "model/families/readers.py: AttentionReader")
