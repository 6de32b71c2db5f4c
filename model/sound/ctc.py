"""What is heard, from a guess for each strip of a recording: repeats fall together, then blanks are left out."""

from collections.abc import Sequence
from itertools import groupby

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
