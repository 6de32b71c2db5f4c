"""Rules that fail as encodings, worked out by hand; the clock hands by their numbers."""

import math

import numpy as np
import pytest

from figures.positions import (
    RULES,
    angles,
    candidate,
    clock_figure,
    closest,
    encoding_heatmap,
    rule_figure,
)

HAND = {
    ("P(t) + c", 0.5): [1, 1.5, 2, 2.5],
    ("P(t) · c", -1.0): [1, -1, 1, -1],
    ("P(t) · c", 3.0): [1, 3, 9, 27],
    ("e^(P(t) · c)", 1.0): [1, math.e, math.exp(math.e), math.exp(math.exp(math.e))],
    ("P(t) · t · c", 1.0): [1, 1, 2, 6],
    ("P(t) · t · c", 0.5): [1, 0.5, 0.5, 0.75],
}


@pytest.mark.parametrize(("rule", "constant"), HAND)
def test_the_first_positions_by_hand(rule: str, constant: float) -> None:
    assert candidate(rule, constant, 4) == pytest.approx(HAND[rule, constant])
    assert {rule for rule, _ in HAND} == RULES.keys()


def test_what_outgrows_a_number_is_infinite_without_a_warning() -> None:
    for rule in RULES:
        values = candidate(rule, 1e200, 11)
        assert np.isinf(values[-1]) or rule == "P(t) + c"


def test_the_closest_two() -> None:
    assert closest(np.array([3.0, -1.0, 2.5, 7.0])) == 0.5
    assert closest(candidate("P(t) · c", -1, 7)) == 0
    assert closest(np.array([1.0, np.inf, np.inf])) == 0
    assert closest(np.array([1.0, 3.0, np.inf])) == 2
    corners = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]])
    assert closest(corners) == pytest.approx(3)


def test_a_pair_turns_more_slowly_than_the_one_before() -> None:
    turned = angles(np.array([0, 1, 7]), [0, 1, 64], 256)
    assert turned[0] == pytest.approx([0, 0, 0])
    assert turned[2] == pytest.approx([7, 7 / 10000 ** (2 / 256), 0.07])


def test_the_bold_hand_points_to_sine_and_cosine() -> None:
    turned = angles(np.array([0, 2, 5]), [0, 3, 5, 7, 11], 42)
    circles, faint, bold, tips = clock_figure(turned, 1, list("abcde")).data
    ends = np.stack([bold.x, bold.y], 1).reshape(5, 3, 2)  # middle, tip, gap
    hands = ends[:, 1] - ends[:, 0]
    np.testing.assert_allclose(hands, [(math.sin(angle), math.cos(angle)) for angle in turned[1]], atol=1e-12)
    np.testing.assert_allclose(np.stack([tips.x, tips.y], 1), ends[:, 1])
    np.testing.assert_allclose(tips.customdata, hands, atol=1e-12)
    assert np.isnan(ends[:, 2]).all()
    others = np.stack([faint.x, faint.y], 1).reshape(3, 5, 3, 2)
    np.testing.assert_allclose(others[1], ends)
    np.testing.assert_allclose(np.hypot(*np.moveaxis(others[:, :, 1] - others[:, :, 0], -1, 0)), 1)
    round_ = np.stack([circles.x, circles.y], 1).reshape(5, -1, 2)[:, :-1] - ends[:, :1]
    np.testing.assert_allclose(np.hypot(*np.moveaxis(round_, -1, 0)), 1)
    # No two clocks touch.
    gaps = np.hypot(*np.moveaxis(ends[:, None, 0] - ends[None, :, 0], -1, 0))
    assert gaps[~np.eye(5, dtype=bool)].min() > 2


def test_curves_and_colours_are_the_numbers() -> None:
    curve = candidate("P(t) + c", 1, 5)
    figure = rule_figure(np.stack([curve, -curve], 1), ["up", "down"], 5)
    assert list(figure.data[1].y) == list(-curve)
    assert list(figure.data[0].x) == [1, 2, 3, 4, 5]
    values = np.linspace(-1, 1, 15).reshape(3, 5)
    drawn = encoding_heatmap(values).data[0]
    assert np.asarray(drawn.z) == pytest.approx(values, abs=6e-4)
    assert (drawn.zmin, drawn.zmax) == (-1, 1)
    assert drawn.x0 == 1  # dimensions count from 1
