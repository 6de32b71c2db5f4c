"""What the learner labels, and what is trained on it."""

import functools
from dataclasses import dataclass

import streamlit as st

from model.files.checkpoint import PROJECT
from model.files.loaded_model import LoadedModel, model_names
from model.text.tokenizer import normalise
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
from ui.text import in_markdown, number


@dataclass(frozen=True)
class Topic:
    """Sentences to label. file: in FILES; plus, minus: what both labels mean"""

    file: str
    plus: str
    minus: str

    def named(self, label: str) -> str:
        return self.plus if label == PLUS else self.minus


SETS = {
    "At sea or on a farm": Topic("places", "at sea", "on a farm"),
    "An animal or a person": Topic("animals", "an animal", "a person"),
    "Happy or sad": Topic("moods", "happy", "sad"),
}
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
    return sentences(topic().file)[MOST:]


def topic() -> Topic:
    return SETS[SET.value()]


def pretrained() -> LoadedModel:
    return engine.model(MODELS[MODEL.value()])


def faults() -> None:
    """What is unusual about the labels, if anything is."""
    try:
        for text in contradictions(parsed(written(), topic().named))[:1]:
            st.caption(
                f"“{in_markdown(text)}” lies on both sides. It counts for both, so no model can get both of them right."
            )
    except LabelError as error:
        st.info(in_markdown(str(error)))


def label_sentences() -> None:
    """Twenty sentences as cards in two heaps, and a box for other sentences."""
    chosen = topic()
    st.caption("Click a sentence to move it to the other side.")
    with st.container(key="heaps"):
        for column, label in zip(st.columns(2, gap="small"), (MINUS, PLUS), strict=True):
            with column:
                heap(label, chosen)
    with st.expander("Write your own sentences"):
        st.text_area(
            f"A line each: {PLUS} for “{chosen.plus}”, {MINUS} for “{chosen.minus}”",
            given(chosen),
            key=f"labelled_{chosen.file}",
            height=240,
            bind="query-params",
            help=f"At most {MOST} lines; each begins with {PLUS} or {MINUS}. Of a sentence, {MAX_TOKENS} pieces are "
            "read.",
        )


def heap(label: str, chosen: Topic) -> None:
    """The sentences with one label; a click on one gives it the other label."""
    lines = written().splitlines()
    cards = [text for line in lines if (text := card(line, label))][:MOST]
    key = f"heap_{chosen.file}{label}"

    def move() -> None:
        moved, other = st.session_state[key], MINUS if label == PLUS else PLUS
        st.session_state[key] = None
        now = [f"{other} {moved}" if card(line, label) == moved else line for line in lines]
        st.session_state[f"labelled_{chosen.file}"] = "\n".join(now)

    name = f"**{chosen.named(label)}**: {len(cards)}"
    if cards:
        st.pills(name, dict.fromkeys(cards), format_func=in_markdown, key=key, on_change=move, wrap=True)
    else:
        st.markdown(name)


def card(line: str, label: str) -> str:
    """The sentence of a line that has this label, or ''."""
    line = normalise(line).replace("−", MINUS).replace("–", MINUS)
    return line[1:].strip() if line.startswith(label) else ""


def given(chosen: Topic) -> str:
    return "\n".join(f"{label} {text}" for text, label in sentences(chosen.file)[:MOST])


def written() -> str:
    """What stands in the box, whether or not it is on the page."""
    key = f"labelled_{topic().file}"
    return str(st.session_state.get(key, st.query_params.get(key, given(topic()))))[:MAX_WRITTEN]


def labelled() -> tuple[Labelled, ...]:
    """The learner's sentences with their labels; those given, where nothing can be learned from what is written."""
    try:
        return parsed(written(), topic().named)
    except LabelError:
        return sentences(topic().file)[:MOST]


def with_error(right: float, n: int) -> str:
    """A share of right labels with its standard error, in %."""
    return f"{number(100 * right, 0)}% ± {number(100 * (right * (1 - right) / n) ** 0.5, 0)}"


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
        labelled = parsed(written(), topic().named)
    except LabelError:
        return None
    auxiliary = AUXILIARY if MODEL.value() == "GPT" and GUESSES.value() else 0.0
    return Labelling(MODELS[MODEL.value()], labelled, test_sentences(), LEARNS.value(), auxiliary)
