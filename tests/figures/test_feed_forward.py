"""Which hidden units are shown, and the ticks that show them."""

import numpy as np

from figures.feed_forward import firing_raster, most_changed, strongest_units

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


def test_a_tick_for_each_unit_that_fires() -> None:
    (ticks,) = firing_raster(HIDDEN, ["a", "b", "c"]).data
    assert list(zip(ticks.y, ticks.x, strict=True)) == [(0, 2), (0, 4), (0, 5), (1, 3), (1, 4)]
    assert list(ticks.customdata) == [3, 1, 2, 0.5, 4]
    assert list(ticks.text) == ["a", "a", "a", "b", "b"]
    assert ticks.marker.opacity[-1] == 1
    assert min(ticks.marker.opacity) == ticks.marker.opacity[3]


def test_a_sentence_in_which_nothing_fires_has_an_empty_raster() -> None:
    (ticks,) = firing_raster(HIDDEN[2:], ["c"]).data
    assert len(ticks.x) == 0
