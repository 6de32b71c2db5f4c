"""What the lesson on reading before attention must show."""

import json

from tests.oracle.language import claims
from tests.oracle.language.approved import Prose
from tests.oracle.language.common import Statements, chart_and_numbers, check_cell, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import READABLE, Page
from tests.oracle.passes.readers import FOLDER, Reading, named

prose = Prose("before_attention")

LONG = "The man who told me that he had lost his keys on the train to Boston forgot his umbrella there as well. " * 2
INSIDE = {"RNN: sum": "rnn.pre_activation", "RNN: state": "rnn.hidden", "LSTM: state": "lstm.hidden"}
GATES = ("cell", "forget gate", "input gate", "candidate", "output gate")
INSIDE |= {f"LSTM: {what}": f"lstm.{'_'.join(what.split())}" for what in GATES}
WEIGHTS = ["before training", "trained"]
STATES = (
    {"sentence": LONG, "weights": "trained", "cell": "3.2"},
    {"sentence": "Go", "inside": "RNN: sum", "cell": "1.5"},
    {"sentence": "I see", "weights": "trained"},  # the first piece moves the state a fifth as far
    *({"sentence": "I ate an apple.", "weights": WEIGHTS[n % 2], "inside": one} for n, one in enumerate(INSIDE)),
)
READERS = {"rnn": "RNN", "lstm": "LSTM", "attention": "self-attention"}


def chosen(page: Page) -> tuple[str, Reading]:
    weights = page.choice("weights", WEIGHTS, "before training")
    return weights, Reading([piece.id for piece in page.src], weights == "trained")


def see(page: Page) -> Statements:
    weights, reading = chosen(page)
    yield from prose("how much of each")
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
    first = ", ".join(f"{title} {claims.magnitude(reading.shares(name)[0])}" for name, title in READERS.items())
    names = ", ".join(f"{title} {named(reading.w, reading.ids, name)}" for name, title in READERS.items())
    yield from prose("nudge a piece's vector", weights, first, len(set(reading.ids[:-1])), names)


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
        ("", *READERS.values()),
        ("steps that must wait for each other", str(n), str(n), "1"),
        ("steps from the first piece to the last", str(n - 1), str(n - 1), "1"),
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


def predict(page: Page) -> Statements:
    n, share = len(page.src), Reading([piece.id for piece in page.src], trained=False).shares("rnn")[0]
    yield prose.question("your sentence has pieces", 1, n)
    far = ("at least half as far", "between a tenth and half as far", "less than a tenth as far")
    right = 0 if share >= 0.5 else 1 if share >= 0.1 else 2
    yield prose.question(
        "an untrained rnn has", right, claims.magnitude(share), options=far, wrong=[f"It is not {one}." for one in far]
    )


code = code_of("model/parts/recurrent.py: RNNCell, LSTMCell, Recurrent", "model/families/readers.py: AttentionReader")
