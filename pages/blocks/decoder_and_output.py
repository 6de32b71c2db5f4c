"""Lesson: what a decoder layer is made of, and how its last vector becomes probabilities of the next piece."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
import torch

from experiments.logit_lens import LIKELIEST, Lens, logit_lens
from figures.statistics import entropy_bits, softmax
from model.decoding import filter_logits
from model.families.encoder_decoder import EncoderDecoder
from model.layers import DecoderLayer
from model.trace import Array, Trace
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.piece_control import choose_part, current_part
from ui.controls.segmented import one_of
from ui.controls.vocabulary_entry import EMBEDDINGS, entries
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Lesson
from ui.course.quiz import Question
from ui.text import in_markdown, magnitude, number, piece
from ui.views.attention_kinds import READABLE
from ui.views.bars import bars
from ui.views.tables import table
from ui.views.word_grid import WordCell, word_grid

VECTOR, LOGITS, SHARES = STAGES = "1 decoder output", "2 logits", "3 probabilities"
STAGE = "output_stage"  # key of their control, and of its parameter in the address
DIMENSIONS = 64  # of the decoder's output that are shown
WRITTEN, READ = "✓", "↩"  # marks an entry that is really written, or was just read
ENOUGH = 0.9  # of the probability
CONSTANT = 100.0  # what a question adds to every logit


def idea(trace: Trace) -> None:
    t, v = trace.tensors["logits"].shape
    st.markdown(
        "A decoder layer has one part more than an encoder layer: **masked self-attention** (what is written so far), "
        "**encoder-decoder attention** (what the English says) and **feed-forward**, each followed by Add & Norm. "
        f"After the last of {len(trace.model.anatomy.stacks[-1].layers)} layers, each of the T German positions "
        f"holds one vector, a row of Y. Two "
        "steps are left: **Linear** compares it with every entry of the vocabulary, one score or *logit* for each; "
        "**softmax** turns the scores of a row into probabilities of the next piece."
    )
    st.latex(
        r"Z=Y\,E^{\mathsf T}\qquad P=\operatorname{softmax}(Z)\in\mathbb{R}^{T\times V}\qquad "
        rf"T={t},\; V={f'{v:,}'.replace(',', '{,}')}"
    )
    st.markdown(
        "E is the embedding matrix, the same one that turns pieces into vectors: the output is *tied* to the input. "
        "A logit is large where the decoder's vector points the way the entry's embedding does."
    )


def default_row(trace: Trace) -> int:
    """The position at which the model was least sure of what it wrote."""
    return int(np.argmin(trace.probabilities))


def current_row(trace: Trace) -> int:
    return current_part(len(trace.tgt), default_row(trace), trace.text, "row")


def likeliest(logits: Array) -> list[int]:
    """Ids of the entries with the largest logits of a row (V), best first."""
    return [int(i) for i in np.argsort(-logits, kind="stable")[:LIKELIEST]]


def choose(trace: Trace) -> None:
    read = [piece(token.text) for token in trace.tgt]
    choose_part("Position, by the piece just read", read, default_row(trace), trace.text, "row")
    one_of("Show", STAGES, key=STAGE, default=LOGITS, wrap=True)


def see(trace: Trace) -> None:
    row, stage = current_row(trace), st.session_state.get(STAGE, LOGITS)
    logits = trace.tensors["logits"][row]
    ids = likeliest(logits)
    names = [entries()[i] for i in ids]
    last = trace.model.anatomy.stack("decoder").writes
    d_model = trace.tensors[last].shape[1]
    if stage == VECTOR:
        checked_matrix(
            trace,
            last,
            Caption(
                f"What the last decoder layer holds at position {row + 1}",
                "A row of Y; a column is one of its dimensions.",
            ),
            labels=Labels(rows=[trace.tgt[row].text], describe="dimension {column}: {value}"),
            part=Part(rows=[row], n_columns=DIMENSIONS),
        )
        st.caption(f"Shown: the first {DIMENSIONS} of {d_model} dimensions.")
    else:
        is_logits = stage == LOGITS
        checked_matrix(
            trace,
            "logits" if is_logits else "probabilities",
            Caption(
                f"The ten largest {'logits' if is_logits else 'probabilities'} at position {row + 1}",
                f"Ten of {len(logits):,} columns; ␣ is a space.",
            ),
            labels=Labels(rows=[trace.tgt[row].text], columns=names, describe="“{column}”: {value}"),
            part=Part(rows=[row], columns=ids),
            scale=Scale("signed" if is_logits else "weight"),
            start=(0, 0),
        )
    next_pieces(trace, row, ids, names)
    tied(trace, row)


def next_pieces(trace: Trace, row: int, ids: Sequence[int], names: Sequence[str]) -> None:
    """The ten likeliest next pieces as bars, and what is left for all others."""
    probabilities = softmax(trace.tensors["logits"][row])
    shares = [float(probabilities[i]) for i in ids]
    st.markdown(f"**What may come after {in_markdown(trace.tgt[row].text)}**")
    bars(names, shares, "The ten likeliest next pieces, with their probabilities")
    st.markdown(
        f"The model writes **{in_markdown(trace.labels[row].text)}**. All other {len(probabilities) - len(ids):,} "
        f"entries share {magnitude(1 - sum(shares))}."
    )


def tied(trace: Trace, row: int) -> None:
    """The row of E that a piece came in by and the row that its logit is made with: one and the same."""
    token, (t, v) = trace.tgt[row], trace.tensors["logits"].shape
    matrix_e = engine.model().weights[EMBEDDINGS]
    same = float(np.abs(matrix_e[token.id] - trace.tensors["decoder.embedding.tokens"][row]).max())
    vector = trace.tensors[trace.model.anatomy.stack("decoder").writes][row]
    st.markdown(
        f"**Tied.** The piece just read, **{in_markdown(token.text)}**, is entry {token.id} (counted from 0): it came "
        f"in as row {token.id} of E. Its logit here, {number(float(matrix_e[token.id] @ vector))}, is made with the "
        f"very same row; the largest difference between the two is {magnitude(same)}."
    )
    st.caption(
        f"Shapes: Y ({t}, {len(vector)}), Eᵀ ({len(vector)}, {v:,}), logits and probabilities ({t}, {v:,}), a row a "
        "position."
    )


def do(trace: Trace) -> None:
    trials = {"Stop at an earlier layer": stop, "Temperature": temperature, "Push one entry": push}
    trials[one_of("Try", list(trials), key="output_trial", wrap=True)](trace, current_row(trace))


def lens_of(trace: Trace) -> Lens:
    src, labels = (tuple(token.id for token in tokens) for tokens in (trace.src, trace.labels))
    return engine.run(logit_lens, trace.model, src, labels)


def lens_names(trace: Trace) -> list[str]:
    return ["embedding", *(f"layer {n + 1}" for n in range(len(trace.model.anatomy.stacks[-1].layers)))]


def stop(trace: Trace, row: int) -> None:
    """The logit lens: every layer's output, handed to the model's own output as if it were the last."""
    st.markdown(
        "What would the model write if it stopped earlier? Hand what each layer returns to the same output matrix, as "
        "if that layer were the last. This is called the *logit lens*."
    )
    found, names = lens_of(trace), lens_names(trace)
    length = min(len(trace.labels), READABLE)
    word_grid(
        [token.text for token in trace.tgt[:length]],
        names,
        [[lens_cell(trace, found, n, t) for n in range(len(names))] for t in range(length)],
        title="The first choice of every layer at every position",
        corner="after reading",
    )
    st.caption(
        f"A row is a position, named by the piece just read; a column is where one stops. Beside each piece its "
        f"probability; {WRITTEN} is what is really written there, {READ} the piece just read."
    )
    if length < len(trace.labels):
        st.caption(f"Shown: the first {length} of {len(trace.labels)} positions.")
    first_choices(trace, found, names)
    st.markdown(
        "A fair reading? In this model every layer ends in a normalisation, so what it returns is on the scale that "
        "the output expects; only the embedding is not. But nobody trained the earlier layers to be read like this: "
        "they write for the next layer, not for us."
    )
    earlier(trace, found, names, row)
    with st.expander("How likely every layer finds what is really written"):
        matrix(
            found.written[:, :length],
            Labels(names, [token.text for token in trace.labels[:length]], describe="“{column}” after {row}: {value}"),
            Caption(
                "The probability of what is really written",
                "A row is the layer after which one stops; a column is the piece written there.",
                csv_name="logit lens",
            ),
            key="lens_written",
        )


def lens_cell(trace: Trace, found: Lens, n: int, t: int) -> WordCell:
    id = int(found.ids[n, t, 0])
    mark = WRITTEN if id == trace.labels[t].id else READ if id == trace.tgt[t].id else ""
    return WordCell(engine.model().tokenizer.tokens([id])[0].text, float(found.probabilities[n, t, 0]), mark)


def first_choices(trace: Trace, found: Lens, names: Sequence[str]) -> None:
    """How many first choices are what was read, and how many what is written, layer by layer."""
    read, written = (np.array([token.id for token in tokens]) for tokens in (trace.tgt, trace.labels))
    total = len(written)
    st.markdown("How often is the first choice the piece just read, and how often the piece to be written?")
    table(
        ("after", "just read", "to be written", "mean probability of the latter"),
        [
            (
                name,
                f"{int((ids[:, 0] == read).sum())} of {total}",
                f"{int((ids[:, 0] == written).sum())} of {total}",
                number(float(shares.mean()), 3),
            )
            for name, ids, shares in zip(names, found.ids, found.written, strict=True)
        ],
    )


def earlier(trace: Trace, found: Lens, names: Sequence[str], row: int) -> None:
    """The ten likeliest entries at the chosen position: after an earlier layer, and after all."""
    at = names.index(one_of("Stop after", names[:-1], key="stop", default=names[-2], wrap=True))
    sides = (len(names) - 1, f"After all {len(names) - 1} layers"), (at, f"Stopped after {names[at]}")
    for column, (n, title) in zip(st.columns(2, gap="large"), sides, strict=True):
        with column:
            st.markdown(f"**{title}**, at position {row + 1}, having read {in_markdown(trace.tgt[row].text)}")
            bars([entries()[i] for i in found.ids[n, row]], found.probabilities[n, row].tolist(), title)


def before_after_bars(
    names: Sequence[str], before: Array, after: Array, ids: Sequence[int], titles: tuple[str, str]
) -> None:
    """The probabilities of the same entries side by side, in the same order and on the same scale."""
    for column, title, shares in zip(st.columns(2, gap="large"), titles, (before, after), strict=True):
        with column:
            st.markdown(f"**{title}**")
            bars(names, [float(shares[i]) for i in ids], title)
            needed = int(np.searchsorted(np.cumsum(np.sort(shares)[::-1]), ENOUGH) + 1)
            st.markdown(
                f"Entropy **{number(float(entropy_bits(shares)), 2)} bits** · largest "
                f"**{number(float(shares.max()), 3)}** · entries that it takes to reach {ENOUGH}: **{needed:,}**"
            )


def temperature(trace: Trace, row: int) -> None:
    """The softmax of the logits divided by a temperature, as sampling uses it."""
    st.markdown(
        "Before the softmax, the logits may be divided by a number τ, the *temperature*. It is used when the next "
        "piece is drawn by chance: below 1 the choice gets surer, above 1 bolder."
    )
    tau = st.slider("Temperature τ", 0.0, 3.0, 2.0, 0.1, key="temperature", bind="query-params")
    logits = trace.tensors["logits"][row]
    ids = likeliest(logits)
    before = softmax(logits)
    after = filter_logits(torch.tensor(np.log(before)), tau, 0, 1.0).numpy().astype(np.float64)
    before_after_bars(
        [entries()[i] for i in ids], before, after, ids, ("Before: τ = 1", f"After: τ = {number(tau, 1)}")
    )
    st.caption(
        f"Position {row + 1}, chosen in See. The entropy says how undecided the model is: 0 bits if one entry has it "
        f"all, {number(float(np.log2(len(logits))), 2)} bits if all {len(logits):,} are alike. The order of the "
        "entries never changes. At τ = 0, where one cannot divide, the largest logit takes all; at a high τ the many "
        "unlikely entries add up, which is why one who draws by chance often leaves them out."
    )


def push(trace: Trace, row: int) -> None:
    """A number added to one logit: who gains, who loses."""
    st.markdown(
        "Add a number to one logit and nothing to the others. One entry gains; all others lose, each the same part of "
        "what it had."
    )
    logits = trace.tensors["logits"][row].astype(np.float64)
    ids = likeliest(logits)
    names = [entries()[i] for i in ids]
    pushed = choose_part("Entry to push", names, 1, f"{trace.text} {row}", "entry_pushed")
    by = st.slider("Add to its logit", -10.0, 10.0, 3.0, 0.5, key="push", bind="query-params")
    other = logits.copy()
    other[ids[pushed]] += by
    before, after = softmax(logits), softmax(other)
    before_after_bars(names, before, after, ids, ("Before", f"After: {number(by, 1)} added to one logit"))
    one, two = (n for n in range(3) if n != pushed) if pushed < 3 else (0, 1)
    ratios = [float(shares[ids[one]] / shares[ids[two]]) for shares in (before, after)]
    st.markdown(
        f"**{in_markdown(names[pushed])}** goes from {magnitude(float(before[ids[pushed]]))} to "
        f"{magnitude(float(after[ids[pushed]]))}. The others keep their ratios: **{in_markdown(names[one])}** was "
        f"{magnitude(ratios[0])} times as likely as **{in_markdown(names[two])}**, and now it is "
        f"{magnitude(ratios[1])} times."
    )
    st.caption(
        f"Position {row + 1}, chosen in See. A softmax turns differences of logits into ratios of probabilities."
    )


def predict(trace: Trace) -> Sequence[Question]:
    t, v = trace.tensors["logits"].shape
    d_model = trace.tensors["decoder.embedding.output"].shape[1]
    row = default_row(trace)
    found = lens_of(trace)
    first, last = int(found.ids[1, row, 0]), len(found.ids) - 1
    read, written = trace.tgt[row], trace.labels[row]
    lens_answer = 0 if first == read.id else 1 if first == written.id else 2
    logits = trace.tensors["logits"][row].astype(np.float64)
    shift = float(np.abs(softmax(logits + CONSTANT) - softmax(logits)).max())
    return (
        Question(
            "shape",
            "A German sentence of T pieces goes through the decoder, Linear and softmax. What shape has the result?",
            (
                r"$\mathbb{R}^{T\times d_{model}}$: one vector for each piece",
                r"$\mathbb{R}^{T\times V}$: at each position one probability for each entry of the vocabulary",
                r"$\mathbb{R}^{V}$: one probability for each entry of the vocabulary",
                r"$\mathbb{R}^{T\times T}$: one probability for each pair of pieces",
            ),
            frozenset({1}),
            f"Here it is ({t}, {v:,}). The decoder's output is ({t}, {d_model}), and Eᵀ takes each row from {d_model} "
            f"to {v:,} numbers. In training all {t} rows are used at once; when writing, only the last one.",
        ),
        Question(
            "lens",
            f"Stop after decoder layer 1 at position {row + 1}, where the decoder has just read "
            f"**{in_markdown(read.text)}** and will write **{in_markdown(written.text)}**. What is the first choice?",
            (
                f"the piece just read, {in_markdown(read.text)}",
                f"the piece to be written, {in_markdown(written.text)}",
                "another piece",
            ),
            frozenset({lens_answer}),
            f"It is **{in_markdown(entries()[first])}**, with a probability of "
            f"{magnitude(float(found.probabilities[1, row, 0]))}. The vector comes in as the embedding of what was "
            "read and is turned into what is to be written layer by layer: what is really written gets "
            f"{magnitude(float(found.written[1, row]))} after layer 1 and {magnitude(float(found.written[last, row]))} "
            f"after layer {last}.",
        ),
        Question(
            "constant",
            f"Add {number(CONSTANT, 0)} to every logit of a row. What happens to its probabilities?",
            (
                "They all grow.",
                "The likeliest entry takes nearly everything.",
                "Nothing: they stay as they are.",
            ),
            frozenset({2 if shift < 1e-6 else 1}),
            f"The largest change at position {row + 1} is {magnitude(shift)}. Every e to the power grows by the same "
            "factor, above and below the fraction bar, and it cancels out: only differences between logits count.",
        ),
    )


LESSON = Lesson(
    "decoder-and-output",
    "Decoder and output",
    asks="How does a vector become the next word?",
    idea=idea,
    controls=choose,
    see=see,
    do=do,
    check=check_cell,
    predict=predict,
    code=(DecoderLayer.forward, EncoderDecoder.output, filter_logits),
    blocks=("decoder.stack", "output.linear", "output.softmax"),
)
