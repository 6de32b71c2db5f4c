"""The logit lens: what every layer would write if it were the last."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.blocks.logit_lens import Lens, logit_lens
from model.trace import Trace
from pages.blocks.decoder_and_output.word_grid import WordCell, word_grid
from ui import engine
from ui.components.matrix import Caption, Labels, matrix
from ui.controls.control import Choice
from ui.controls.vocabulary_entry import entries
from ui.text import in_markdown, number
from ui.views.attention_kinds import READABLE
from ui.views.charts.bars import bars
from ui.views.charts.tables import table

WRITTEN, READ = "✓", "↩"  # marks an entry that is really written, or was just read


def lens_of(trace: Trace) -> Lens:
    return engine.run(logit_lens, trace.model, trace.src_ids, trace.label_ids)


def lens_names(trace: Trace) -> list[str]:
    return ["embedding", *(f"layer {n + 1}" for n in range(len(trace.model.anatomy.stack("decoder").layers)))]


def stop(trace: Trace, row: int) -> None:
    """The logit lens: every layer's output, handed to the model's own output as if it were the last."""
    st.markdown(
        "What would the model write if it stopped earlier? Hand what each layer returns to the same output matrix, as "
        "if that layer were the last. This is called the *logit lens*."
    )
    seen, names = lens_of(trace), lens_names(trace)
    length = min(len(trace.labels), READABLE)
    word_grid(
        [token.text for token in trace.tgt[:length]],
        names,
        [[lens_cell(trace, seen, n, t) for n in range(len(names))] for t in range(length)],
        title="The first choice of every layer at every position",
        corner="after reading",
    )
    st.caption(
        f"A row is a position, named by the piece just read; a column is where one stops. Beside each piece its "
        f"probability; {WRITTEN} is what is really written there, {READ} the piece just read."
    )
    if length < len(trace.labels):
        st.caption(f"Shown: the first {length} of {len(trace.labels)} positions.")
    first_choices(trace, seen, names)
    st.markdown(
        "A fair reading? Not quite. The output matrix was trained on rows as long as those that the last layer "
        "returns. Shorter rows give smaller logits, and smaller logits give flatter probabilities: look at the lengths "
        "in the table. And training never asked an earlier layer for a word. What it returns is made for the next "
        "layer."
    )
    earlier(trace, seen, names, row)
    with st.expander("How likely every layer finds what is really written"):
        written_by_layer(trace, seen, names)


def written_by_layer(trace: Trace, seen: Lens, names: Sequence[str]) -> None:
    length = min(len(trace.labels), READABLE)
    matrix(
        seen.written[:, :length],
        Labels(names, [token.text for token in trace.labels[:length]], describe="“{column}” after {row}: {value}"),
        Caption(
            "The probability of what is really written",
            "A row is the layer after which one stops; a column is the piece written there.",
            csv_name="logit lens",
        ),
        key="lens_written",
    )


def lens_cell(trace: Trace, seen: Lens, n: int, t: int) -> WordCell:
    id = int(seen.ids[n, t, 0])
    mark = WRITTEN if id == trace.labels[t].id else READ if id == trace.tgt[t].id else ""
    return WordCell(trace.model.tokenizer.tokens([id])[0].text, float(seen.probabilities[n, t, 0]), mark)


def first_choices(trace: Trace, seen: Lens, names: Sequence[str]) -> None:
    """How many first choices are what was read, and how many what is written, layer by layer."""
    read, written = (np.array([token.id for token in tokens]) for tokens in (trace.tgt, trace.labels))
    total = len(written)
    st.markdown("How often is the first choice the piece just read, and how often the piece to be written?")
    table(
        ("after", "just read", "to be written", "mean probability of the latter", "mean length of a row"),
        [
            (
                name,
                f"{int((ids[:, 0] == read).sum())} of {total}",
                f"{int((ids[:, 0] == written).sum())} of {total}",
                number(float(shares.mean()), 3),
                number(length, 1),
            )
            for name, ids, shares, length in zip(names, seen.ids, seen.written, row_lengths(trace), strict=True)
        ],
    )


def row_lengths(trace: Trace) -> list[float]:
    """The mean length of what the decoder's embedding, and each layer, returns."""
    decoder = trace.model.anatomy.stack("decoder")
    names = (decoder.embedding_writes, *(layer.writes for layer in decoder.layers))
    return [float(np.linalg.norm(trace.tensors[name], axis=1).mean()) for name in names]


def earlier(trace: Trace, seen: Lens, names: Sequence[str], row: int) -> None:
    """The ten likeliest entries at the chosen position: after an earlier layer, and after all."""
    at = names.index(Choice("Stop after", "stop", names[:-1], default=names[-2]).draw())
    sides = (len(names) - 1, f"After all {len(names) - 1} layers"), (at, f"Stopped after {names[at]}")
    for column, (n, title) in zip(st.columns(2, gap="large"), sides, strict=True):
        with column:
            st.markdown(f"**{title}**, at position {row + 1}, having read {in_markdown(trace.tgt[row].text)}")
            bars([entries()[i] for i in seen.ids[n, row]], seen.probabilities[n, row].tolist(), title)
