"""What each part of GPT's recipe is worth: what its paper reports."""

import streamlit as st

from model.trace import Trace
from ui.views.tables import Link, table

PAPER = "https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf"
REPORTED = (
    ("Transformer, pre-trained, with the second loss", "74.7"),
    ("without pre-training", "59.9"),
    ("without the second loss", "75.0"),
    ("an LSTM instead of the Transformer", "69.1"),
)


def ablation(trace: Trace) -> None:
    st.markdown(
        "**Leave out one thing at a time.** The first GPT was fine-tuned on eight tasks. Its paper reports the mean of "
        "their scores, with everything and with one thing left out. The *second loss* is that of the next piece, which "
        "GPT goes on learning beside the labels."
    )
    table(("model", "mean score"), REPORTED)
    st.caption(
        "Without pre-training the mean falls by 14.8, and with an LSTM by 5.6. Without the second loss it is 0.3 "
        "higher: by the paper it helps on the larger tasks, not on the smaller ones."
    )
    table(("source",), [(Link("Radford et al. 2018, Table 5", PAPER),)])
