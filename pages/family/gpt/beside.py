"""The same text read by an LSTM, and what both and a counted 5-gram model reach on texts that none of them saw."""

import math

import streamlit as st

from experiments.family.language_models import bits_per_byte, published
from model.files.load_special_models import LSTM
from model.files.loaded_model import Array
from model.trace import Trace
from pages.family.gpt.reading import losses, losses_of_lstm, read, text_pieces, unsure
from pages.family_models import GPT
from ui.text import number
from ui.views.attention_kinds import READABLE
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import numbers_of_figure, table


def beside(trace: Trace) -> None:
    reading = read(trace)
    tokens, runs = text_pieces(reading), {"GPT": losses(reading), "LSTM": losses_of_lstm(reading)}
    st.markdown(
        "An **LSTM** reads piece by piece and carries all that it knows of the text along in a state. This one has "
        "the GPT's vocabulary and learned from the same texts. Which of them does your text surprise less?"
    )
    shown = [token.text for token in tokens[:READABLE]]
    column_chart(
        shown,
        [Series(name, costs[:READABLE]) for name, costs in runs.items()],
        axis="loss of each piece, in nats",
        alt=f"Two bars for each of {len(shown)} pieces of your text: its loss by the GPT and by the LSTM.",
    )
    table(
        ("your text", "mean loss, nats", "perplexity", "bits per byte"),
        [(name, *measures(costs, reading.text)) for name, costs in runs.items()],
    )
    lower = sum(float(gpt) < float(lstm) for gpt, lstm in zip(*runs.values(), strict=True))
    st.caption(f"The GPT's loss is the lower one at {lower} of {len(tokens)} pieces.")
    numbers_of_figure(
        ("piece", *runs),
        [(name, *(number(float(costs[n])) for costs in runs.values())) for n, name in enumerate(shown)],
    )
    st.markdown("**One text proves little.** On texts that none of them had seen:")
    figures = {name: published(name) for name in (GPT, LSTM)}
    rows = [
        (title, f"{figures[name]['parameters']:,}", figures[name]["test"]["bits_per_byte"])
        for title, name in (("GPT", GPT), ("LSTM", LSTM))
    ]
    rows.append(("5-gram, counted", "–", figures[GPT]["test"]["five_gram"]))
    table(
        ("", "parameters", "bits per byte", "perplexity per byte"),
        [(title, size, number(bits, 3), number(2**bits, 2)) for title, size, bits in rows],
    )
    st.caption(
        "A *5-gram* model has no weights: it counts which pieces follow which four in the training text. Where it has "
        "seen too few, it counts which follow which three, and so on (Kneser-Ney smoothing). *Bits per byte*: the "
        "losses, counted in bits, for each byte of text. So models that cut texts into other pieces can be compared "
        "too. Lower is better. *Perplexity*: as unsure as one who chooses blindly among so many."
    )


def measures(costs: Array, text: str) -> tuple[str, str, str]:
    """Mean loss, perplexity, bits per byte."""
    mean = float(costs.mean())
    return number(mean, 3), unsure(math.exp(mean)), number(bits_per_byte(costs, text), 3)
