"""The lines of one word in two sentences."""

import numpy as np

from figures.drift import drift_lines


def test_a_line_for_each_word_and_the_chosen_one_on_top() -> None:
    words = {"cat": np.array([1.0, 0.5]), "dog": np.array([1.0, -0.1]), "&lt;b&gt;": np.array([1.0, 0.9])}
    figure = drift_lines(["a", "b"], words, "dog", ("others", np.array([0.2, np.nan])))
    assert [line.name for line in figure.data] == ["cat", "&lt;b&gt;", "others", "dog"]
    assert [list(line.y) for line in figure.data[:2]] == [[1, 0.5], [1, 0.9]]
    assert list(figure.data[-1].y) == [1, -0.1]
    assert [line.name for line in figure.data if line.showlegend] == ["others", "dog"]
    assert max(line.line.width for line in figure.data) == figure.data[-1].line.width


def test_names_of_stages_take_two_lines_and_never_lean() -> None:
    figure = drift_lines(["look-up", "after layer 1"], {"cat": np.ones(2)}, "cat", ("others", np.zeros(2)))
    assert list(figure.layout.xaxis.tickvals) == list(figure.data[0].x) == ["look-up", "after layer 1"]
    assert list(figure.layout.xaxis.ticktext) == ["look-up", "after<br>layer 1"]
    assert figure.layout.xaxis.tickangle == 0
