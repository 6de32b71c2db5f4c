"""German of the learner's own: where the decoder looks while it reads it, and how likely it finds it."""

import numpy as np
import streamlit as st

from model.text.tokenizer import normalise
from model.trace import MAX_TOKENS, Trace
from pages.attention.encoder_decoder_attention.offers import GERMAN, offers
from pages.attention.encoder_decoder_attention.view import KIND, View
from ui import engine
from ui.components.matrix import Caption, Labels, matrix
from ui.course.notices import MAX_CHARS
from ui.text import bold, chance, magnitude
from ui.views.attention_kinds import KINDS, READABLE
from ui.views.charts.bars import bars
from ui.views.charts.tables import table

LIKELY, UNLIKELY = 0.5, 0.02  # mean probabilities of a piece: from the one on, and below the other

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
        "Give the decoder other German to read than its own. At each piece you see where it looks, and how likely it "
        "found just this piece. (To feed given pieces instead of the model's own is called *teacher forcing*; so it "
        "was trained.) The examples change the English sentence at the top too:"
    )
    offers(PAIRS, "pairs")
    typed = st.text_input(
        "Your own German sentence", key=GERMAN, bind="query-params", live="300ms",
        placeholder="Leave it empty for the model's translation",
    )  # fmt: skip
    text = normalise((typed or "")[:MAX_CHARS])
    after = engine.retrace(trace, text) if text else None
    sides = (("before", trace, "The model's translation"), ("after", after, "Your German"))
    for column, (side, one, title) in zip(st.columns(2, gap="large"), sides, strict=True):
        with column:
            if one is None:
                st.info("Type a German sentence, or choose one above, to fill this side.")
            else:
                read(one, view, side, title)
    if after is not None:
        verdict(after)
        if len(trace.model.tokenizer.encode(text)) > MAX_TOKENS:
            st.caption(f"Your German is longer than the model can take: only its first {MAX_TOKENS} pieces are read.")


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
    english = bold(trace.text)
    if mean >= LIKELY:
        says = f"To the model this is a likely translation of {english} (a mean of {LIKELY} or more)."
    elif mean >= UNLIKELY:
        says = f"The model would have put {english} differently (a mean below {LIKELY})."
    else:
        says = (
            f"The model does not take this for a translation of {english} (a mean below {UNLIKELY}). It still looks "
            "somewhere, because every row must share out a weight of 1; but that is no alignment."
        )
    st.markdown(
        f"All {len(given)} pieces of your German together have a probability of "
        f"**{magnitude(float(given.prod()))}**: their probabilities multiplied. If each had the same, that would be "
        f"**{magnitude(mean)}** a piece, their (geometric) mean. **{agreed} of {len(given)}** pieces "
        f"{'is' if agreed == 1 else 'are'} what the model would have written there itself. {says}"
    )
    tokenizer = trace.model.tokenizer
    with st.expander("What the model would rather have written, piece by piece"):
        table(
            ("your piece", "its probability", "the likeliest piece", "its probability"),
            [
                (token.text, chance(float(p)), tokenizer.tokens([int(best)])[0].text, chance(float(row[best])))
                for token, p, row, best in zip(trace.labels[:READABLE], given, probabilities, first, strict=False)
            ],
        )
