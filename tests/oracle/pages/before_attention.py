"""What the lesson on reading before attention must show."""

import json

from tests.oracle import claims
from tests.oracle.common import Statements, check_cell, code_part, numbers_of_figure, shown_tensor, tensor_matrix
from tests.oracle.page import READABLE, Page
from tests.oracle.readers import FOLDER, Reading, named

LONG = "The man who told me that he had lost his keys on the train to Boston forgot his umbrella there as well. " * 2
INSIDE = {"RNN: sum": "rnn.pre_activation", "RNN: state": "rnn.hidden", "LSTM: state": "lstm.hidden"}
GATES = ("cell", "forget gate", "input gate", "candidate", "output gate")
INSIDE |= {f"LSTM: {what}": f"lstm.{'_'.join(what.split())}" for what in GATES}
WEIGHTS = ["before training", "trained"]
STATES = (
    {"sentence": LONG, "weights": "trained", "cell": "3.2"},
    {"sentence": "Go", "inside": "RNN: sum", "cell": "1.5"},
    *({"sentence": "I ate an apple.", "weights": WEIGHTS[n % 2], "inside": one} for n, one in enumerate(INSIDE)),
)
READERS = {"rnn": "RNN", "lstm": "LSTM", "attention": "self-attention"}


def chosen(page: Page) -> tuple[str, Reading]:
    weights = page.choice("weights", WEIGHTS, "before training")
    return weights, Reading([piece.id for piece in page.src], weights == "trained")


def idea(page: Page) -> Statements:
    yield claims.markdown(
        "Before attention, a network read a sentence as we read aloud: one *piece* (a word or a part of one) after the "
        "other. Such a **recurrent network** (RNN) carries a list of numbers along, its **state**, and makes a new one at "
        "every piece. **Self-attention** carries nothing along: every piece reads all pieces directly."
    )
    yield claims.fold("How an RNN makes its next state, and what an LSTM adds")
    yield claims.markdown(
        "A list of numbers is called a *vector*. At piece t, an RNN makes a new state h from the piece's vector x and the "
        "state before. The numbers in W, U and b are learned:"
    )
    yield claims.latex(r"h_t=\tanh(Wx_t+Uh_{t-1}+b)")
    yield claims.markdown(
        "An **LSTM** is an RNN that carries a second vector, its *cell*. *Gates*, numbers between 0 and 1, decide what the "
        "cell keeps, takes in and shows. In the first neural translators, the half that writes got only the last state of "
        "the sentence."
    )


def see(page: Page) -> Statements:
    weights, reading = chosen(page)
    yield claims.markdown("**How much of each piece is left at the end?**")
    yield claims.segmented("Weights", WEIGHTS, weights)
    pieces = [piece.text for piece in page.src]
    yield claims.columns(
        pieces,
        [claims.Series(title, reading.shares(name)) for name, title in READERS.items()],
        alt=f"How far each piece moves the last state of each reader, {weights}",
        axis="how far each piece moves the last state; the one that moves it furthest is 1",
        limit=1,
    )
    lines = [[claims.magnitude(share) for share in reading.shares(name)] for name in READERS]
    yield from numbers_of_figure(("piece", *READERS.values()), *zip(pieces, *lines, strict=True))
    first = ", ".join(f"{title} {claims.magnitude(reading.shares(name)[0])}" for name, title in READERS.items())
    names = ", ".join(f"{title} {named(reading.w, reading.ids, name)}" for name, title in READERS.items())
    yield claims.caption(
        "Nudge a piece's vector: how far does the last state move? The readers are an RNN, an LSTM (an RNN that carries a "
        f"second vector) and self-attention. The first piece, {weights}: {first}."
    )
    yield claims.fold("What the columns are, and what the readers are trained for")
    yield claims.markdown(
        "The columns are lengths of gradients. Training asks the readers to name, from the last state alone, the pieces "
        f"of a text. Of the {len(set(reading.ids[:-1]))} different ones in yours they name, {weights}: {names}."
    )


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
    yield claims.markdown(f"**What has to wait?** Your sentence has {n} pieces, its end mark included.")
    yield claims.table(
        ("", *READERS.values()),
        ("steps that must wait for each other", str(n), str(n), "1"),
        ("steps from the first piece to the last", str(n - 1), str(n - 1), "1"),
    )
    yield claims.caption(
        f"What attention pays: for T pieces of d = {d} numbers an RNN takes 2Td² multiplications, an LSTM 8Td², "
        "self-attention 4Td² + 2T²d. Twice the pieces are twice the work in a recurrent network, but four times the "
        f"work in the term with T²: beyond T = 2d = {2 * d} pieces attention takes more of them than the LSTM. And it "
        "knows no order: unless positions are added to the vectors, the same pieces give the same in any order."
    )
    yield claims.button("Measure the time")
    yield claims.markdown(
        "**How far back can each learn to look?** Trained anew to name only the first piece of a text:"
    )
    far = json.loads((FOLDER / "distances.json").read_text())
    lengths = [2, 5, 10, 20, 40]
    runs = {
        title: [{f"{share:.2f}" for share in far[str(t)][name]} for t in lengths] for name, title in READERS.items()
    }
    lines = [(title, *("–".join(sorted({min(one), max(one)})) for one in many)) for title, many in runs.items()]
    yield claims.table(("named rightly", *(f"{t} pieces" for t in lengths)), *lines)
    yield claims.caption(
        f"Shares of new texts, in the worst and the best of three runs of {far['recipe']['steps']} steps; only the length "
        "of the texts differs. Always to name the most frequent first piece is right for "
        f"{claims.number(far['40']['most frequent'], 2)} of the longest."
    )


def predict(page: Page) -> Statements:
    n, share = len(page.src), Reading([piece.id for piece in page.src], trained=False).shares("rnn")[0]
    yield claims.question(
        f"Your sentence has {n} pieces. How many steps must wait for each other, in an RNN and in self-attention?",
        (f"{n} and {n}", f"{n} and 1", f"1 and {n}"),
        1,
        "The RNN's state at a piece needs the state before it. Self-attention reads all pieces in one step.",
        {0: "In self-attention no piece waits for another.", 2: "It is the other way round."},
    )
    far = ("at least half as far", "between a tenth and half as far", "less than a tenth as far")
    right = 0 if share >= 0.5 else 1 if share >= 0.1 else 2
    yield claims.question(
        "An untrained RNN has read your sentence. Nudge its pieces, one at a time. How far does the first piece move the "
        "last state, beside the piece that moves it furthest?",
        far,
        right,
        f"{claims.magnitude(share)} times as far. Each step back multiplies the gradient by U and by the slope of tanh.",
        {at: f"It is not {far[at]}." for at in range(3) if at != right},
    )


def code(page: Page) -> Statements:
    names = "RNNCell", "LSTMCell", "Recurrent"
    yield from code_part(
        *(("model/parts/recurrent.py", name) for name in names), ("model/families/readers.py", "AttentionReader")
    )
