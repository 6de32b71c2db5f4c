"""One word of the learner's sentence hidden, and what models that read as BERT does say in its place."""

from dataclasses import replace

import streamlit as st

from experiments.family.fill_in import each_hidden
from figures.statistics import softmax
from model.files.loaded_model import Array
from model.trace import Trace
from pages.family.fill_in_the_blank.blanks import SCENE, Blanks, whole
from pages.family_models import family_model
from ui import engine
from ui.controls.piece_control import choose_part, current_part

ADDED = "A full stop was added: the models learned from texts that end with a mark."


def said_of_each(name: str, text: Blanks) -> Array:
    """A model's logits (N,V) at the first piece of each of the first SCENE words, that word alone hidden: one pass.

    Raises: CheckpointError if the model is missing or broken
    """
    return engine.run(each_hidden, family_model(name), text.ids, text.words[:SCENE])


def clearest(name: str, trace: Trace) -> tuple[Blanks, int]:
    """The sentence, and which word to hide until one is chosen: the longest of those that a model names first; if it
    names none, the one that it finds likeliest. Words of letters come before marks.
    """
    text = whole(trace)
    shares = softmax(said_of_each(name, text))

    def shows(n: int) -> tuple[bool, int, float]:
        right = text.ids[text.words[n][0]]
        is_named = int(shares[n].argmax()) == right
        return text.word(n).isalpha(), len(text.word(n)) * is_named, float(shares[n, right])

    return text, max(range(len(shares)), key=shows)


def shown_words(text: Blanks) -> list[str]:
    """Those that can be hidden here."""
    return [text.word(n) for n in range(min(len(text.words), SCENE))]


def choose_word(text: Blanks, default: int) -> Blanks:
    """The text with one of its first SCENE words hidden: a control, kept in the address."""
    hidden = replace(text, hidden=(choose_part("Word to hide", shown_words(text), default, _named(text)),))
    if text.is_ended:
        st.caption(ADDED)
    if text.n_cut:
        st.info(f"The models read only the first {len(text.tokens)} pieces of this text.")
    return hidden


def current_word(text: Blanks, default: int) -> Blanks:
    """The same, also where the control is not on the page."""
    return replace(text, hidden=(current_part(min(len(text.words), SCENE), default, _named(text)),))


def _named(text: Blanks) -> str:
    return ".".join(map(str, text.ids))
