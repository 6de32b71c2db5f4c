"""Which pieces training asks for, and what it puts in their place: drawn over the learner's sentence with a seed."""

import numpy as np
import streamlit as st

from model.text.tokenizer import MASK_ID
from model.trace import Trace
from pages.family.fill_in_the_blank.blanks import opened
from pages.family.fill_in_the_blank.both_sides import name_of
from pages.family_models import BERT, family_model
from training.loop.text_rows import SHORT, Masking, framed, masked
from ui.components.pieces import Card, pieces
from ui.controls.control import Number, Stops
from ui.views.charts.tables import table

SHARE = Stops("Share of the pieces to ask for", "share", ("5%", "10%", "15%", "25%", "40%", "60%"), default="15%")
SEED = Number("Seed", "blank_seed", 1, 50, 1)
HIDDEN, SWAPPED, KEPT = "hidden", "swapped", "left"


def corruption(trace: Trace) -> None:
    st.markdown(
        "In training nobody chooses: chance draws the pieces to ask for. Of those drawn, 80% become [MASK], 10% "
        "become any piece, 10% stay as they are."
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        share, seed = int(SHARE.draw().rstrip("%")), int(SEED.draw())
    loaded, tokens = family_model(BERT), opened(trace).tokens
    ids = np.array([token.id for token in tokens], dtype=np.uint16)
    random = np.random.default_rng(seed)
    ((read, _, labels, _),) = masked([framed(ids)], loaded.config.vocab_size, random, Masking(share / 100, share / 100))
    fates = [
        fate(int(was), int(now)) if asked else "" for was, now, asked in zip(ids, read[1:-1], labels[1:-1], strict=True)
    ]
    cards = [
        Card(name_of(loaded, int(now)), (f"{what}: {token.text}",), token.word, marked=True)
        if what
        else Card(token.text, word=token.word)
        for token, now, what in zip(tokens, read[1:-1], fates, strict=True)
    ]
    pieces(
        cards, key="corrupted", title="What BERT would read", how_to_read="Marked: BERT must name the true piece here."
    )
    n = len(fates) - fates.count("")
    st.markdown(
        f"Drawn: **{n}** of {len(tokens)} pieces; {fates.count(HIDDEN)} hidden, {fates.count(SWAPPED)} swapped, "
        f"{fates.count(KEPT)} left as they are." + (" No blank, nothing to guess in this row." if not n else "")
    )
    of_thousand = [f"{10 * share * part:g}" for part in (1.0, 0.8, 0.1, 0.1)]
    table(("of 1,000 pieces", "drawn", HIDDEN, SWAPPED, KEPT), [(f"at {share}%, expected", *of_thousand)])
    with st.expander("Why not always [MASK]? And why 15%?"):
        st.markdown(
            "[MASK] never stands in the texts of a later task. So some drawn pieces are swapped or left: BERT must be "
            "ready to name the right piece at any place, whatever stands there. The authors of BERT drew 15%. If "
            "fewer are drawn, each row teaches less; if more, there is less left to guess from. Wettig et al. (2023) "
            "found that 40% works better for large models. This app's BERT was trained at 40% in rows of "
            f"{SHORT} pieces or more, at 15% in shorter ones."
        )


def fate(was: int, now: int) -> str:
    """What became of a piece that was drawn."""
    return HIDDEN if now == MASK_ID else KEPT if now == was else SWAPPED
