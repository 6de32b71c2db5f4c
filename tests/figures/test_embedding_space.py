"""The learned space, against scikit-free oracles: numpy's own SVD, and triangles worked out by hand."""

import numpy as np
import pytest

from figures.embedding_space import (
    Projection,
    cosines,
    distance,
    largest_difference,
    nearest,
    one_hot,
    plain,
    principal_projection,
    space_map,
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


def test_the_projection_is_that_of_the_singular_value_decomposition(matrix: np.ndarray) -> None:
    found = principal_projection(matrix)
    centred = matrix.astype(float) - matrix.astype(float).mean(0)
    u, s, vt = np.linalg.svd(centred, full_matrices=False)
    for n in range(2):
        sign = np.sign(vt[n][np.abs(vt[n]).argmax()])
        np.testing.assert_allclose(found.points[:, n], sign * u[:, n] * s[n], atol=1e-8)
        assert found.shares[n] == pytest.approx(s[n] ** 2 / (s**2).sum())


def test_the_map_shows_every_row_and_names_those_that_are_lit(matrix: np.ndarray) -> None:
    projection = principal_projection(matrix)
    names = [f"<b>{i}</b>" for i in range(ROWS)]
    figure = space_map(projection, names, lit=[2, 29])
    everything, lit = figure.data
    np.testing.assert_allclose(np.stack([everything.x, everything.y], 1), projection.points, rtol=1e-5, atol=1e-5)
    plates = figure.layout.annotations
    assert [plate.text for plate in plates] == ["&lt;b&gt;2&lt;/b&gt;", "&lt;b&gt;29&lt;/b&gt;"]
    np.testing.assert_allclose([(plate.x, plate.y) for plate in plates], projection.points[[2, 29]], rtol=1e-5)
    np.testing.assert_allclose(lit.x, projection.points[[2, 29], 0], rtol=1e-5)
    assert f"{projection.shares[0]:.1%}" in figure.layout.xaxis.title.text


def test_names_stand_on_the_side_that_is_free() -> None:
    points = np.array([[0.0, 0.0], [0.1, 0.01], [1.0, 1.0], [1.01, 1.1]])
    figure = space_map(Projection(points, (0.5, 0.1)), list("abcd"), lit=[0, 1, 2, 3])
    anchors = [(plate.xanchor, plate.yanchor) for plate in figure.layout.annotations]
    assert anchors == [("right", "middle"), ("left", "middle"), ("center", "top"), ("center", "bottom")]
    (alone,) = space_map(Projection(points, (0.5, 0.1)), list("abcd"), lit=[2]).layout.annotations
    assert (alone.xanchor, alone.yanchor) == ("center", "bottom")


def test_plain_text_has_no_tags() -> None:
    assert plain("<b>&$x$</b>") == "&lt;b&gt;&amp;&#36;x&#36;&lt;/b&gt;"
