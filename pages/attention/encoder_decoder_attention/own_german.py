"""German of the learner's own: where the decoder looks while it reads it, and how likely it finds it."""

import numpy as np
import streamlit as st

from model.tokenizer import normalise
from model.trace import MAX_TOKENS, Trace
from pages.attention.encoder_decoder_attention.view import KIND, View
from ui import engine
from ui.components.matrix import Caption, Labels, matrix
from ui.controls.address import write_pair
from ui.course.notices import MAX_CHARS
from ui.course.sentence import KEY as SENTENCE
from ui.text import magnitude, number
from ui.views.attention_kinds import KINDS, READABLE
from ui.views.bars import bars
from ui.views.tables import table

GERMAN = "german"  # key of the box, and of its parameter in the address

# An English sentence and German that the model would not have written, under a short label.
PAIRS = {
    "Another tense": ("I ate an apple", "Ich aß einen Apfel."),
    "Another order": ("He wants to learn German this summer.", "Diesen Sommer will er Deutsch lernen."),
    "A wrong translation": ("I ate an apple", "Das Haus ist rot."),
    "French": ("I ate an apple", "J'ai mangé une pomme."),
}


def own(trace: Trace, view: View) -> None:
    """The learner's own target, read by teacher forcing, beside the model's translation."""
    st.markdown(
        "Put other German into the decoder's mouth. It reads your sentence piece by piece, as in training (*teacher "
        "forcing*); at each piece you see where it looks, and how likely it found just this piece."
    )
    with st.container(horizontal=True, gap="small", key="pairs"):
        for label, (english, german) in PAIRS.items():
            offer(label, english, german)
    typed = st.text_input(
        "Your own German sentence", key=GERMAN, bind="query-params", live="300ms",
        placeholder="Leave it empty for the model's translation",
    )  # fmt: skip
    text = normalise((typed or "")[:MAX_CHARS])
    after = engine.trace(trace.text, text) if text else None
    sides = (("before", trace, "The model's translation"), ("after", after, "Your German"))
    for column, (side, one, title) in zip(st.columns(2, gap="large"), sides, strict=True):
        with column:
            if one is None:
                st.info("Type a German sentence, or choose one above, to fill this side.")
            else:
                read(one, view, side, title)
    if after is not None:
        verdict(after)
        if len(engine.model().tokenizer.encode(text)) > MAX_TOKENS:
            st.caption(f"Your German is longer than the model can take: only its first {MAX_TOKENS} pieces are read.")


def put(sentence: str, german: str) -> None:
    st.session_state[SENTENCE], st.session_state[GERMAN] = sentence, german
    write_pair("cell", None)


def offer(label: str, sentence: str, german: str = "") -> None:
    """A button that puts an English sentence into the bar, and German into its box."""
    if st.button(label, key=f"offer_{label}", help=german or sentence, on_click=put, args=(sentence, german)):
        st.rerun()  # the whole page: the sentence bar too


def read(trace: Trace, view: View, side: str, title: str) -> None:
    """Where the decoder looks while it reads this target, and the probability of each piece."""
    rows, columns = view.readable(trace)
    matrix(
        view.values(trace)[: len(rows), : len(columns)],
        Labels([group.label for group in rows], [group.label for group in columns], describe=KINDS[KIND].describe),
        Caption(title, f"{view.in_full}; 0 to 1 on both sides.", csv_name=f"weights {title}"),
        key=f"do_{side}",
    )
    st.markdown("**How likely the model finds each piece, after those before it**")
    shown = trace.labels[:READABLE]
    bars([token.text for token in shown], trace.probabilities[:READABLE], f"Probability of each piece: {title}")
    if len(trace.labels) > READABLE:
        st.caption(f"Shown: the first {READABLE} of {len(trace.labels)} pieces.")


def verdict(trace: Trace) -> None:
    """What the probabilities of the learner's German say, in a sentence, and what the model would have written."""
    given = np.array(trace.probabilities)
    probabilities = engine.numbers(trace)["probabilities"]
    first = probabilities.argmax(-1)
    agreed = int(sum(token.id == best for token, best in zip(trace.labels, first, strict=True)))
    mean = float(np.exp(np.log(np.maximum(given, np.finfo(float).tiny)).mean()))
    says = (
        "To the model this is a likely translation."
        if mean >= 0.5
        else "The model would have put it differently, but it can follow: after an unexpected piece, the next ones are "
        "likely again."
        if mean >= 0.02
        else "The model does not take this for a translation of your sentence: another meaning, another language, or "
        "an order that it never met. It still looks somewhere, since every row must share out a weight of 1; but that "
        "is no alignment."
    )
    st.markdown(
        f"A piece of your German has a probability of **{magnitude(mean)}** on average (the geometric mean), all of it "
        f"together **{magnitude(float(given.prod()))}**; **{agreed} of {len(given)}** pieces are what the model would "
        f"have written there itself. {says}"
    )
    tokenizer = engine.model().tokenizer
    with st.expander("What the model would rather have written, piece by piece"):
        table(
            ("your piece", "its probability", "the likeliest piece", "its probability"),
            [
                (token.text, number(float(p)), tokenizer.tokens([int(best)])[0].text, number(float(row[best])))
                for token, p, row, best in zip(trace.labels[:READABLE], given, probabilities, first, strict=False)
            ],
        )
