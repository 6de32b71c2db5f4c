"""The translation, and how sure the model was of each piece of it."""

import math

import streamlit as st

from figures.grouping import words
from model.trace import Trace, most_tokens
from ui.text import in_html, in_markdown, piece


def translation(trace: Trace) -> None:
    """What the model wrote as plain text in a container with the key `translation`, under a label."""
    with st.container(gap="xxsmall"):
        label = in_html(f"{trace.model.about.target} translation")
        st.html(f'<p class="tw-label" id="tw-written">{label}</p>')
        with st.container(key="translation"):
            # It can be reached by Tab, because a long one scrolls in its own box.
            st.html(
                f'<p class="tw-translation" lang="{in_html(trace.model.about.language)}" role="status" tabindex="0" '
                'aria-labelledby="tw-written">'
                f"{in_html(trace.translation) or '(no words)'}</p>"
            )
    if not trace.finished:
        st.caption(f"The model did not come to an end; it was stopped after {most_tokens(trace.model)} pieces.")


def small(probability: float) -> str:
    """Two decimals; what they would show as 0 is not impossible."""
    return f"{probability:.2f}" if probability >= 0.005 else "<0.01"


def word_probabilities(trace: Trace) -> None:
    """Each word the model wrote, with the probability it gave it: the product over the word's pieces."""
    groups = words([token.text for token in trace.labels], [token.word for token in trace.labels])
    chips, language = [], in_html(trace.model.about.language)
    for group in groups:
        probabilities = [trace.probabilities[i] for i in group.pieces]
        p = math.prod(probabilities)
        parts = ""
        if len(group.pieces) > 1:
            named = zip(group.pieces, probabilities, strict=True)
            texts = (f"{trace.labels[i].text} {small(q)}" for i, q in named)
            parts = f'<span class="tw-p">{in_html(" · ".join(texts))}</span>'
        chips.append(
            f'<li><span class="tw-piece" lang="{language}">{in_html(piece(group.label))}</span>'
            f'<span class="tw-bar" style="--p:{p:.4f}" aria-hidden="true"></span>'
            f'<span class="tw-p">{in_html(small(p))}</span>{parts}</li>'
        )
    label = "Words written, with their probabilities"
    st.html(f'<ol class="tw-pieces" tabindex="0" aria-label="{label}">{"".join(chips)}</ol>')  # on a phone it scrolls
    st.caption(
        "Each word with its probability. The model writes **pieces**: a rare word is several, shown below it, and "
        f"their probabilities multiply. {in_markdown('<eos>')} stands for the end of the sentence."
    )
