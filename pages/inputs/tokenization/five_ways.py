"""Do, second trial: a text cut in five ways, and what a larger vocabulary does to its length."""

import streamlit as st

from figures.vocabulary import length_curve
from model.text.tokenizations import UNKNOWN, Cut, cuts
from model.text.tokenizer import normalise
from model.trace import Trace
from pages.inputs.tokenization.words import FIRST_MERGED, merges, n_pieces
from ui.controls.vocabulary_entry import spaced
from ui.text import in_markdown
from ui.views.attention_kinds import READABLE
from ui.views.charts.tables import numbers_of_figure, table

MAX_TEXT = 200  # characters of a text that is cut in five ways

EXAMPLES = {
    "Umlauts": "Schöne Grüße aus München",
    "Emoji": "I ate an 🍎 👩‍🚀",
    "Thai": "ฉันชอบสุนัข",
    "German compound": "Donaudampfschifffahrtsgesellschaft",
}

# How each of the five ways cuts a text, by its name.
HOW = {
    "Words": "At spaces and marks; each frequent word is a piece.",
    "Characters": "After every sign.",
    "Byte-pair encoding": "Joins bytes by the merge rules. This model's way.",
    "WordPiece": "In each word, the longest piece that fits, from the left; ## marks a piece inside a word.",
    "Unigram": "Every piece has a probability; the likeliest of all possible cuts is taken.",
}


def _type(text: str) -> None:
    st.session_state["text"] = text


def text_to_cut(trace: Trace) -> str:
    """The text in the box, as much of it as is cut; of an empty box the sentence."""
    typed = normalise(str(st.session_state.get("text") or ""))
    return (typed or trace.text)[:MAX_TEXT]


def compare(trace: Trace) -> None:
    typed = st.text_input(
        "A text of yours", key="text", bind="query-params", placeholder="empty: your sentence", live="300ms"
    )
    with st.container(horizontal=True, gap="small", key="cut_examples"):
        for label, text in EXAMPLES.items():
            st.button(label, key=f"cut_{label}", on_click=_type, args=(text,), type="tertiary", help=text)
        st.button("Your sentence", key="cut_sentence", on_click=_type, args=("",), type="tertiary")
    if len(normalise(typed or "") or trace.text) > MAX_TEXT:
        st.caption(f"Shown: the first {MAX_TEXT} characters.")
    five = cuts(text_to_cut(trace), trace.model.tokenizer)
    table(
        ("Method", "How it cuts", "This text, cut"),
        [
            (
                cut.method,
                HOW[cut.method],
                " · ".join(spaced(piece) for piece in cut.pieces[:READABLE])
                + (" …" if len(cut.pieces) > READABLE else ""),
            )
            for cut in five
        ],
    )
    table(
        ("Method", "Vocabulary", "Pieces", "Put together again"),
        [(cut.method, f"{cut.vocab_size:,}", str(len(cut.pieces)), put_together(cut)) for cut in five],
    )
    st.caption(
        f"All five learned from the same sentences. {in_markdown(UNKNOWN)} stands for what a vocabulary does not have: "
        "that part of the text is lost. Words and WordPiece do not note where a space was. When they put the pieces "
        "together again, they set a space between any two words or marks. Byte-pair encoding always has a piece, "
        "because its smallest ones are the 256 bytes."
    )


def put_together(cut: Cut) -> str:
    """What the pieces give when they are put together again."""
    if cut.n_unknown:
        return f"not the text: {cut.n_unknown} unknown"
    if cut.rebuilt:
        return "the same text"
    return "the text with other spaces" if cut.only_spaces_differ else "another text"


def sizes(trace: Trace) -> None:
    """Vocabulary size against sequence length, for the text that is cut in five ways."""
    rules, base = merges(trace), FIRST_MERGED
    lengths = rules.lengths(text_to_cut(trace))
    st.markdown(
        "A larger vocabulary makes the sequence shorter. The text is the one under *Five ways to cut*. "
        f"With no merge it is {n_pieces(lengths[0][1])} long, one for each byte (and one for the space in front). "
        f"With all {len(rules):,} merges it is {lengths[-1][1]}. Every merge adds one row to the vocabulary. The line "
        "below is this text, cut with only the first merges known."
    )
    st.plotly_chart(
        length_curve([base + n for n, _ in lengths], [length for _, length in lengths], len(lengths) - 1),
        theme="streamlit",
        key="length_curve",
        alt=f"A line that falls in steps from {n_pieces(lengths[0][1])} with {base} entries in the vocabulary to "
        f"{n_pieces(lengths[-1][1])} with {base + lengths[-1][0]:,}.",
        config={"displayModeBar": False},
    )
    numbers_of_figure(
        ("Merges known", "Vocabulary", "Pieces"), [(f"{n:,}", f"{base + n:,}", str(at)) for n, at in lengths]
    )
