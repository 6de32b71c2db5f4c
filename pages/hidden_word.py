"""One word of the learner's sentence hidden, and what models that read as BERT does say in its place."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
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


def clearest(names: Sequence[str], trace: Trace) -> tuple[Blanks, int]:
    """The sentence, and which word to hide until one is chosen: the longest of those that all these models name first;
    if there is none, the one that the least sure of them finds likeliest. Words of letters come before marks.
    """
    text = whole(trace)
    shares = np.stack([softmax(said_of_each(name, text)) for name in names])  # (models,N,V)

    def shows(n: int) -> tuple[bool, int, float]:
        right = text.ids[text.words[n][0]]
        is_named = bool((shares[:, n].argmax(-1) == right).all())
        return text.word(n).isalpha(), len(text.word(n)) * is_named, float(shares[:, n, right].min())

    return text, max(range(shares.shape[1]), key=shows)


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
