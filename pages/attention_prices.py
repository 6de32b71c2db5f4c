"""What was measured of ways to read longer and longer texts: a chart, and a table beside all pairs."""

import math

import streamlit as st

from experiments.attention import price
from figures.chart import BLUE, GREEN, ORANGE
from pages.attention.scaled_dot_product.cost import memory
from ui.text import number
from ui.views.charts.curves import Axis, Line, curves
from ui.views.charts.tables import table

COLOURS, FAR = (BLUE, ORANGE, GREEN), 100_000


def times_chart(seconds: price.Seconds) -> None:
    """Milliseconds against pieces, both on log axes, as far as they are measured."""
    if not seconds.get("every pair"):
        return
    low, high = -3.0, 4.0
    lines = [
        Line(way, [(math.log2(n), max(low, math.log10(1000 * s))) for n, s in zip(price.LENGTHS, many, strict=False)],
             colour, dotted=True)
        for (way, many), colour in zip(seconds.items(), COLOURS, strict=True) if many
    ]  # fmt: skip
    curves(
        lines,
        Axis("pieces", 4, 13, [(math.log2(n), f"{n:,}") for n in (16, 128, 1024, 8192)]),
        Axis("milliseconds", low, high, [(p, f"{10.0**p:,g}") for p in range(-3, 5)]),
        alt="Milliseconds that each way takes, for texts of 16 to 8,192 pieces",
    )


def measured(seconds: price.Seconds) -> None:
    lines, far, square = [], FAR / price.LENGTHS[-1], seconds["every pair"]
    for way, many in seconds.items():
        times = number(many[-1] / many[price.LENGTHS.index(1024)], 0), number(square[-1] / many[-1], 1)
        beats = [all(a < b for a, b in zip(many[at:], square[at:], strict=True)) for at in range(len(many))]
        since = f"{price.LENGTHS[beats.index(True)]:,}" if any(beats) else "–"
        carried_on = number(many[-1] * far ** (1 + (way == "every pair")), 2)
        lines.append((way, number(1000 * many[-1], 2), *times, since, carried_on))
    head = ("8,192 pieces, ms", "times 1,024's", "all pairs take times", "faster than all pairs from")
    table(("", *head, f"{FAR:,} pieces, s"), lines)
    st.caption(
        f"Measured now on one core, the fastest of {price.RUNS} runs. The square is made in strips of rows, so it is "
        f"never held whole; whole it takes {memory(price.LENGTHS[-1] ** 2)} for one head at 8,192 pieces, and "
        f"{memory(FAR**2)} at {FAR:,}. The last column is not measured: it is the time at 8,192, grown with the square "
        "of N for all pairs and with N for the others."
    )
