"""What attention costs: multiplications and memory, for texts of any length."""

import streamlit as st

from experiments.writing.cost import attention_work
from model.trace import Trace
from ui.controls.control import Choice
from ui.text import number
from ui.views.charts.tables import table

LENGTHS = (5, 10, 50, 100, 500, 1000, 5000, 10_000)
LENGTH = Choice("Pieces, T", "cost_length", LENGTHS)
BYTES = 4  # of one weight


@st.fragment
def cost(trace: Trace) -> None:
    """Multiplications of one attention layer for T pieces and for twice as many, and the memory of its weights."""
    config = trace.model.config
    d, h = config.d_model, config.n_heads
    length = LENGTH.draw()
    one, two = attention_work(d, length), attention_work(d, 2 * length)
    table(
        ("one attention layer", f"T = {length:,}", f"T = {2 * length:,}", "times"),
        [
            ("the four matrices: 4 · T · d²", f"{one.projections:,}", f"{two.projections:,}", "2.00"),
            ("QKᵀ and weights · V: 2 · T² · d", f"{one.products:,}", f"{two.products:,}", "4.00"),
            ("together", f"{one.total:,}", f"{two.total:,}", number(two.total / one.total, 2)),
            ("memory of the weights", memory(h * length**2), memory(h * 4 * length**2), "4.00"),
        ],
    )
    st.caption(
        f"Multiplications, with d = {d} and {h} heads; the weights of all heads, {BYTES} bytes each. Only what grows "
        f"with T² makes long texts costly: it outweighs the rest from T = 2d = {2 * d} on. This is why one writes "
        "O(T²·d) for the two products."
    )


def memory(n_weights: int) -> str:
    size = n_weights * BYTES
    for unit, bytes_each in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_each:
            return f"{number(size / bytes_each, 1)} {unit}"
    return f"{size} bytes"
