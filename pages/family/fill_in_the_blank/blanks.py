"""The learner's sentence as BERT reads it, and which of its words are hidden: the address tells."""

import functools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import streamlit as st

from experiments.family.fill_in import left_alone
from figures.statistics import softmax
from model.files.checkpoint import broken
from model.files.loaded_model import MODELS
from model.text.tokenizer import CLS_ID, MASK, MASK_ID, SEP_ID, Token
from model.trace import Trace, most_tokens, read
from pages.family_models import ADDED, BERT, GPT, family_model, finished
from ui import engine
from ui.components.pieces import Card, pieces
from ui.controls.piece_control import choose_part, current_part
from ui.text import piece

METRICS = "metrics.json"  # in a model's folder
HIDDEN = "blanks"  # in the address: the numbers of the hidden words, like 2.5, or 0 for none
SCENE = 10  # words on the first screen
WHICH = "which"  # in the address: the number of the blank that is looked at

Word = tuple[int, ...]


@functools.cache
def measured() -> dict[str, Any]:
    """What was measured of BERT when it was published. Raises: CheckpointError"""
    file = MODELS / BERT / METRICS
    try:
        found: dict[str, Any] = json.loads(file.read_text())
        return found["test"]
    except (OSError, ValueError, KeyError) as error:
        raise broken(file, error) from error


@dataclass(frozen=True)
class Blanks:
    """A text with some words hidden.

    tokens: its pieces; words: for each word its pieces by index; hidden: the words that are, by index; is_ended: a full
    stop was put behind it
    """

    tokens: tuple[Token, ...]
    words: tuple[Word, ...]
    hidden: tuple[int, ...]
    n_cut: int = 0
    is_ended: bool = False

    @cached_property
    def ids(self) -> tuple[int, ...]:
        return tuple(token.id for token in self.tokens)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The hidden pieces, by index."""
        return tuple(place for word in self.hidden for place in self.words[word])

    def word(self, n: int) -> str:
        ids = [self.ids[place] for place in self.words[n]]
        return family_model(BERT).tokenizer.whole_text(ids).strip(" ") or " "

    def word_at(self, place: int) -> int:
        return next(n for n, word in enumerate(self.words) if place in word)

    @cached_property
    def read(self) -> Trace:
        """BERT's pass over the text with its blanks; row n + 1 is that of piece n."""
        return self.read_by(BERT)

    def read_by(self, name: str) -> Trace:
        """The same by any model with BERT's vocabulary. Raises: CheckpointError"""
        ids = [MASK_ID if place in self.places else id for place, id in enumerate(self.ids)]
        return engine.run(read, family_model(name), (CLS_ID, *ids, SEP_ID))

    def from_both_sides(self, place: int) -> np.ndarray:
        """BERT's probability of every entry at a blank (V)."""
        return softmax(self.read.tensors["logits"][place + 1].astype(float))

    def from_the_left(self, place: int) -> np.ndarray:
        """GPT's, behind the true pieces before it (V)."""
        return engine.run(left_alone, family_model(GPT), self.ids[:place])


def words_of(tokens: Sequence[Token]) -> tuple[Word, ...]:
    words: list[list[int]] = []
    for n, token in enumerate(tokens):
        if n and token.word == tokens[n - 1].word:
            words[-1].append(n)
        else:
            words.append([n])
    return tuple(map(tuple, words))


def telling_word(text: Blanks) -> int:
    """The longest word that BERT names first and GPT does not; if there is none, the one that BERT gives most more.

    It has others on both sides, if it can.
    """
    shown = range(min(len(text.words), SCENE))
    spelled = [n for n in shown if text.word(n).isalpha()]
    inner = spelled[1:-1] or spelled or list(shown)

    def shows(n: int) -> tuple[int, float]:
        place = text.words[n][0]
        both, left = replace(text, hidden=(n,)).from_both_sides(place), text.from_the_left(place)
        right = text.ids[place]
        told = int(both.argmax()) == right != int(left.argmax())
        return len(text.word(n)) * told, float(both[right] - left[right])

    return max(inner, key=shows)


def whole(trace: Trace) -> Blanks:
    """The text with a mark at its end, nothing hidden."""
    bert, ended = family_model(BERT), finished(trace.text)
    ids = bert.tokenizer.encode(ended)
    most = most_tokens(bert)
    tokens = bert.tokenizer.tokens(ids[:most])
    return Blanks(tokens, words_of(tokens), (), max(0, len(ids) - most), ended != trace.text and len(ids) <= most)


def opened(trace: Trace) -> Blanks:
    """The text as the lesson opens it: one word is hidden."""
    text = whole(trace)
    return replace(text, hidden=(telling_word(text),))


def chosen(first: Blanks) -> Blanks:
    """The text with the blanks that the address names, if they can be, else as it is first."""
    asked = st.query_params.get(HIDDEN, "")
    if asked == "0":
        return replace(first, hidden=())
    if not re.fullmatch(r"\d{1,3}(\.\d{1,3}){0,99}", asked, re.ASCII):
        return first
    named = sorted({int(n) - 1 for n in asked.split(".")})
    if not all(0 <= n < len(first.words) for n in named):
        return first
    return replace(first, hidden=tuple(named))


def choose_words(
    first: Blanks,
    title: str = "Your sentence in BERT’s pieces",
    how: str = "Click a word to hide it, or drag over several. The same shows them again.",
    added: str = ADDED,
    sign: Callable[[Blanks, int], str] = lambda blanks, place: MASK,
) -> Blanks:
    """The text as cards: a click, or a drag over several, hides words, or shows them again if all of them are hidden.

    Args: first: the text with the words that are hidden at first; title, how, added: words around it; sign: what stands
          for a hidden piece, by its place
    """
    blanks = chosen(first)

    def turn(start: int, end: int) -> None:
        now, run = {*blanks.hidden}, {*range(blanks.word_at(start), blanks.word_at(end) + 1)}
        hidden = tuple(sorted(now - run if run <= now else now | run))
        if hidden == first.hidden:
            st.query_params.pop(HIDDEN, None)
        else:
            st.query_params[HIDDEN] = ".".join(str(n + 1) for n in hidden) or "0"
        st.query_params.pop(WHICH, None)

    cards = [
        Card(sign(blanks, place), (token.text,), token.word, marked=True)
        if place in blanks.places
        else Card(token.text, word=token.word)
        for place, token in enumerate(blanks.tokens)
    ]
    pieces(cards, key="blanks_of_text", title=title, how_to_read=how, on_run=turn)
    if blanks.is_ended:
        st.caption(added)
    if blanks.n_cut:
        st.info(f"Only the first {len(blanks.tokens)} pieces of this text are read.")
    return blanks


def _named(blanks: Blanks) -> str:
    return ".".join(map(str, (*blanks.ids, *blanks.hidden)))


def choose_blank(blanks: Blanks) -> int:
    """The hidden piece to look at: a control where there are several."""
    if len(blanks.places) == 1:
        return blanks.places[0]
    texts = [piece(blanks.tokens[place].text) for place in blanks.places]
    return blanks.places[choose_part("Blank to look at", texts, 0, _named(blanks), WHICH)]


def current_blank(blanks: Blanks) -> int:
    """The same, also where the control is not on the page."""
    return blanks.places[current_part(len(blanks.places), 0, _named(blanks), WHICH)]
