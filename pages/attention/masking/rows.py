"""Pictures of the decoder's rows: what each sees and predicts, and when it runs."""

from collections.abc import Sequence

import streamlit as st

from model.trace import Trace
from ui.views.charts.flow import Box, flow
from ui.views.charts.triangle import triangle

ROWS = 7  # that are drawn


def drawn_rows(trace: Trace) -> list[int]:
    """The first rows and the last, counted from 0."""
    last = len(trace.tgt) - 1
    return sorted({*range(min(last, ROWS - 1)), last})


def draw_triangle(trace: Trace) -> None:
    """What each row of the decoder sees, and what it predicts."""
    rows = drawn_rows(trace)
    triangle(
        [token.text for token in trace.tgt],
        [token.text for token in trace.labels],
        rows,
        "Each row sees the coloured inputs and predicts the piece at its end",
    )
    _note_cut(trace, rows)


def time_lines(trace: Trace) -> None:
    """One pass in training, one run of the decoder after the other in writing."""
    rows = drawn_rows(trace)
    steps: list[Box | str] = ["Writing:"]
    for row in rows:
        seen = "sees 1 input" if row == 0 else f"sees {row + 1} inputs"
        steps += ["→", Box(trace.labels[row].text, f"run {row + 1}, {seen}", "output")]
    every = tuple(trace.labels[row].text for row in rows)
    flow(
        [
            ["Training:", Box("1 run", f"all {len(trace.tgt)} rows at once", "output", every, (3.6 * len(every), 2))],
            steps,
        ],
        "Training predicts all pieces in one run of the decoder; writing takes one run for each.",
    )
    _note_cut(trace, rows)


def _note_cut(trace: Trace, rows: Sequence[int]) -> None:
    if len(rows) < len(trace.tgt):
        st.caption(f"The first {ROWS - 1} of {len(trace.tgt)} rows, and the last.")
