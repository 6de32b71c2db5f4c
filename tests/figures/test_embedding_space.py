"""The learned space: cosines worked out by hand, and places around a circle."""

import numpy as np

from figures.embedding_space import (
    circle_order,
    cosines,
    mean_cosine,
    neighbour_ring,
    plain,
)


def test_cosines_by_hand() -> None:
    found = cosines(np.array([[1, 0], [2, 2], [0, 3], [-5, 0], [0, 0]]))
    half = 0.5**0.5
    expected = [[1, half, 0, -1, 0], [half, 1, half, -half, 0], [0, half, 1, 0, 0], [-1, -half, 0, 1, 0], [0] * 5]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.isclose(mean_cosine(np.array([[1, 0], [2, 2], [0, 3], [0, 0]])), (half + 0 + half) / 3)


def test_rows_around_a_circle_stand_in_its_order() -> None:
    angles = np.array([0.3, 2.9, 1.2, 5.0, 4.1])
    order = circle_order(np.stack([np.sin(angles), np.cos(angles)], 1))
    sorted_angles = angles[order]
    start = int(np.argmin(sorted_angles))
    turned = np.roll(sorted_angles, -start)
    backwards = np.roll(sorted_angles[::-1], -int(np.argmin(sorted_angles[::-1])))
    assert (np.diff(turned) > 0).all() or (np.diff(backwards) > 0).all()


def test_the_ring_shows_cosines_as_distances() -> None:
    *rings, around = neighbour_ring("<b>", ["a", "b&", "c", "d"], [0.9, 0.5, 0.1, 0.7]).data
    np.testing.assert_allclose(np.hypot(around.x, around.y), [0.1, 0.5, 0.9, 0.3])
    np.testing.assert_allclose(around.x, [0, 0.5, 0, -0.3], atol=1e-12)  # from the top clockwise
    np.testing.assert_allclose(around.y, [0.1, 0, -0.9, 0], atol=1e-12)
    assert list(around.text) == ["a", "b&amp;", "c", "d"]
    assert list(around.customdata) == ["0.9000", "0.5000", "0.1000", "0.7000"]
    names = neighbour_ring("m", list("abcdefg"), [0.5] * 7).data[-1]  # they are written outwards
    assert list(names.textposition) == [f"middle {'right' if x >= 0 else 'left'}" for x in names.x]
    np.testing.assert_allclose([np.hypot(ring.x[0], ring.y[0]) for ring in rings], [0.2, 0.4, 0.6, 0.8])
    figure = neighbour_ring("<b>", ["a"], [0.2])
    assert figure.layout.yaxis.scaleanchor == "x"  # as far across as up
    assert [one.text for one in figure.layout.annotations][-1] == "&lt;b&gt;"
    assert [(one.text, -round(one.y, 1)) for one in figure.layout.annotations[:-1]] == [
        ("cosine 0.8", 0.2), ("cosine 0.6", 0.4), ("cosine 0.4", 0.6), ("cosine 0.2", 0.8),
    ]  # fmt: skip


def test_plain_text_has_no_tags() -> None:
    assert plain("<b>&$x$</b>") == "&lt;b&gt;&amp;&#36;x&#36;&lt;/b&gt;"
