"""The learned space: cosines worked out by hand, and names as text. The oracle claims the picture."""

import numpy as np

from figures.embedding_space import cosines, mean_cosine, neighbour_ring, plain


def test_cosines_by_hand() -> None:
    found = cosines(np.array([[1, 0], [2, 2], [0, 3], [-5, 0], [0, 0]]))
    half = 0.5**0.5
    expected = [[1, half, 0, -1, 0], [half, 1, half, -half, 0], [0, half, 1, 0, 0], [-1, -half, 0, 1, 0], [0] * 5]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.isclose(mean_cosine(np.array([[1, 0], [2, 2], [0, 3], [0, 0]])), (half + 0 + half) / 3)


def test_names_around_the_ring_are_written_outwards_and_as_text() -> None:
    figure = neighbour_ring("<b>", ["b&", *"acdefg"], [0.5] * 7)
    names = figure.data[-1]
    assert list(names.textposition) == [f"middle {'right' if x >= 0 else 'left'}" for x in names.x]
    assert names.text[0] == "b&amp;"
    assert figure.layout.annotations[-1].text == "&lt;b&gt;"


def test_plain_text_has_no_tags() -> None:
    assert plain("<b>&$x$</b>") == "&lt;b&gt;&amp;&#36;x&#36;&lt;/b&gt;"
