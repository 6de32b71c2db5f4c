"""How much should be hidden? The loss on the learner's sentence, by the share that is."""

import numpy as np
import streamlit as st

from experiments.family.fill_in import DRAWS, SHARES, Hiding, loss_by_share
from model.trace import Trace
from pages.family.fill_in_the_blank.blanks import opened
from pages.family_models import BERT, family_model
from ui.controls.background import background
from ui.text import number
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import table


def shares(trace: Trace) -> None:
    st.markdown(
        f"How hard does guessing become when more is hidden? For each share from {SHARES[0]}% to {SHARES[-1]}%, chance "
        f"draws the blanks {DRAWS} times. The **loss** is the mean of −ln P over all blanks, P the probability of the "
        "right piece."
    )
    ids, loaded = opened(trace).ids, family_model(BERT)
    if found := background("shares", "Measure the loss", ids, lambda: loss_by_share(loaded, ids)):
        show(found)


def show(found: dict[int, Hiding]) -> None:
    """What was measured, as columns and in words."""
    column_chart(
        [f"{share}%" for share in found],
        [Series("loss", np.array([one.loss for one in found.values()]))],
        alt="The loss by the share that is hidden",
        axis="loss, in nats a blank, by the share that is hidden",
    )
    lines = [(f"{share}%", number(one.pieces, 1), number(one.loss, 2)) for share, one in found.items()]
    table(("hidden", "blanks in a draw", "loss"), lines)
    st.caption(
        "More blanks ask for more in one row, but leave less to guess from. All drawn pieces are hidden here, none "
        "swapped or left; where chance draws nothing, one piece is hidden."
    )
