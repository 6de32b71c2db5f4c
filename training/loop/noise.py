"""Five kinds of noise on a text, from which BART learns to restore it.

Each is a function of a text in pieces, a share and a seed; the same seed makes the same noise. It tells of every piece
of the noisy text which pieces it came from.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from model.text.tokenizer import MASK_ID, Tokenizer, normalise
from training.loop.corpus import SENTENCE_END, Ids

MEAN_SPAN = 3.0  # pieces: λ of the Poisson distribution


@dataclass(frozen=True)
class Pieces:
    """A text in pieces. ids; words, sentences: the place where each begins, the first at 0; none in an empty text"""

    ids: tuple[int, ...] = ()
    words: tuple[int, ...] = ()
    sentences: tuple[int, ...] = ()


@dataclass(frozen=True)
class Noisy:
    """A text after noise.

    ids; origins: for each of them the places in the original that it stands for: one; of a [MASK] for a whole span,
    several or none
    """

    ids: tuple[int, ...]
    origins: tuple[tuple[int, ...], ...]


def pieces_of(sentences: Iterable[Sequence[int] | Ids], begins_word: NDArray[np.bool_]) -> Pieces:
    """A text of sentences in pieces; begins_word: of every vocabulary entry, see `word_beginnings`."""
    ids: list[int] = []
    starts = []
    for sentence in sentences:
        if len(sentence):
            starts.append(len(ids))
            ids += map(int, sentence)
    words = [at for at, id in enumerate(ids) if begins_word[id] or at in starts]
    return Pieces(tuple(ids), tuple(words), tuple(starts))


@functools.lru_cache(4)
def word_beginnings(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """(vocab_size,), not to be written to: whether a space stands before what an entry stands for."""
    found = np.array([tokenizer.piece_bytes(id).startswith(b" ") for id in range(tokenizer.vocab_size)])
    found.flags.writeable = False
    return found


def cut(text: str, tokenizer: Tokenizer) -> Pieces:
    """Any text in pieces, cut into sentences and words as the training data are."""
    sentences = tokenizer.encode_batch(SENTENCE_END.split(normalise(text)))
    return pieces_of(sentences, word_beginnings(tokenizer))


def share_of(n: int, share: float) -> int:
    """How many of n make up a share. Raises: ValueError if it is not between 0 and 1"""
    if not 0 <= share <= 1:
        raise ValueError(f"share={share} is not between 0 and 1")
    return round(share * n)


def chosen(n: int, share: float, seed: int) -> set[int]:
    """A share of the numbers below n, any as likely as any other."""
    return set(np.random.default_rng(seed).permutation(n)[: share_of(n, share)].tolist())


def taken(text: Pieces, places: Iterable[int]) -> Noisy:
    """The pieces at these places, as they are, in this order."""
    places = tuple(map(int, places))
    return Noisy(tuple(text.ids[at] for at in places), tuple((at,) for at in places))


def mask(text: Pieces, share: float, seed: int) -> Noisy:
    """A share of the pieces, each replaced by [MASK].

    Source: Lewis et al. 2019 (BART), §2.2, "Token Masking". Differs: none
    """
    hidden = chosen(len(text.ids), share, seed)
    ids = tuple(MASK_ID if at in hidden else id for at, id in enumerate(text.ids))
    return Noisy(ids, tuple((at,) for at in range(len(ids))))


def delete(text: Pieces, share: float, seed: int) -> Noisy:
    """A share of the pieces left out, and no sign of where they stood.

    Source: Lewis et al. 2019, §2.2, "Token Deletion". Differs: none
    """
    gone = chosen(len(text.ids), share, seed)
    return taken(text, (at for at in range(len(text.ids)) if at not in gone))


def infill(text: Pieces, share: float, seed: int) -> Noisy:
    """Spans of pieces, a share of all together, each replaced by one [MASK]. Their lengths are drawn from a Poisson
    distribution (λ = 3); one of length 0 puts a [MASK] where nothing is missing.

    Source: Lewis et al. 2019, §2.2, "Text Infilling". Differs: the last span drawn is cut so that the share is met
    """
    rng, n = np.random.default_rng(seed), len(text.ids)
    n_hidden = share_of(n, share)
    lengths: list[int] = []
    while (left := n_hidden - sum(lengths)) > 0:
        lengths.append(min(left, int(rng.poisson(MEAN_SPAN))))
    # Spans and pieces that stay, in any order; so two spans may touch.
    spans = iter(rng.permutation(lengths).tolist())
    is_span = rng.permutation([True] * len(lengths) + [False] * (n - n_hidden))
    ids: list[int] = []
    origins: list[tuple[int, ...]] = []
    at = 0
    for hides in is_span:
        length = next(spans) if hides else 1
        ids.append(MASK_ID if hides else text.ids[at])
        origins.append(tuple(range(at, at + length)))
        at += length
    return Noisy(tuple(ids), tuple(origins))


def permute(text: Pieces, share: float, seed: int) -> Noisy:
    """A share of the sentences, at least two, each in the place of another.

    Source:  Lewis et al. 2019, §2.2, "Sentence Permutation". Differs: they shuffle all sentences, as a share of 1 does
             here but for those that chance would leave in place; in a text of one sentence its words move
    """
    starts = text.sentences if len(text.sentences) > 1 else text.words
    units = [range(*ends) for ends in pairwise((*starts, len(text.ids)))]
    n_moving = share_of(len(units), share)
    if share and len(units) > 1:
        n_moving = max(2, n_moving)  # one alone has nowhere to go
    moving = np.random.default_rng(seed).permutation(len(units))[:n_moving]
    order = np.arange(len(units))
    order[moving] = np.roll(moving, 1)  # each gets the place of the next: none stays
    return taken(text, (at for unit in order for at in units[unit]))


def rotate(text: Pieces, share: float, seed: int) -> Noisy:
    """The text begins within its first share, and what stood before comes at its end.

    Source:  Lewis et al. 2019, §2.2, "Document Rotation". Differs: they draw the new beginning from the whole text, as
             a share of 1 does here
    """
    n = len(text.ids)
    farthest = min(share_of(n, share), n - 1)
    start = int(np.random.default_rng(seed).integers(1, farthest, endpoint=True)) if farthest > 0 else 0
    return taken(text, (*range(start, n), *range(start)))


KINDS: dict[str, Callable[[Pieces, float, int], Noisy]] = {
    "masking": mask,
    "deletion": delete,
    "infilling": infill,
    "permutation": permute,
    "rotation": rotate,
}
