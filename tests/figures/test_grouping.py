"""Pieces put together into words, and their attention with them."""

import numpy as np
import pytest

from figures.grouping import Group, grouped, words


def test_by_hand() -> None:
    weights = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.1, 0.3], [0.0, 0.0, 1.0, 0.0]])
    rows = words(["Ap", "fel", "<eos>"], [0, 0, -1])
    columns = words(["an", "app", "le", "<eos>"], [0, 1, 1, -1])
    assert rows == [Group("Apfel", (0, 1)), Group("<eos>", (2,))]
    assert columns == [Group("an", (0,)), Group("apple", (1, 2)), Group("<eos>", (3,))]
    # "Apfel" gives "apple" the mean of 0.2 + 0.3 and 0.1 + 0.1.
    assert np.allclose(grouped(weights, rows, columns), [[0.3, 0.35, 0.35], [0.0, 1.0, 0.0]])


def test_sequences_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 pieces but 3 word numbers"):
        words(["a", "b"], [0, 0, 1])
