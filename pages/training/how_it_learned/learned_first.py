"""What the model learned first: how a sentence ends, the common pieces, and when it began to read the English."""

import streamlit as st

from experiments.training.forming import Snapshot
from model.trace import Trace
from pages.training.how_it_learned.lines import snapshot_lines
from pages.training.how_it_learned.snapshots import chosen, measured, steps
from ui.text import bold, number
from ui.views.charts.tables import table

CUT = 40  # characters of a translation that are shown


def learned_first(trace: Trace) -> None:
    file = measured()
    now = file.snapshots[steps().index(chosen())]
    last = file.snapshots[-1]
    st.markdown(
        f"When did it begin to read the English? Each snapshot reads {file.n_sentences} German sentences, piece by "
        "piece, once with their own English and once with the English of **another** sentence. Only if it reads the "
        "English can the wrong one do harm."
    )
    lines = {
        "with its own English": [one.loss for one in file.snapshots],
        "with another's English": [one.loss_elsewhere for one in file.snapshots],
    }
    top = 1.05 * max(max(values) for values in lines.values())
    snapshot_lines(
        lines,
        tuple(lines),
        ("loss, in nats a piece", top),
        alt="The loss snapshot by snapshot, with the right English and with that of another sentence.",
    )
    st.markdown(
        f"At step **{now.step:,}** the English of another sentence changes the loss by "
        f"**{number(now.loss_elsewhere - now.loss, 2)}** nats a piece; at the end, by "
        f"{number(last.loss_elsewhere - last.loss, 2)}. The most frequent translation at step {now.step:,}: "
        f"{bold(shortened(now.repeated) or '(nothing)')}, written for **{now.times}** of {file.n_sentences} sentences."
    )
    st.markdown("**How often the likeliest piece is the right one, given the right pieces before it**")
    common = f"the {file.n_common} commonest pieces"
    table(
        ("step", "the end mark", "an end mark elsewhere", common, "all others", "different translations"),
        [(f"{one.step:,}", *map("{:.0%}".format, shares_of(one)), str(one.different)) for one in file.snapshots],
    )
    st.caption("*An end mark elsewhere*: of the places that want another piece, how many get the end mark.")


def shares_of(one: Snapshot) -> tuple[float, ...]:
    return one.right["end"], one.end_elsewhere, one.right["common"], one.right["other"]


def shortened(text: str) -> str:
    return text if len(text) <= CUT else text[: CUT - 1] + "…"
