"""A 5-gram model with interpolated Kneser-Ney smoothing: the best of what counting can do, to be beaten."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.text.tokenizer import EOS_ID, SOS_ID
from training.loop.corpus import Document

Array = NDArray[np.int64]
WORD_BITS = 16  # of a key: the word; above them stands the number of its context


def stream_of(documents: Iterable[Document], order: int) -> Array:
    """All documents in a row, each with order − 1 `<sos>` in front and `<eos>` behind."""
    parts: list[NDArray[np.generic]] = []
    for document in documents:
        parts += [np.full(order - 1, SOS_ID), *document.sentences, np.array([EOS_ID])]
    return np.concatenate(parts).astype(np.int64)


def behind(ids: Array) -> Array:
    """The id at the place before, −1 at the first place."""
    return np.concatenate([[-1], ids[:-1]])


@dataclass(frozen=True)
class Level:
    """The n-grams of one length. keys: sorted, (number of the context, last word); counts: how often each counts;
    totals, n_types: sum and number of the counts behind each context; discount: taken off each count
    """

    keys: Array
    counts: Array
    totals: Array
    n_types: Array
    discount: float

    def numbers(self, contexts: Array, words: Array) -> Array:
        """The number of each n-gram among the keys, −1 for one that was never seen."""
        keys = np.where(contexts < 0, -1, contexts << WORD_BITS | words)
        at = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return np.where(self.keys[at] == keys, at, -1)


class KneserNey:
    """P(word | order − 1 words before it).

    Args:    stream: see `stream_of`; vocab_size; order
    Source:  Chen and Goodman 1999, §2.7, Eq. 23 to 25, interpolated; the discount of each length is n₁/(n₁ + 2n₂) of
             its own counts. Differs: n-grams that begin with `<sos>` get no counts of their own
    """

    def __init__(self, stream: Array, vocab_size: int, order: int = 5) -> None:
        self.vocab_size = vocab_size
        written = stream != SOS_ID
        keys: list[Array] = []
        numbers: list[Array] = []
        places: list[Array] = []  # where each n-gram stands for the first time
        contexts = np.zeros_like(stream)
        for _ in range(order):
            some, first, which = np.unique(contexts << WORD_BITS | stream, return_index=True, return_inverse=True)
            keys, numbers, places = [*keys, some], [*numbers, which], [*places, first]
            contexts = behind(which).clip(min=0)  # nothing is counted at the first place, which holds <sos>
        self.levels = []
        for n in range(order):
            at = places[n + 1] if n + 1 < order else np.arange(len(stream))  # each longer n-gram counts once
            counts = np.bincount(numbers[n][at[written[at]]], minlength=len(keys[n]))
            self.levels.append(self._level(keys[n], counts, len(keys[n - 1]) if n else 1))

    @staticmethod
    def _level(keys: Array, counts: Array, n_contexts: int) -> Level:
        contexts = keys >> WORD_BITS
        once, twice = (int((counts == n).sum()) for n in (1, 2))
        return Level(
            keys,
            counts,
            np.bincount(contexts, weights=counts, minlength=n_contexts).astype(np.int64),
            np.bincount(contexts[counts > 0], minlength=n_contexts),
            once / max(1, once + 2 * twice),
        )

    def probabilities(self, stream: Array) -> NDArray[np.float64]:
        """Of each word of a stream, given those before it; `<sos>` left out."""
        p = np.full(len(stream), 1 / self.vocab_size)
        contexts = np.zeros_like(stream)
        for level in self.levels:
            numbers, known = level.numbers(contexts, stream), contexts >= 0
            totals = np.where(known, level.totals[contexts], 0)
            counts = np.where(numbers >= 0, level.counts[numbers], 0)
            own = np.maximum(counts - level.discount, 0)
            rest = level.discount * level.n_types[contexts] * p
            p = np.where(totals > 0, (own + rest) / np.maximum(totals, 1), p)
            contexts = behind(numbers)
        kept: NDArray[np.float64] = p[stream != SOS_ID]
        return kept
