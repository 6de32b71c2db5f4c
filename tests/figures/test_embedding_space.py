"""The learned space, against scikit-free oracles: numpy's own SVD, and triangles worked out by hand."""

import numpy as np
import pytest

from figures.embedding_space import (
    centred,
    circle_order,
    cosines,
    distance,
    largest_difference,
    mean_cosine,
    nearest,
    neighbour_ring,
    one_hot,
    plain,
)

ROWS, WIDTH = 53, 7


@pytest.fixture
def matrix() -> np.ndarray:
    random = np.random.default_rng(5)
    return (random.normal(size=(ROWS, WIDTH)) * np.arange(1, WIDTH + 1) + 3).astype(np.float32)


def test_cosines_by_hand() -> None:
    found = cosines(np.array([[1, 0], [2, 2], [0, 3], [-5, 0], [0, 0]]))
    half = 0.5**0.5
    expected = [[1, half, 0, -1, 0], [half, 1, half, -half, 0], [0, half, 1, 0, 0], [-1, -half, 0, 1, 0], [0] * 5]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_cosines_against_numpy(matrix: np.ndarray) -> None:
    found = cosines(matrix[:3], matrix)
    for i in range(3):
        for j in range(ROWS):
            a, b = matrix[i].astype(float), matrix[j].astype(float)
            assert found[i, j] == pytest.approx(np.dot(a, b) / np.sqrt(np.dot(a, a) * np.dot(b, b)))


def test_the_nearest_are_the_largest_cosines_without_itself(matrix: np.ndarray) -> None:
    ids, values = nearest(matrix, 11, 5)
    wide = matrix.astype(float)
    all_values = wide @ wide[11] / np.linalg.norm(wide, axis=1) / np.linalg.norm(wide[11])
    order = [i for i in np.argsort(-all_values) if i != 11][:5]
    assert ids == order
    np.testing.assert_allclose(values, all_values[order])
    assert len(nearest(matrix, 0, 999)[0]) == ROWS - 1


def test_one_hot_vectors_are_equally_far_apart_and_pick_rows(matrix: np.ndarray) -> None:
    for i, j in ((0, 1), (3, 50), (52, 17)):
        assert distance(one_hot(i, ROWS), one_hot(j, ROWS)) == pytest.approx(2**0.5)
    assert largest_difference(one_hot(17, ROWS) @ matrix, matrix[17]) == 0
    assert largest_difference([1.0, -2.0], [1.5, 2.0]) == 4


def test_centred_rows_have_no_mean(matrix: np.ndarray) -> None:
    np.testing.assert_allclose(centred(matrix).mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(centred(matrix)[3] - centred(matrix)[5], matrix[3] - matrix[5], atol=1e-5)


def test_the_mean_cosine_of_all_pairs(matrix: np.ndarray) -> None:
    both = cosines(matrix)
    pairs = [both[i, j] for i in range(ROWS) for j in range(ROWS) if i != j]
    assert mean_cosine(matrix) == pytest.approx(np.mean(pairs))
    assert mean_cosine(np.array([[1.0, 0], [0, 2], [0, 0]])) == pytest.approx(0)  # a row of zeros is left out


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
