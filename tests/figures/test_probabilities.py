"""Probabilities of pieces, and the bars that show them."""

import numpy as np
import pytest

from figures.probabilities import paired_bars, probabilities_of


def test_probabilities_of_chosen_entries() -> None:
    logits = np.log(np.array([[1.0, 2.0, 5.0], [3.0, 3.0, 2.0]])) + 1000
    assert probabilities_of(logits, [2, 0]) == pytest.approx([5 / 8, 3 / 8])


def test_the_bars_are_the_numbers_and_equal_labels_stay_apart() -> None:
    before, after = np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.9, 0.4])
    figure = paired_bars(["a", "a", "&lt;eos&gt;"], before, after, ("one", "two"))
    assert [list(bar.y) for bar in figure.data] == [list(before), list(after)]
    assert list(figure.data[0].x) == [0, 1, 2]
    assert list(figure.layout.xaxis.ticktext) == ["a", "a", "&lt;eos&gt;"]


def test_other_numbers_have_an_axis_and_a_scale_of_their_own() -> None:
    figure = paired_bars(["a"], np.array([3.0]), np.array([40.0]), ("one", "two"), "million multiplications", 40.0)
    assert figure.layout.yaxis.title.text == "million multiplications"
    assert figure.layout.yaxis.range[1] >= 40.0
