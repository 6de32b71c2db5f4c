"""From the model's pieces to the reader's words: attention maps regrouped, before anything is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Group:
    """A label and the indices of the pieces it stands for."""

    label: str
    pieces: tuple[int, ...]


def pieces(texts: Sequence[str]) -> list[Group]:
    """Every piece by itself."""
    return [Group(text, (i,)) for i, text in enumerate(texts)]


def words(texts: Sequence[str], word_of: Sequence[int]) -> list[Group]:
    """Neighbouring pieces of one word joined; −1 marks a special token, which always stands alone.

    Raises: ValueError, naming both counts, if the two sequences differ in length
    """
    if len(texts) != len(word_of):
        raise ValueError(f"{len(texts)} pieces but {len(word_of)} word numbers")
    groups: list[Group] = []
    previous = -1
    for i, (text, word) in enumerate(zip(texts, word_of, strict=True)):
        if word >= 0 and word == previous:
            last = groups.pop()
            groups.append(Group(last.label + text, (*last.pieces, i)))
        else:
            groups.append(Group(text, (i,)))
        previous = word
    return groups


def grouped(weights: Array, rows: Sequence[Group], columns: Sequence[Group]) -> Array:
    """Attention between groups: what a column's pieces receive is added, what a row's pieces give is averaged.

    Args:    weights (…,T,S)
    Returns: (…,len(rows),len(columns)); rows still add up to 1 if the groups cover all S pieces
    """
    received = np.stack([weights[..., list(c.pieces)].sum(-1) for c in columns], axis=-1)
    return np.stack([received[..., list(r.pieces), :].mean(-2) for r in rows], axis=-2)
