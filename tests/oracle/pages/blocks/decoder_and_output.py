"""What the lesson on the decoder and its output must show."""

import functools

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, magnitude, number, rounding, visible
from tests.oracle.language.common import Choice, Shown, Statements, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import inline, pieces
from tests.oracle.passes.decode import filter_logits
from tests.oracle.passes.forward import Array, Forward, config, softmax
from tests.oracle.passes.space import name
from tests.oracle.shown.worked import EMBEDDING, writes

prose = Prose("decoder_and_output")

LONG = " ".join(["The animal didn't cross the street because it was too wide."] * 4)
STAGE = Choice("Show", "output_stage", ("1 decoder output", "2 logits", "3 probabilities"), "2 logits")
STAGES = STAGE.options
TRIAL = Choice("Try", "output_trial", ("Stop at an earlier layer", "Temperature", "Push one entry"))
TRIALS = TRIAL.options
STATES = (
    {},
    {"row": "4", "output_stage": STAGES[0], "stop": "embedding", "cell": "1.7"},
    {"sentence": "Frobnicating quokkas!", "output_stage": STAGES[2], "output_trial": TRIALS[1], "cell": "1.3"},
    {"sentence": "Go", "row": "2", "output_trial": TRIALS[1], "temperature": "0.0", "cell": "1.10"},
    {"row": "3", "output_trial": TRIALS[2], "push": "-2.5", "entry_pushed": "5"},
    {"sentence": "Go", "output_stage": STAGES[0], "output_trial": TRIALS[2], "entry_pushed": "1"},
    {"sentence": LONG, "stop": "layer 1", "output_stage": STAGES[2]},
    {"sentence": "ภาษาไทย <b>$x$</b> </td>", "row": "99"},
    {"output_trial": TRIALS[1], "temperature": "0.6", "row": "٣"},
    {"sentence": "aaaa"},  # where it is least sure, it reads what it writes
)
LIKELIEST = 10


def idea(page: Page) -> Statements:
    n_layers, (t, v) = config()["n_layers"], page.oracle["logits"].shape
    yield from prose("at each position the", n_layers, t, f"{v:,}")


def unsure(page: Page) -> int:
    """The position at which what is written was least likely."""
    return int(page.probabilities.argmin())


def position(page: Page) -> int:
    return page.count("row", len(page.tgt), unsure(page) + 1) - 1


def likeliest(values: Array) -> list[int]:
    """Ids of the ten largest of a row (V)."""
    return [int(id) for id in np.argsort(-values, kind="stable")[:LIKELIEST]]


def shown(page: Page) -> Shown:
    row = position(page)
    if STAGE.of(page) == STAGES[0]:
        last = writes("decoder", config()["n_layers"] - 1)
        return shown_tensor(page, last, only_rows=[row], n_columns=64, describe="dimension {column}: {value}")
    ids = likeliest(page.oracle["logits"][row])
    is_logits = STAGE.of(page) == STAGES[1]
    return shown_tensor(
        page,
        "logits" if is_logits else "probabilities",
        only_rows=[row],
        only_columns=ids,
        columns=[name(id) for id in ids],
        start=(0, 0),
        describe="“{column}”: {value}",
        scale="signed" if is_logits else "weight",
    )


def see(page: Page) -> Statements:
    row, (t, v), d_model = position(page), page.oracle["logits"].shape, config()["d_model"]
    yield claims.numbered("Position, by the piece just read", page.tgt, row)
    yield STAGE.drawn(page)
    if STAGE.at(page) == 0:
        yield from tensor_matrix(shown(page), **prose.words("a row of y", row + 1))
        yield from prose("shown the first of", d_model)
    else:
        yield from tensor_matrix(shown(page), **prose.words("the ten largest", STAGE.of(page)[2:], row + 1, f"{v:,}"))
    read, shares = page.tgt[row], softmax(page.oracle["logits"][row])
    ids = likeliest(shares)
    yield from prose("what may come after", inline(read.text))
    yield claims.bars([name(id) for id in ids], shares[ids], "The ten likeliest next pieces, with their probabilities")
    yield from prose(
        "the model writes all",
        inline(page.labels[row].text),
        f"{v - LIKELIEST:,}",
        magnitude(np.delete(shares, ids).sum()),
    )
    again = page.oracle["logits"][row, read.id]
    came_in, used = page.oracle["decoder.embedding.tokens"][row], page.oracle[EMBEDDING][read.id]
    yield from prose(
        "tied the same matrix", inline(read.text), read.id, number(again), magnitude(np.abs(came_in - used).max())
    )
    yield from prose("shapes y e logits", t, d_model, f"{v:,}")


# --- the logit lens --------------------------------------------------------------------------------------------------


@functools.lru_cache(16)
def lens(oracle: Forward) -> tuple[list[str], list[Array], list[Array]]:
    """Where one may stop: names, rows (T, d_model), and the probabilities (T, V) that the output makes of them."""
    n_layers = config()["n_layers"]
    names = ["embedding", *(f"layer {n}" for n in range(1, n_layers + 1))]
    rows = [oracle["decoder.embedding.output"], *(oracle[writes("decoder", n)] for n in range(n_layers))]
    return names, rows, [softmax(one @ oracle[EMBEDDING].T) for one in rows]


def stop(page: Page) -> Statements:
    names, rows, shares = lens(page.oracle)
    read, written = ([piece.id for piece in some] for some in (page.tgt, page.labels))
    row, t = position(page), len(written)
    length = min(t, READABLE)
    yield from prose("what would the model")
    first = [one.argmax(-1) for one in shares]

    def cell(n: int, i: int) -> str:
        id = int(first[n][i])
        mark = "✓" if id == written[i] else "↩" if id == read[i] else ""
        return f"{visible(pieces([id])[0].text)} {chance(shares[n][i, id], 2)} {mark}"

    yield Statement(
        "word_grid",
        {
            "title": "The first choice of every layer at every position",
            "rows": [
                ["after reading", *names],
                *([visible(page.tgt[i].text), *(cell(n, i) for n in range(len(names)))] for i in range(length)),
            ],
            "shades": np.array([[one[i].max() for one in shares] for i in range(length)]),
        },
    )
    yield from prose("a row is a")
    if length < t:
        yield from prose("shown the first of positions", length, t)
    yield from prose("how often is the")
    yield claims.table(
        ("after", "just read", "to be written", "mean probability of the latter", "mean length of a row"),
        *(
            (
                where,
                f"{(choice == read).sum()} of {t}",
                f"{(choice == written).sum()} of {t}",
                number(one[np.arange(t), written].mean(), 3),
                number(np.sqrt((vectors**2).sum(1)).mean(), 1),
            )
            for where, choice, one, vectors in zip(names, first, shares, rows, strict=True)
        ),
    )
    yield from prose("a fair reading not")
    early = yield from common.choose(page, "Stop after", "stop", names[:-1], names[-2])
    for title, one in (
        (f"After all {len(names) - 1} layers", shares[-1][row]),
        (f"Stopped after {early}", shares[names.index(early)][row]),
    ):
        yield from prose("at position having read", title, row + 1, inline(page.tgt[row].text))
        yield claims.bars([name(id) for id in likeliest(one)], one[likeliest(one)], title)
    yield from prose("how likely every layer")
    yield claims.matrix(
        np.stack([one[np.arange(t), written] for one in shares])[:, :length],
        names,
        [piece.text for piece in page.labels[:length]],
        **prose.words("logit lens"),
    )


# --- what the softmax makes of logits --------------------------------------------------------------------------------


def entropy(shares: Array) -> float:
    """In bits."""
    some = shares[shares > 0]
    return float(-(some * np.log2(some)).sum())


def side_by_side(ids: list[int], *sides: tuple[str, Array]) -> Statements:
    for title, shares in sides:
        needed = next(n for n, total in enumerate(np.cumsum(np.sort(shares)[::-1]), 1) if total >= 0.9)
        yield claims.markdown(f"**{title}**")
        yield claims.bars([name(id) for id in ids], shares[ids], title)
        yield from prose(
            "entropy bits largest entries", number(entropy(shares), 2), number(shares.max(), 3), f"{needed:,}"
        )


def temperature(page: Page) -> Statements:
    yield from prose("before the softmax the")
    tau, row = float(page.state.get("temperature", "2.0")), position(page)
    yield claims.slider("Temperature τ", 0.0, 3.0, tau)
    logits = page.oracle["logits"][row]
    after = filter_logits(logits, tau, 0, 2.0)
    yield from side_by_side(
        likeliest(logits), ("Before: τ = 1", softmax(logits)), (f"After: τ = {number(tau, 1)}", after)
    )
    v = len(logits)
    yield from prose("position chosen under see", row + 1, number(np.log2(v), 2), f"{v:,}")


def push(page: Page) -> Statements:
    yield from prose("add a number to")
    row, by = position(page), float(page.state.get("push", "3.0"))
    logits = page.oracle["logits"][row]
    ids = likeliest(logits)
    chosen = page.count("entry_pushed", LIKELIEST, 2) - 1
    yield claims.numbered("Entry to push", [name(id) for id in ids], chosen)
    yield claims.slider("Add to its logit", -10.0, 10.0, by)
    before, after = softmax(logits), softmax(logits + by * (np.arange(len(logits)) == ids[chosen]))
    yield from side_by_side(ids, ("Before", before), (f"After: {number(by, 1)} added to one logit", after))
    pushed = ids[chosen]
    one, two = [id for id in ids if id != pushed][:2]
    own = inline(name(pushed)), magnitude(before[pushed]), magnitude(after[pushed])
    was, now = (magnitude(shares[one] / shares[two]) for shares in (before, after))
    yield from prose("goes from to the", *own, inline(name(one)), was, inline(name(two)), now)
    yield from prose("position chosen under see a", row + 1)


# --- questions -------------------------------------------------------------------------------------------------------


def predict(page: Page) -> Statements:
    (t, v), d_model = page.oracle["logits"].shape, config()["d_model"]
    yield prose.question("a sentence of t", 1, t, f"{v:,}", d_model)
    yield after_one_layer(page)
    yield prose.question("add to every logit", 2, unsure(page) + 1, rounding(1e-12))


def after_one_layer(page: Page) -> claims.Question:
    _, _, shares = lens(page.oracle)
    told = [i for i, (read, label) in enumerate(zip(page.tgt, page.labels, strict=True)) if read.id != label.id]
    row = min(told, key=lambda i: page.probabilities[i])
    read, written = page.tgt[row], page.labels[row]
    first = int(shares[1][row].argmax())
    right = 0 if first == read.id else 1 if first == written.id else 2
    here, last = shares[1][row], shares[-1][row]
    sizes = (magnitude(one) for one in (here[first], here[written.id], last[written.id]))
    values = row + 1, inline(read.text), inline(written.text), inline(name(first)), *sizes, config()["n_layers"]
    return prose.question("stop after decoder layer", right, *values)


do = TRIAL.trials(stop, temperature, push)
code = code_of(
    "model/parts/layers.py: DecoderLayer.forward",
    "model/families/encoder_decoder.py: EncoderDecoder.output",
    "model/decoding/strategies.py: filter_logits",
)
