"""What is heard, from a guess for each strip of a recording: repeats fall together, then blanks are left out."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BLANK = 0  # "nothing new"; class c is c + 1 in a path


def without_repeats(path: Sequence[int]) -> list[int]:
    """Equal neighbours are one. Two of a kind that are to stay need a blank between them.

    Source: Graves et al. 2006, §3.1, the map B, its first half
    """
    return [one for one, _ in groupby(path)]


def collapsed(path: Sequence[int]) -> list[int]:
    """The classes that a path stands for, from 0.

    Source: Graves et al. 2006, §3.1, the map B
    """
    return [one - 1 for one in without_repeats(path) if one != BLANK]


def chance_of(heard: Sequence[int], chances: NDArray[np.floating]) -> float:
    """How likely it is that a path stands for these classes, whichever path it is.

    Args:    heard: classes, from 0; chances (T,1+classes): of the blank and of each class, for each strip
    Source:  Graves et al. 2006, §4.1, Eq. 6-8
    """
    row = [BLANK]  # what a path goes through: the classes, with a blank before, between and behind them
    for one in heard:
        row += [one + 1, BLANK]
    # Of each place of the row: how likely the strips so far have come just to it.
    reached = np.zeros(len(row))
    reached[:2] = chances[0, row[:2]]
    for strip in chances[1:]:
        before = reached.copy()
        before[1:] += reached[:-1]
        for at in range(2, len(row)):
            if row[at] not in (BLANK, row[at - 2]):  # the blank between two different classes may be left out
                before[at] += reached[at - 2]
        reached = before * strip[row]
    return float(reached[-2:].sum())


class Outcome(NamedTuple):
    """Digits, or other classes, and how likely all paths together are that stand for them."""

    heard: tuple[int, ...]
    chance: float


def likeliest(chances: NDArray[np.floating], n: int, width: int = 32) -> list[Outcome]:
    """The n likeliest outcomes, the likeliest first. Strip by strip the beginnings of outcomes grow; of all, the
    `width` likeliest are kept, so that a rare one may be missed.

    Args:    chances (T,1+classes), see `chance_of`
    Source:  Graves et al. 2006, §3.2, prefix search; with a beam as in Hannun et al. 2014, Algorithm 1, and no language
             model
    """
    # Of each beginning: how likely it is to have ended with a blank, and with its last class.
    kept: dict[tuple[int, ...], tuple[float, float]] = {(): (1.0, 0.0)}
    for strip in chances.tolist():
        grown: dict[tuple[int, ...], list[float]] = {}
        for heard, (blank, last) in kept.items():
            own = grown.setdefault(heard, [0.0, 0.0])
            own[0] += (blank + last) * strip[BLANK]
            if heard:
                own[1] += last * strip[1 + heard[-1]]  # said once more, it is still one
            for one, chance in enumerate(strip[1 + BLANK :]):
                again = bool(heard) and heard[-1] == one
                grown.setdefault((*heard, one), [0.0, 0.0])[1] += (blank if again else blank + last) * chance
        best = sorted(grown, key=lambda heard: -sum(grown[heard]))[:width]
        kept = {heard: (grown[heard][0], grown[heard][1]) for heard in best}
    return [Outcome(heard, chance_of(heard, chances)) for heard in [*kept][:n]]
