"""The translation, and how sure the model was of each piece of it."""

import streamlit as st

from model.trace import MAX_TOKENS, Trace
from ui.text import in_html, in_markdown


def translation(trace: Trace) -> None:
    """The German sentence as plain text in a container with the key `translation`."""
    with st.container(key="translation"):
        st.html(f'<p class="tw-translation" lang="de" role="status">{in_html(trace.translation) or "(no words)"}</p>')
    if not trace.finished:
        st.caption(f"The model did not come to an end; it was stopped after {MAX_TOKENS} pieces.")


def piece_probabilities(trace: Trace) -> None:
    """Each piece the model wrote, with the probability it gave it."""
    chips = "".join(
        f'<li><span class="tw-piece" lang="de">{in_html(token.text)}</span>'
        f'<span class="tw-bar" style="--p:{p:.4f}" aria-hidden="true"></span>'
        f'<span class="tw-p">{p:.2f}</span></li>'
        for token, p in zip(trace.labels, trace.probabilities, strict=True)
    )
    st.html(f'<ol class="tw-pieces" aria-label="Pieces written, with their probabilities">{chips}</ol>')
    st.caption(
        "Each piece with the probability the model gave it, written left to right. "
        + in_markdown("<eos>")
        + " is the model saying that it is done."
    )
