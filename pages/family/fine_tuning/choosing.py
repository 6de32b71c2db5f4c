"""What the learner labels, and what is trained on it."""

import functools

import streamlit as st

from model.files.checkpoint import PROJECT
from model.files.loaded_model import LoadedModel, model_names
from training.live.labelling import (
    AUXILIARY,
    EVERYTHING,
    HEAD,
    MAX_TOKENS,
    MINUS,
    MOST,
    PLUS,
    LabelError,
    Labelled,
    Labelling,
    contradictions,
    parsed,
)
from ui import engine
from ui.controls.control import Choice, Switch
from ui.text import in_markdown

SETS = {"At sea or on a farm": "places", "An animal or a person": "animals", "Happy or sad": "moods"}
FILES = PROJECT / "assets" / "labelled"
KNOWN = {"GPT": "gpt-mini", "BERT": "bert-mini"}
MODELS = {title: name for title, name in KNOWN.items() if name in model_names()} or KNOWN
MAX_WRITTEN = 4000  # characters that are read

SET = Choice("Sentences", "set", tuple(SETS))
MODEL = Choice("Pre-trained model", "pretrained", tuple(MODELS))
LEARNS = Choice("What learns", "learns", (EVERYTHING, HEAD))
GUESSES = Switch(f"Go on guessing pieces, λ = {AUXILIARY:g}", "auxiliary")


@functools.cache
def sentences(name: str) -> tuple[Labelled, ...]:
    """All sentences of a file: the first MOST to be learned, the others to measure with."""
    rows = (line.split("\t") for line in (FILES / f"{name}.tsv").read_text(encoding="utf-8").splitlines())
    return tuple((text, label) for label, text in rows)


def test_sentences() -> tuple[Labelled, ...]:
    return sentences(SETS[SET.value()])[MOST:]


def pretrained() -> LoadedModel:
    return engine.model(MODELS[MODEL.value()])


def label_sentences() -> None:
    """The box with twenty sentences and their labels, and what is unusual about them."""
    name = SETS[SET.draw()]
    given = "\n".join(f"{label} {text}" for text, label in sentences(name)[:MOST])
    st.text_area(
        f"Twenty sentences and your labels: {PLUS} or {MINUS}",
        given,
        key=f"labelled_{name}",
        height=240,
        bind="query-params",
        help=f"At most {MOST} lines; each begins with {PLUS} or {MINUS}. Write your own sentences, with any meaning "
        f"of {PLUS} and {MINUS} that you like. Of a sentence, {MAX_TOKENS} pieces are read.",
    )
    try:
        for text in contradictions(parsed(written()))[:1]:
            st.caption(
                f"“{in_markdown(text)}” has both labels. It counts for both, so no model can get both of them right."
            )
    except LabelError as error:
        st.info(in_markdown(str(error)))


def written() -> str:
    """What stands in the box, whether or not it is on the page."""
    name = SETS[SET.value()]
    key = f"labelled_{name}"
    given = "\n".join(f"{label} {text}" for text, label in sentences(name)[:MOST])
    return str(st.session_state.get(key, st.query_params.get(key, given)))[:MAX_WRITTEN]


def choose_training() -> None:
    """What else one can choose, folded away."""
    with st.expander("Another model, the head alone, or GPT's second loss"):
        if MODEL.draw() == "GPT":
            GUESSES.draw()
        LEARNS.draw()
        st.caption(
            "*The head alone* leaves every pre-trained number as it is. With *λ* GPT learns two things at once: the "
            "labels, and still the next piece of each sentence. Its loss is L₃ = L₂ + λL₁, that of the labels plus λ "
            "times that of the pieces."
        )


def chosen() -> Labelling | None:
    """What is to be learned, or None if nothing can be."""
    try:
        labelled = parsed(written())
    except LabelError:
        return None
    auxiliary = AUXILIARY if MODEL.value() == "GPT" and GUESSES.value() else 0.0
    return Labelling(MODELS[MODEL.value()], labelled, test_sentences(), LEARNS.value(), auxiliary)
