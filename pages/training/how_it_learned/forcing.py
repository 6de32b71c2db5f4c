"""Teacher forcing: in training the decoder reads the right pieces, when it writes it reads its own."""

import numpy as np
import streamlit as st

from model.trace import Trace
from pages.training.how_it_learned.snapshots import chosen, is_too_long, target_read, written
from ui.text import in_markdown
from ui.views.attention_kinds import READABLE
from ui.views.charts.tables import table


def forcing(trace: Trace) -> None:
    if is_too_long(trace):
        return
    step = chosen()
    free, forced = written(trace, step), target_read(trace, step)
    best = forced.tensors["logits"].argmax(-1)
    likeliest = [token.text for token in forced.model.tokenizer.tokens([int(id) for id in best])]
    st.markdown(
        "When the decoder writes by itself, it reads back **its own** pieces, wrong ones too. In training it reads the "
        "**right** pieces, whatever it would have written. That is *teacher forcing*."
    )
    rows = []
    for n in range(min(max(len(free.labels), len(forced.labels)), READABLE)):
        alone = (free.tgt[n].text, free.labels[n].text) if n < len(free.labels) else ("", "")
        taught = (forced.tgt[n].text, likeliest[n], forced.labels[n].text) if n < len(forced.labels) else ("", "", "")
        rows.append((str(n + 1), *alone, *taught))
    table(("", "alone: reads", "writes", "forced: reads", "would write", "right"), rows)
    right = int((best == np.array(forced.label_ids)).sum())
    same = sum(one == other for one, other in zip(free.label_ids, forced.label_ids, strict=False))
    n_rows = len(forced.labels)
    st.markdown(
        f"At step **{step:,}** the forced decoder would write **{right}** of {n_rows} pieces right. Alone it has "
        f"**{same}** of them right at their place. {where_they_part(free, forced)}"
    )
    st.caption(
        "Forced, no row waits for what another writes. So one pass trains all rows of a sentence at once, and the "
        "causal mask keeps each from seeing the piece that it is to write."
    )


def where_they_part(free: Trace, forced: Trace) -> str:
    """The first row in which the two read different pieces."""
    pairs = enumerate(zip(free.tgt, forced.tgt, strict=False), 1)
    part = next(((n, alone, taught) for n, (alone, taught) in pairs if alone.id != taught.id), None)
    if part is None:
        return "As far as both go, they read the same."
    n, alone, taught = part
    pair = f"“{in_markdown(alone.text)}” and “{in_markdown(taught.text)}”"
    return f"They first read different pieces in row {n}: {pair}."
