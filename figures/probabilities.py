"""Probabilities of pieces."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from figures.statistics import softmax


def probabilities_of(logits: NDArray[np.floating], ids: Sequence[int]) -> NDArray[np.floating]:
    """Softmax of each row of logits (T,V) at one id a row: (T) probabilities."""
    return softmax(logits)[np.arange(len(ids)), list(ids)]
