"""What the lesson on the decoder and its output must show."""

import functools

import numpy as np

from tests.oracle.claims import (
    Question,
    bars,
    caption,
    chance,
    fold,
    latex,
    magnitude,
    markdown,
    matrix,
    number,
    question,
    rounding,
    segmented,
    select,
    slider,
    table,
    visible,
)
from tests.oracle.common import Shown, Statements, check_cell, code_part, shown_tensor, tensor_matrix
from tests.oracle.decode import filter_logits
from tests.oracle.forward import Array, Forward, config, softmax
from tests.oracle.page import READABLE, Page
from tests.oracle.space import name
from tests.oracle.statement import Statement
from tests.oracle.words import inline, pieces
from tests.oracle.worked import EMBEDDING, writes

LONG = " ".join(["The animal didn't cross the street because it was too wide."] * 4)
STAGES = ("1 decoder output", "2 logits", "3 probabilities")
TRIALS = ("Stop at an earlier layer", "Temperature", "Push one entry")
STATES = (
    {},
    {"row": "4", "output_stage": STAGES[0], "stop": "embedding", "cell": "1.7"},
    {"sentence": "Frobnicating quokkas!", "output_stage": STAGES[2], "output_trial": TRIALS[1], "cell": "1.3"},
    {"sentence": "Go", "row": "2", "output_trial": TRIALS[1], "temperature": "0.0", "cell": "1.10"},
    {"row": "3", "output_trial": TRIALS[2], "push": "-2.5", "entry_pushed": "5"},
    {"sentence": "Go", "output_stage": STAGES[0], "output_trial": TRIALS[2], "entry_pushed": "1"},
    {"sentence": LONG, "stop": "layer 1", "output_stage": STAGES[2]},
    {"output_trial": TRIALS[1], "temperature": "0.6"},
)
LIKELIEST = 10


def idea(page: Page) -> Statements:
    n_layers, (t, v) = config()["n_layers"], page.oracle["logits"].shape
    yield markdown(
        "At each position the decoder ends with one vector, a row of Y. **Linear** compares it with every row of E, "
        "the embeddings of the vocabulary: each entry gets a score, its *logit*. **Softmax** turns the scores into "
        "probabilities of the next piece."
    )
    yield latex(r"P=\operatorname{softmax}(Y\,E^{\mathsf T})")
    yield fold("The decoder's layers, and why the output is called tied")
    yield markdown(
        f"Each of the {n_layers} decoder layers has three sub-layers: **masked self-attention** (what is written so "
        "far), **encoder-decoder attention** (what your sentence says) and **feed-forward**, each followed by Add & "
        f"Norm. After the last one, Y holds a row for each of the T = {t} positions."
    )
    yield markdown(
        f"E is the embedding matrix, with a row for each of the V = {v:,} entries. It is the same one that turns "
        "pieces into vectors: the output is *tied* to the input. A logit is large where the decoder's vector points "
        "the way the entry's embedding does."
    )


def unsure(page: Page) -> int:
    """The position at which what is written was least likely."""
    return int(page.probabilities.argmin())


def position(page: Page) -> int:
    return page.count("row", len(page.tgt), unsure(page) + 1) - 1


def likeliest(values: Array) -> list[int]:
    """Ids of the ten largest of a row (V)."""
    return [int(id) for id in np.argsort(-values, kind="stable")[:LIKELIEST]]


def stage(page: Page) -> str:
    return page.choice("output_stage", STAGES, STAGES[1])


def shown(page: Page) -> Shown:
    row = position(page)
    if stage(page) == STAGES[0]:
        last = writes("decoder", config()["n_layers"] - 1)
        return shown_tensor(page, last, only_rows=[row], n_columns=64, describe="dimension {column}: {value}")
    ids = likeliest(page.oracle["logits"][row])
    is_logits = stage(page) == STAGES[1]
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
    options = [f"{n} {visible(piece.text)}" for n, piece in enumerate(page.tgt, 1)]
    yield select("Position, by the piece just read", options, options[row])
    yield segmented("Show", STAGES, stage(page))
    if stage(page) == STAGES[0]:
        yield from tensor_matrix(
            shown(page),
            title=f"What the last decoder layer holds at position {row + 1}",
            how_to_read="A row of Y; a column is one of its dimensions.",
        )
        yield caption(f"Shown: the first 64 of {d_model} dimensions.")
    else:
        what = "logits" if stage(page) == STAGES[1] else "probabilities"
        yield from tensor_matrix(
            shown(page),
            title=f"The ten largest {what} at position {row + 1}",
            how_to_read=f"Ten of {v:,} columns; ␣ is a space.",
        )
    read, shares = page.tgt[row], softmax(page.oracle["logits"][row])
    ids = likeliest(shares)
    yield markdown(f"**What may come after {inline(read.text)}**")
    yield bars([name(id) for id in ids], shares[ids], "The ten likeliest next pieces, with their probabilities")
    yield markdown(
        f"The model writes **{inline(page.labels[row].text)}**. All other {v - LIKELIEST:,} entries share "
        f"{magnitude(np.delete(shares, ids).sum())}."
    )
    again = page.oracle["logits"][row, read.id]
    came_in, used = page.oracle["decoder.embedding.tokens"][row], page.oracle[EMBEDDING][read.id]
    yield fold("Tied: the same matrix on the way in and on the way out")
    yield markdown(
        f"The piece just read, **{inline(read.text)}**, has the id {read.id}: it came in as row {read.id} of "
        "E (rows of E count from 0, like ids). Were the model to write the same piece again, its logit would be "
        f"{number(again)}: this position's vector times that very row. The largest difference between the row that "
        f"came in and the row used here is {magnitude(np.abs(came_in - used).max())}."
    )
    yield caption(
        f"Shapes: Y ({t}, {d_model}), Eᵀ ({d_model}, {v:,}), logits and probabilities ({t}, {v:,}), a row a position."
    )


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def do(page: Page) -> Statements:
    trial = page.choice("output_trial", TRIALS, TRIALS[0])
    yield segmented("Try", TRIALS, trial)
    yield from {TRIALS[0]: stop, TRIALS[1]: temperature, TRIALS[2]: push}[trial](page)


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
    yield markdown(
        "What would the model write if it stopped earlier? Hand what each layer returns to the same output matrix, as "
        "if that layer were the last. This is called the *logit lens*."
    )
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
    yield caption(
        "A row is a position, named by the piece just read; a column is where one stops. Beside each piece its "
        "probability; ✓ is what is really written there, ↩ the piece just read."
    )
    if length < t:
        yield caption(f"Shown: the first {length} of {t} positions.")
    yield markdown("How often is the first choice the piece just read, and how often the piece to be written?")
    yield table(
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
    yield markdown(
        "A fair reading? Not quite. The output matrix was trained on rows as long as the last layer returns. Shorter "
        "rows give smaller logits, and smaller logits give flatter probabilities: look at the lengths in the table. "
        "And training never asked an earlier layer for a word. What it returns is made for the next layer."
    )
    early = page.choice("stop", names[:-1], names[-2])
    yield segmented("Stop after", names[:-1], early)
    for title, one in (
        (f"After all {len(names) - 1} layers", shares[-1][row]),
        (f"Stopped after {early}", shares[names.index(early)][row]),
    ):
        yield markdown(f"**{title}**, at position {row + 1}, having read {inline(page.tgt[row].text)}")
        yield bars([name(id) for id in likeliest(one)], one[likeliest(one)], title)
    yield fold("How likely every layer finds what is really written")
    yield matrix(
        np.stack([one[np.arange(t), written] for one in shares])[:, :length],
        names,
        [piece.text for piece in page.labels[:length]],
        title="The probability of what is really written",
        how_to_read="A row is the layer after which one stops; a column is the piece written there.",
        describe="“{column}” after {row}: {value}",
        csv_name="logit lens",
    )


# --- what the softmax makes of logits --------------------------------------------------------------------------------


def entropy(shares: Array) -> float:
    """In bits."""
    some = shares[shares > 0]
    return float(-(some * np.log2(some)).sum())


def side_by_side(ids: list[int], *sides: tuple[str, Array]) -> Statements:
    for title, shares in sides:
        needed = next(n for n, total in enumerate(np.cumsum(np.sort(shares)[::-1]), 1) if total >= 0.9)
        yield markdown(f"**{title}**")
        yield bars([name(id) for id in ids], shares[ids], title)
        yield markdown(
            f"Entropy **{number(entropy(shares), 2)} bits** · largest **{number(shares.max(), 3)}** · entries that it "
            f"takes to reach 0.9: **{needed:,}**"
        )


def temperature(page: Page) -> Statements:
    yield markdown(
        "Before the softmax, the logits may be divided by a number τ, the *temperature*. It is used when the next "
        "piece is drawn at random: below 1 the likely pieces gain, above 1 the unlikely ones."
    )
    tau, row = float(page.state.get("temperature", "2.0")), position(page)
    yield slider("Temperature τ", 0.0, 3.0, tau)
    logits = page.oracle["logits"][row]
    after = filter_logits(logits, tau, 0, 2.0)
    yield from side_by_side(
        likeliest(logits), ("Before: τ = 1", softmax(logits)), (f"After: τ = {number(tau, 1)}", after)
    )
    v = len(logits)
    yield caption(
        f"Position {row + 1}, chosen under See. The entropy says how undecided the model is: 0 bits if one entry has "
        f"it all, {number(np.log2(v), 2)} bits if all {v:,} are alike. The order of the entries never changes. At "
        "τ = 0, where one cannot divide, the largest logit takes all; at a high τ the many unlikely entries add up, "
        "which is why whoever samples often leaves them out."
    )


def push(page: Page) -> Statements:
    yield markdown(
        "Add a number to one logit and nothing to the others. Above 0 that entry gains, and every other loses the same "
        "part of what it had; below 0 it is the other way round."
    )
    row, by = position(page), float(page.state.get("push", "3.0"))
    logits = page.oracle["logits"][row]
    ids = likeliest(logits)
    options = [f"{n} {visible(name(id))}" for n, id in enumerate(ids, 1)]
    chosen = page.count("entry_pushed", LIKELIEST, 2) - 1
    yield select("Entry to push", options, options[chosen])
    yield slider("Add to its logit", -10.0, 10.0, by)
    before, after = softmax(logits), softmax(logits + by * (np.arange(len(logits)) == ids[chosen]))
    yield from side_by_side(ids, ("Before", before), (f"After: {number(by, 1)} added to one logit", after))
    pushed = ids[chosen]
    one, two = [id for id in ids if id != pushed][:2]
    yield markdown(
        f"**{inline(name(pushed))}** goes from {magnitude(before[pushed])} to {magnitude(after[pushed])}. The others "
        f"keep their ratios: **{inline(name(one))}** was {magnitude(before[one] / before[two])} times as likely as "
        f"**{inline(name(two))}**, and now it is {magnitude(after[one] / after[two])} times."
    )
    yield caption(
        f"Position {row + 1}, chosen under See. A softmax turns differences of logits into ratios of probabilities."
    )


# --- questions -------------------------------------------------------------------------------------------------------


def predict(page: Page) -> Statements:
    (t, v), d_model = page.oracle["logits"].shape, config()["d_model"]
    yield question(
        "A sentence of T pieces goes through the decoder, Linear and softmax. What shape has the result?",
        (
            r"$\mathbb{R}^{T\times d_{model}}$: one vector for each piece",
            r"$\mathbb{R}^{T\times V}$: at each position one probability for each entry of the vocabulary",
            r"$\mathbb{R}^{V}$: one probability for each entry of the vocabulary",
            r"$\mathbb{R}^{T\times T}$: one probability for each pair of pieces",
        ),
        1,
        f"Here it is ({t}, {v:,}). The decoder's output is ({t}, {d_model}), and Eᵀ takes each row from {d_model} to "
        f"{v:,} numbers. In training all {t} rows are used at once; when writing, only the last one.",
        {
            0: "That is what goes into Linear, not what comes out of the softmax.",
            2: "That is one row of it: each position has a row of its own.",
            3: "That is the shape of attention weights, from piece to piece.",
        },
    )
    yield after_one_layer(page)
    yield question(
        "Add 100 to every logit of a row. What happens to its probabilities?",
        (
            "They all grow.",
            "The likeliest entry takes nearly everything.",
            "Nothing: they stay as they are.",
        ),
        2,
        f"The largest change at position {unsure(page) + 1} is {rounding(1e-12)}. Every e to the power grows by the "
        "same factor, above and below the fraction bar, and it cancels out: only differences between logits count.",
        {
            0: "They cannot: they add up to 1, before and after.",
            1: "That happens when the logits are multiplied, not when the same number is added to all.",
        },
    )


def after_one_layer(page: Page) -> Question:
    row, (_, _, shares) = unsure(page), lens(page.oracle)
    read, written = page.tgt[row], page.labels[row]
    first = int(shares[1][row].argmax())
    right = 0 if first == read.id else 1 if first == written.id else 2
    wrong = (
        "After one layer the vector no longer points most to what came in.",
        "One layer is not enough for that here.",
        "It is one of the two that are named.",
    )
    return question(
        f"Stop after decoder layer 1 at position {row + 1}, where the decoder has just read **{inline(read.text)}** "
        f"and will write **{inline(written.text)}**. Hand the vector to the output all the same. What is the first "
        "choice?",
        (
            f"the piece just read, {inline(read.text)}",
            f"the piece to be written, {inline(written.text)}",
            "another piece",
        ),
        right,
        f"It is **{inline(name(first))}**, with a probability of {magnitude(shares[1][row, first])}. What is really "
        f"written gets {magnitude(shares[1][row, written.id])} after layer 1 and "
        f"{magnitude(shares[-1][row, written.id])} after layer {config()['n_layers']}.",
        {n: text for n, text in enumerate(wrong) if n != right},
    )


def code(page: Page) -> Statements:
    yield from code_part(
        ("model/parts/layers.py", "DecoderLayer.forward"),
        ("model/families/encoder_decoder.py", "EncoderDecoder.output"),
        ("model/decoding/strategies.py", "filter_logits"),
    )
