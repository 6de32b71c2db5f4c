"""What writing costs: with the key-value cache and without, one piece at a time and all at once."""

import numpy as np
import streamlit as st

from experiments.passes import one_at_a_time
from experiments.writing.cost import multiplications, timed, work
from figures.embedding_space import largest_difference
from model.files.loaded_model import LoadedModel
from model.trace import Trace
from pages.inference.inference import state
from serving.work_queue import Work
from ui import engine
from ui.controls.background import background
from ui.text import bold, in_markdown, magnitude, number, piece
from ui.views.attention_kinds import READABLE
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import numbers_of_figure, table


def with_and_without_cache(trace: Trace) -> None:
    writing, _ = state.now(trace)
    st.markdown(
        "The causal mask keeps every position from seeing what comes later, so its keys and values never change once "
        "they are computed. With the **cache** each step computes its own position alone and reads the others' keys "
        "and values. Without it, every step computes all positions anew, and throws all but the last away."
    )
    src, tgt = writing.src_ids, writing.tgt_ids
    cached, anew = (work(writing.model.config, len(tgt), len(src), how) for how in (True, False))
    products = [np.array([step.multiplications for step in run]) for run in (cached, anew)]
    sides, shown = ("with the cache", "without"), writing.labels[:READABLE]
    st.markdown("**Multiplications of each step, in millions**")
    column_chart(
        [label.text for label in shown],
        [Series(side, values[:READABLE] / 1e6) for side, values in zip(sides, products, strict=True)],
        axis="million multiplications",
        alt=f"Two bars for each of {len(shown)} steps: its multiplications with the cache and without.",
    )
    numbers_of_figure(
        ("step", "writes", *(f"{what}, {side}" for what in ("positions", "multiplications") for side in sides)),
        [
            (
                str(n),
                piece(label.text),
                str(a.positions),
                str(b.positions),
                f"{a.multiplications:,}",
                f"{b.multiplications:,}",
            )
            for n, (label, a, b) in enumerate(zip(shown, cached, anew, strict=False), 1)
        ],
    )
    sums = [int(one.sum()) for one in products]
    table(
        ("the whole translation", *sides, "ratio"),
        [
            (
                "decoder positions computed",
                *(f"{sum(step.positions for step in run):,}" for run in (cached, anew)),
                number(sum(step.positions for step in anew) / len(cached), 2),
            ),
            ("multiplications", f"{sums[0]:,}", f"{sums[1]:,}", number(sums[1] / sums[0], 2)),
            ("memory of the cache at the end, bytes", f"{state.cache_at(writing, len(tgt) - 1)[2]:,}", "0", ""),
        ],
    )
    st.caption(
        "Counted from the shapes of all matrix products of the decoder and the output; the encoder runs once either "
        "way. The first step with the cache costs more, because it also computes the keys and values of your sentence."
    )
    measured(writing)


RUNS = 3  # of each, of which the fastest counts: others may use the machine too


def timing(loaded: LoadedModel, src: state.Ids, tgt: state.Ids) -> Work:
    """Yields its progress; returns the fastest seconds with the cache (True) and without (False)."""
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for n in range(RUNS):
        for cached, known in seconds.items():
            known.append(sum(timed(loaded, src, tgt, cached)))
            yield (n + 0.5 * (not cached) + 0.5) / RUNS
    return {cached: min(known) for cached, known in seconds.items()}


def measured(writing: Trace) -> None:
    """Real time, on demand, since it takes some."""
    loaded, src, tgt = writing.model, writing.src_ids, writing.tgt_ids
    label = "Measure the time on this machine, now"
    times = background("measure", label, (loaded.name, src, tgt), lambda: engine.by_turns(timing(loaded, src, tgt)))
    if times is None:
        st.caption("Not measured yet for this translation.")
        return
    st.markdown(
        f"With the cache **{times[True] * 1000:.1f} ms**, without it **{times[False] * 1000:.1f} ms**: "
        f"{times[False] / times[True]:.2f} times as long."
    )
    st.caption(
        f"Measured on this machine ({in_markdown(loaded.device.label)}): all {len(tgt)} steps, the fastest of {RUNS} "
        "runs. Another moment gives other numbers, and time does not follow multiplications exactly."
    )


def all_at_once(trace: Trace) -> None:
    writing, step = state.now(trace)
    src, tgt = writing.src_ids, writing.tgt_ids
    t = len(tgt)
    st.markdown(
        "In training the right translation is known. The decoder reads its pieces instead of its own (*teacher "
        "forcing*), so it can read all of them **in one pass** and predict every piece at once. Give it the "
        "translation that it has just written, and compare."
    )
    alone, together = engine.run(one_at_a_time, writing.model, src, tgt), writing.tensors["logits"]
    config = writing.model.config
    table(
        ("", "runs of the decoder", "one after the other", "multiplications"),
        [
            (
                "inference: one piece at a time, with the cache",
                str(t),
                "yes: each waits for the one before",
                f"{sum(step.multiplications for step in work(config, t, len(src), cached=True)):,}",
            ),
            ("training: all at once", "1", "no", f"{multiplications(config, t, t, len(src), project_memory=True):,}"),
        ],
    )
    st.markdown(
        f"The largest difference between their {together.shape[0]} · {together.shape[1]:,} logits is "
        f"**{magnitude(largest_difference(alone, together))}**: the same numbers, up to rounding."
    )
    label, read = (bold(piece(token.text)) for token in (writing.labels[step], writing.tgt[step]))
    if step:
        st.markdown(
            f"**Why then not write all at once?** To compute step {step + 1}, which writes {label}, the decoder must "
            f"read {read}, and that is what step {step} has only just written. In training {read} stood there from the "
            f"start, as did all the others, so all {t} rows could run side by side."
        )
    else:
        st.markdown(
            f"**Why then not write all at once?** Step 1, which writes {label}, needs {read} alone, and that is always "
            "there. Go to a later step and read here what it has to wait for."
        )
