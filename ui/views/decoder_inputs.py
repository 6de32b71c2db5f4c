"""What a decoder reads: what it wrote, one place later."""

import streamlit as st

from model.text.tokenizer import SOS
from model.trace import Trace
from ui.components.pieces import Card, pieces
from ui.text import in_markdown
from ui.views.attention_kinds import READABLE


def shifted_inputs(trace: Trace) -> None:
    """The decoder's inputs as cards, each with the piece that is written at its place."""
    shown = list(zip(trace.tgt, trace.labels, strict=True))[:READABLE]
    pieces(
        [Card(read.text, (f"→ {written.text}",), n, marked=read.word < 0) for n, (read, written) in enumerate(shown)],
        key="see_shift",
        title="What the decoder reads, and what it writes next",
        how_to_read=f"Each card: a piece that goes in; after the arrow, the piece written there. {SOS} stands first.",
    )
    if len(shown) < len(trace.tgt):
        st.caption(f"Shown: the first {len(shown)} of {len(trace.tgt)} pieces.")
    st.caption(
        f"The decoder reads what it has written so far. So what goes in is the translation, one place later: "
        f"{in_markdown(SOS)} is put in front, and the last piece written is not read any more."
    )
