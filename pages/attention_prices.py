"""What was measured of ways to read longer and longer texts: a chart, and a table beside all pairs."""

import math
from collections.abc import Mapping, Sequence

import streamlit as st

from experiments.attention import price
from figures.chart import BLUE, GREEN, ORANGE
from pages.attention.scaled_dot_product.cost import memory
from ui.text import number
from ui.views.charts.curves import Axis, Line, curves
from ui.views.charts.tables import table

COLOURS, FAR = (BLUE, ORANGE, GREEN), 100_000


def prices_chart(prices: price.Prices) -> None:
    """Milliseconds and bytes against pieces, all on log axes, as far as they are measured."""
    if not prices.get("every pair"):
        return
    time, room = st.columns(2, gap="medium")
    with time:
        words = [(p, f"{10.0**p:,g}") for p in range(-3, 5)]
        title, alt = "milliseconds", "Milliseconds that each way takes, for texts of 16 to 8,192 pieces"
        log_log({way: [1000 * one.seconds for one in many] for way, many in prices.items()}, title, words, alt)
    with room:
        words = list(zip(range(3, 10), ("1 kB", "10 kB", "100 kB", "1 MB", "10 MB", "100 MB", "1 GB"), strict=True))
        title, alt = "memory asked for", "Memory that each way asks for, for texts of 16 to 8,192 pieces"
        log_log({way: [float(one.bytes) for one in many] for way, many in prices.items()}, title, words, alt)


def log_log(by_way: Mapping[str, Sequence[float]], title: str, words: Sequence[tuple[float, str]], alt: str) -> None:
    """A line for each way, from its numbers at each length. words: at powers of 10, the lowest and the highest too"""
    low, high = words[0][0], words[-1][0]
    lines = [
        Line(way, [(math.log2(n), max(low, math.log10(of))) for n, of in zip(price.LENGTHS, many, strict=False)],
             colour, dotted=True)
        for (way, many), colour in zip(by_way.items(), COLOURS, strict=True) if many
    ]  # fmt: skip
    pieces = Axis("pieces", 4, 13, [(math.log2(n), f"{n:,}") for n in (16, 128, 1024, 8192)])
    curves(lines, pieces, Axis(title, low, high, words), alt=alt)


def measured(prices: price.Prices) -> None:
    lines, far = [], FAR / price.LENGTHS[-1]
    seconds = {way: [one.seconds for one in many] for way, many in prices.items()}
    square = seconds["every pair"]
    for way, many in seconds.items():
        times = number(many[-1] / many[price.LENGTHS.index(1024)], 0), number(square[-1] / many[-1], 1)
        beats = [all(a < b for a, b in zip(many[at:], square[at:], strict=True)) for at in range(len(many))]
        since = f"{price.LENGTHS[beats.index(True)]:,}" if any(beats) else "–"
        carried_on = number(many[-1] * far ** (1 + (way == "every pair")), 2)
        lines.append((way, number(1000 * many[-1], 2), *times, since, carried_on))
    head = ("8,192 pieces, ms", "times 1,024's", "all pairs take times", "faster than all pairs from")
    table(("", *head, f"{FAR:,} pieces, s"), lines)
    sizes = {way: [one.bytes for one in many[-2:]] for way, many in prices.items()}
    asked = ", ".join(f"{way} **{memory(whole // price.BYTES)}**" for way, (_, whole) in sizes.items())
    *first, last = (number(whole / half, 1) for half, whole in sizes.values())
    half, whole = price.LENGTHS[-2:]
    st.markdown(
        f"Memory that torch gave out for {whole:,} pieces: {asked}. That is {', '.join(first)} and {last} times as "
        f"much as for {half:,}."
    )
    st.caption(
        f"Measured now on one core, the fastest of {price.RUNS} runs. Memory is that of one more run, added up: what "
        "is given back on the way counts too. The square is made in strips of rows, so it is never held whole; whole "
        f"it takes {memory(price.LENGTHS[-1] ** 2)} for one head at 8,192 pieces, and {memory(FAR**2)} at {FAR:,}. "
        "The last column is not measured: it is the time at 8,192, grown with the square of N for all pairs and with N "
        "for the others."
    )
