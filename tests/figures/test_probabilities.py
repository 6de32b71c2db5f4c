"""Probabilities of pieces."""

import numpy as np
import pytest

from figures.probabilities import probabilities_of


def test_probabilities_of_chosen_entries() -> None:
    logits = np.log(np.array([[1.0, 2.0, 5.0], [3.0, 3.0, 2.0]])) + 1000
    assert probabilities_of(logits, [2, 0]) == pytest.approx([5 / 8, 3 / 8])
