"""What was measured of the model after its training, on more tasks than a page draws."""

import streamlit as st

from model.files.load_special_models import in_context_metrics
from pages.family.learning_without_learning.tasks import TRANSFORMER, ZERO
from ui.text import number
from ui.views.charts.tables import table

LISTED = (5, 10, 20, 40)
NAMES = {"in-context": TRANSFORMER, "zero": ZERO}  # others are called in the file as they are here


def measured_after_training() -> None:
    """Its errors beside ridge's, from the file that came with its weights. Raises: CheckpointError"""
    metrics = in_context_metrics()
    test, training = metrics["test"], metrics["training"]
    ratios = [test["in-context"][str(n)] / test["ridge"][str(n)] for n in range(LISTED[0], LISTED[-1] + 1)]
    with st.expander("Measured after its training, on 4,000 tasks"):
        table(
            ("mean squared error", *(f"{n} examples" for n in LISTED)),
            [(NAMES.get(name, name), *(number(of[str(n)], 4) for n in LISTED)) for name, of in test.items()],
        )
        st.caption(
            f"With {LISTED[0]} to {LISTED[-1]} examples its error is at most {number(max(ratios), 2)} times ridge's. "
            f"It took {training['steps']:,} steps of training, with σ = {training['regression']['sigma']:g}."
        )
