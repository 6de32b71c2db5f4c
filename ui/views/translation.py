"""The translation, and how sure the model was of each piece of it."""

import functools
import math

import streamlit as st

from experiments.writing.doubt import BAD, Doubt, Finding, certainty, load_doubt
from figures.grouping import words
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import TRANSLATOR
from model.trace import Trace, most_tokens
from ui.text import chance, in_html, in_markdown, number, piece


@functools.cache
def doubt_of(name: str) -> Doubt | None:
    """What was measured on a model, so that a doubtful translation is called so: on the translator alone.

    Nothing where it was measured with other weights: then it is not known when the model is lost.
    """
    try:
        return load_doubt() if name == TRANSLATOR else None
    except CheckpointError:
        return None


def translation(trace: Trace, own: bool = True) -> None:
    """What the model wrote as plain text in a container with the key `translation`, under a label; whether it is lost.

    Args: own: whether every piece is the model's own choice: only such translations were measured
    """
    doubt = doubt_of(trace.model.name) if own else None
    finding = doubt.of(trace) if doubt else None
    word = finding.word if finding else None
    with st.container(gap="xxsmall"):
        label = in_html(f"{trace.model.about.target} translation")
        st.html(f'<p class="tw-label" id="tw-written">{label}</p>')
        with st.container(key="translation"):
            # It can be reached by Tab, because a long one scrolls in its own box.
            written = underlined(trace, word.pieces[-1], word.label) if word else in_html(trace.translation)
            st.html(
                f'<p class="tw-translation" lang="{in_html(trace.model.about.language)}" role="status" tabindex="0" '
                'aria-labelledby="tw-written">'
                f"{written or '(no words)'}</p>"
            )
        if finding and doubt:
            st.html(_doubtful(trace, doubt, finding))
    if not trace.finished:
        st.caption(f"The model did not come to an end; it was stopped after {most_tokens(trace.model)} pieces.")


def underlined(trace: Trace, last: int, word: str) -> str:
    """The translation as HTML with one word underlined, whose last piece is given; without it where bytes hide it."""
    through = trace.model.tokenizer.decode(trace.label_ids[: last + 1])
    if not (trace.translation.startswith(through) and through.endswith(word)):
        return in_html(trace.translation)
    before, after = through.removesuffix(word), trace.translation[len(through) :]
    return f'{in_html(before)}<u class="tw-doubtful">{in_html(word)}</u>{in_html(after)}'


def _doubtful(trace: Trace, doubt: Doubt, finding: Finding) -> str:
    """One line; opened, it tells why it is there and how often it is right."""
    seen, language = doubt.validation, in_html(trace.model.about.language)
    source, target = in_html(trace.model.about.source), in_html(trace.model.about.target)
    word = f'<q lang="{language}">{in_html(finding.word.label)}</q>' if finding.word else ""
    typed = f"<q>{in_html(finding.typed)}</q>"
    missing = f": {typed} is in your sentence, but not in the translation"
    why = {
        "unsure": f": it was least sure of {word}" if word else "",
        "unread": f": of the sentence pairs by people that it learned from, at most one has {typed}",
        "invented": f": {word} is in no translation by people that it learned from",
        "number": missing,
        "name": missing,
        "capitals": ": your sentence is in capitals, and hardly any pair by people that it learned from is",
        "german": f": your sentence looks like {target}, and it learned to read {source}",
    }[finding.why]
    return (
        f'<details class="tw-doubt"><summary>The model may be lost here{why}.</summary><p>The pieces of its words and '
        f"marks had a probability of {number(certainty(trace), 3)} on average. This line appears where that is below "
        f"{number(doubt.bound, 3)}. It also appears where a word may be invented: no translation by people that the "
        f"model learned from has it, it is not made of their words, and it is not in the {source}. And it appears "
        "where at most one of their pairs has a word of yours, where a number or a name is missing, or where your "
        f"sentence is in capitals or {target}. To see how often it is right, {seen.sentences:,} sentences that people "
        f"had translated too went through the model. The line appeared for {seen.doubted:,} of them. "
        f"{seen.rightly:,} of these translations shared few groups of letters with what people wrote (a chrF under "
        f"{BAD:.0f} of 100), {seen.doubted - seen.rightly:,} shared more. It did not appear for "
        f"{seen.bad - seen.rightly:,} others that shared few. The word that it underlines was in no translation by "
        f"people for {seen.word:,} of the {seen.doubted:,}; of all words of these translations {seen.words:.0%} were "
        "not.</p></details>"
    )


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
            texts = (f"{trace.labels[i].text} {chance(q, 2)}" for i, q in named)
            parts = f'<span class="tw-p">{in_html(" · ".join(texts))}</span>'
        chips.append(
            f'<li><span class="tw-piece" lang="{language}">{in_html(piece(group.label))}</span>'
            f'<span class="tw-bar" style="--p:{p:.4f}" aria-hidden="true"></span>'
            f'<span class="tw-p">{in_html(chance(p, 2))}</span>{parts}</li>'
        )
    label = "Words written, with their probabilities"
    st.html(f'<ol class="tw-pieces" tabindex="0" aria-label="{label}">{"".join(chips)}</ol>')  # on a phone it scrolls
    st.caption(
        "Each word with its probability. The model writes **pieces**: a rare word is several, shown below it, and "
        f"their probabilities multiply. {in_markdown('<eos>')} stands for the end of the sentence."
    )
