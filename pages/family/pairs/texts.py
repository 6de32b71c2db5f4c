"""The learner's two texts: A is the sentence at the top, B a text box of the lesson."""

from dataclasses import dataclass
from functools import cached_property

import streamlit as st

from experiments.family.pairs import CHANCES, read_pair
from model.files.loaded_model import LoadedModel
from model.text.tokenizer import Token, normalise
from model.trace import Trace
from pages.family_models import BERT, family_model
from ui import engine
from ui.course.notices import MAX_CHARS

SECOND = "second"  # the parameter in the address, and the key of the text box: text B
FIRST_B = "But I was still hungry."
MOST = 60  # pieces of each text that are read


def bert() -> LoadedModel:
    """Raises: CheckpointError if it is missing or broken"""
    return family_model(BERT)


@dataclass(frozen=True)
class Pair:
    """Two texts as ids; is_cut: one of them was longer than is read."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    is_cut: bool = False

    @cached_property
    def read(self) -> Trace:
        return engine.run(read_pair, bert(), self.first, self.second)

    @property
    def tokens(self) -> tuple[Token, ...]:
        return self.read.src

    @property
    def follows(self) -> float:
        """The probability that the second text follows the first."""
        return float(self.read.tensors[CHANCES][0, 0])

    def segment(self, row: int) -> str:
        return "A" if row < len(self.first) + 2 else "B"


def pair_of(first: str, second: str) -> Pair | None:
    """None where one of the two is empty."""
    ids = [tuple(bert().tokenizer.encode(normalise(text[:MAX_CHARS]))) for text in (first, second)]
    if not all(ids):
        return None
    return Pair(ids[0][:MOST], ids[1][:MOST], max(map(len, ids)) > MOST)


def typed() -> str:
    """Text B as typed, also where the box is not on the page."""
    return str(st.session_state.get(SECOND, st.query_params.get(SECOND, FIRST_B)) or "")


def chosen(trace: Trace) -> Pair | None:
    return pair_of(trace.text, typed())
