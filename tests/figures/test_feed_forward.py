"""Which hidden units are shown."""

import numpy as np

from figures.feed_forward import most_changed, strongest_units

HIDDEN = np.array([[0.0, 3.0, 0.0, 1.0, 2.0], [0.0, 0.0, 0.5, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0]])


def test_the_strongest_units_of_each_row_once_and_none_that_rests() -> None:
    assert strongest_units(HIDDEN, 6) == [1, 4, 3, 2]
    assert strongest_units(HIDDEN, 3) == [1, 3]
    assert strongest_units(HIDDEN, 1) == [1, 3]  # at least one a row
    assert strongest_units(HIDDEN[2:], 4) == []


def test_the_columns_that_change_most_keep_their_order() -> None:
    after = HIDDEN + np.array([[0.0, -5.0, 0.0, 1.0, 7.0]])
    assert most_changed(HIDDEN, after, 2) == [1, 4]
    assert most_changed(HIDDEN, after, 9) == [0, 1, 2, 3, 4]
