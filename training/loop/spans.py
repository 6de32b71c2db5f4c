"""What T5 learns from text alone: spans are hidden, each behind a sign of its own, and those alone are written."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from model.text.tokenizer import SENTINELS
from training.loop.noise import Noisy, share_of

SHARE, MEAN = 0.15, 3.0  # of the pieces that are hidden; pieces in a span


def n_hidden_and_spans(n: int, share: float = SHARE, mean: float = MEAN) -> tuple[int, int]:
    """How many of n pieces are hidden, and in how many spans: at least one, and never all, of two pieces or more.

    Raises: ValueError if the share is not between 0 and 1
    """
    n_hidden = max(0, min(max(1, share_of(n, share)), n - 1))
    most = min(n_hidden, n - n_hidden + 1, len(SENTINELS) - 1)  # a piece that stays parts each two
    return n_hidden, min(max(1, round(n_hidden / mean)), most)


def hide_spans(
    ids: Sequence[int], first: int, seed: int, share: float = SHARE, mean: float = MEAN
) -> tuple[Noisy, Noisy]:
    """A text with spans hidden, and what is to be written.

    Args:    ids: of the text; first: the id of the first sentinel; seed; share: of the pieces; mean: length of a span
    Returns: the source, each span replaced by the next sentinel; the target: each sentinel with the pieces behind it
             that it hides, and one sentinel more. Their origins are places in the text; those of a sentinel are the
             places that it hides, none for the last
    Raises:  ValueError if the share is not between 0 and 1
    Source:  Raffel et al. 2019 (T5), §3.1.4, Figure 2, and §3.3.4 for spans of a mean length. Differs: in their code a
             text begins with pieces that stay and ends with a span; here a span may stand anywhere, but no two touch
    """
    rng, n = np.random.default_rng(seed), len(ids)
    n_hidden, n_spans = n_hidden_and_spans(n, share, mean)
    hidden = parts(n_hidden, n_spans, rng)
    # Of what stays a part stands before each span and one behind the last; only the outer two may be empty.
    stays = parts(n - n_hidden + 2, n_spans + 1, rng)
    stays[0] -= 1
    ends = np.cumsum([stay + size for stay, size in zip(stays, hidden, strict=False)]).tolist()
    return cut_spans(ids, first, [range(end - size, end) for end, size in zip(ends, hidden, strict=True)])


def cut_spans(ids: Sequence[int], first: int, spans: Sequence[range]) -> tuple[Noisy, Noisy]:
    """The source and the target of `hide_spans`, where it is known which places each span hides; no two touch."""
    source: list[tuple[int, tuple[int, ...]]] = []
    target: list[tuple[int, tuple[int, ...]]] = []
    at = 0
    for number, span in enumerate([*spans, range(len(ids), len(ids))]):
        source += [(ids[place], (place,)) for place in range(at, span.start)]
        target += [(first + number, (*span,)), *((ids[place], (place,)) for place in span)]
        if span:
            source.append((first + number, (*span,)))
        at = span.stop
    return noisy(source), noisy(target)


def noisy(pieces: Sequence[tuple[int, tuple[int, ...]]]) -> Noisy:
    """From pairs of an id and its origins."""
    return Noisy(tuple(int(id) for id, _ in pieces), tuple(origins for _, origins in pieces))


def parts(n: int, n_parts: int, rng: np.random.Generator) -> list[int]:
    """n in so many parts of at least 1, all ways as likely; n_parts is at most n, and 0 only if n is."""
    if not n_parts:
        return []
    borders = np.sort(rng.permutation(n - 1)[: n_parts - 1]) + 1
    return [int(end - start) for start, end in pairwise((0, *borders, n))]


def read_spans(written: Sequence[int], first: int, n_spans: int) -> list[tuple[int, ...]] | None:
    """The pieces that an output gives for each span; None unless it begins with the first sentinel, ends with the last
    and has between them the others that were asked for, in order, each once.

    Args: written: ids without `<eos>`; first: the id of the first sentinel; n_spans: how many were hidden
    """
    places = [at for at, id in enumerate(written) if id >= first]
    signs = [written[at] for at in places]
    if signs != [*range(first, first + n_spans + 1)] or places[0] != 0 or places[-1] != len(written) - 1:
        return None
    return [tuple(written[start + 1 : end]) for start, end in pairwise(places)]
