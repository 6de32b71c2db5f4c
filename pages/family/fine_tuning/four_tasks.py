"""The visitor's sentence through four heads that come with the app, one for each kind of task."""

from typing import Any

import streamlit as st

from experiments.family.four_tasks import PARAPHRASE, QUESTION, SENTIMENT, TAGS, WORD, answer, chances, tags
from experiments.family.language_models import published
from model.files.loaded_model import LoadedModel
from model.parts.task_heads import TASK_HEADS
from model.text.tokenizer import normalise
from model.trace import Trace
from pages.family.fine_tuning.with_and_without import share
from pages.family_models import BERT, family_model
from ui import engine
from ui.course.notices import MAX_CHARS
from ui.text import bold, chance, piece
from ui.views.charts.tables import table

MOST = 60  # pieces of each text that are read
ANOTHER, FIRST_ANOTHER = "same_as", "I had an apple."
ASKED, FIRST_ASKED = "to_answer", "What did I eat?"
KNOWN_STORY = "Mary went back to the garden.", "Where is Mary?"
FEELINGS = ("unkind", "kind")
MEANINGS = ("something else", "the same")
KINDS_OF_WORD = {
    "ADJ": "adjective",
    "ADP": "preposition",
    "ADV": "adverb",
    "AUX": "auxiliary verb",
    "CCONJ": "conjunction, as “and”",
    "DET": "determiner, as “the”",
    "INTJ": "interjection, as “oh”",
    "NOUN": "noun",
    "NUM": "number",
    "PART": "particle, as “not”",
    "PRON": "pronoun",
    "PROPN": "name",
    "PUNCT": "mark",
    "SCONJ": "conjunction, as “if”",
    "SYM": "symbol",
    "VERB": "verb",
    "X": "other",
}
MEASURED = {
    SENTIMENT: "Kind or unkind?",
    PARAPHRASE: "Does it mean the same?",
    QUESTION: "Which words answer the question?",
    TAGS: "What kind of word is it?",
}


def pieces_of(loaded: LoadedModel, text: str) -> tuple[int, ...]:
    return tuple(loaded.tokenizer.encode(normalise(text[:MAX_CHARS]))[:MOST])


def typed(label: str, key: str, at_first: str) -> str:
    """A text box, whose text stands in the address."""
    return str(st.text_input(label, at_first, key=key, bind="query-params", live="300ms") or "")


def four_tasks(trace: Trace) -> None:
    bert = family_model(BERT)
    text = pieces_of(bert, trace.text)
    st.markdown(
        "**One BERT, four tasks.** For each task the small BERT got a head of its own, and its last two layers learned "
        "with it. All below them is the same for all four. Here they read your sentence."
    )
    if len(bert.tokenizer.encode(trace.text)) > MOST:
        st.info(f"Of each text BERT reads at most {MOST} pieces here.")
    class_of_sentence(bert, text)
    class_of_pair(bert, text)
    span(bert, text)
    tag_every_word(bert, trace.text)
    with st.expander("How good they are"):
        how_good()


def class_of_sentence(bert: LoadedModel, text: tuple[int, ...]) -> None:
    likely = engine.run(chances, bert, SENTIMENT, text)
    best = int(likely.argmax())
    st.markdown("**1. A class for a sentence.** As a sentence from a film review: kind or unkind?")
    st.markdown(f"It finds your sentence **{FEELINGS[best]}**, with probability {chance(float(likely[best]))}.")


def class_of_pair(bert: LoadedModel, text: tuple[int, ...]) -> None:
    st.markdown("**2. A class for a pair.** Do two sentences mean the same?")
    another = pieces_of(bert, typed("Another sentence", ANOTHER, FIRST_ANOTHER))
    if not another:
        st.info("Type another sentence, so that there is a pair.")
        return
    likely = engine.run(chances, bert, PARAPHRASE, text, another)
    best = int(likely.argmax())
    st.markdown(f"It finds that they mean **{MEANINGS[best]}**, with probability {chance(float(likely[best]))}.")


def span(bert: LoadedModel, text: tuple[int, ...]) -> None:
    st.markdown("**3. A span.** Which words of a text answer a question? It knows stories of one form alone.")
    known, asked = (pieces_of(bert, one) for one in KNOWN_STORY)
    st.markdown(f"Asked of *{KNOWN_STORY[0]}* “{KNOWN_STORY[1]}”, {answered(bert, asked, known)}")
    question = pieces_of(bert, typed("A question about your sentence", ASKED, FIRST_ASKED))
    if not question:
        st.info("Type a question, so that there is something to answer.")
        return
    st.markdown(f"Asked this of your sentence, {answered(bert, question, text)}")


def answered(bert: LoadedModel, question: tuple[int, ...], text: tuple[int, ...]) -> str:
    found = engine.run(answer, bert, question, text)
    words = bert.tokenizer.whole_text(text[found.first : found.last + 1])
    return f"it answers {bold(piece(words))}, with probability {chance(found.probability)}."


def tag_every_word(bert: LoadedModel, text: str) -> None:
    st.markdown("**4. A tag for every word.** What kind of word is it?")
    words, ids, n = [], [], 0
    for word, pieces in ((word, bert.tokenizer.encode(word)) for word in WORD.findall(text)):
        if (n := n + len(pieces)) > MOST:
            break
        words.append(word)
        ids.append(tuple(pieces))
    if not words:
        st.info("There is no word that could get a tag.")
        return
    likely = engine.run(tags, bert, tuple(ids))
    names = tuple(KINDS_OF_WORD.values())
    table(
        ("word", "kind of word", "probability"),
        [(word, names[row.argmax()], chance(float(row.max()))) for word, row in zip(words, likely, strict=True)],
    )


def how_good() -> None:
    figures = published(TASK_HEADS.name)
    table(
        ("task", "examples learned from", "right on others", "by counting words"),
        [
            (asks, f"{one['train']:,}", share(one["right"], one["n"]), counted(one))
            for asks, one in ((asks, figures[task]) for task, asks in MEASURED.items())
        ],
    )
    st.caption(
        "*Right* is the share of test answers that are, with its standard error after ±; a span is right if both its "
        "ends are. *By counting words* of the same examples: for the first two, logistic regression on which words "
        "occur; for the tags, the most frequent tag of each word. This small BERT does no better than that on film "
        "reviews and on pairs. The film reviews, pairs, stories and tagged sentences, and their licences, are named on "
        "the card of these models, in assets/models/tasks."
    )


def counted(figures: dict[str, Any]) -> str:
    """What counting words reaches, if that was measured."""
    return share(figures["counted"], figures["n"]) if "counted" in figures else "–"
