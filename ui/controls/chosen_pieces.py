"""Pieces that the visitor wants written, in the address as `prefix=306.1201`: ids of the vocabulary."""

import re
from dataclasses import dataclass

import streamlit as st

from model.decoding.strategies import PrefixError, check_prefix
from model.trace import MAX_TOKENS
from ui.text import in_markdown

Ids = tuple[int, ...]


@dataclass(frozen=True)
class ChosenPieces:
    """The pieces that a text is to begin with, or to go on with. name: in the address"""

    name: str

    def read(self, of: str, vocab_size: int) -> tuple[Ids, str]:
        """The ids, and what was left out of them and why, or ''.

        Pieces chosen for one text mean nothing in another: they are forgotten when the text that they are `of` changes
        and they do not. An address that brings along both is another's.
        """
        last = f"{self.name}_of"  # in the session: the chosen pieces, and the text that they belong to
        of_before, asked_before = st.session_state.get(last, (of, ""))
        if of_before != of and st.query_params.get(self.name, "") == asked_before:
            self.write(())
        asked = st.query_params.get(self.name, "")
        st.session_state[last] = of, asked
        known: Ids = ()
        for part in asked.split(".")[: MAX_TOKENS + 1] if asked else ():
            try:
                longer = (*known, _number(part))
                check_prefix(longer, vocab_size, MAX_TOKENS)
            except PrefixError as error:
                left_out = in_markdown(part[:20])
                return (
                    known,
                    f"The address asks for the piece {left_out}, but {in_markdown(str(error))}. It is left out.",
                )
            known = longer
        return known, ""

    def write(self, ids: Ids) -> None:
        if ids:
            st.query_params[self.name] = ".".join(map(str, ids))
        else:
            st.query_params.pop(self.name, None)


def _number(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,9}", text):
        raise PrefixError("that is no id of the vocabulary")
    return int(text)
