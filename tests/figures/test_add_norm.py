"""Means, deviations and gradients as figures."""

import numpy as np
import pytest

from figures.add_norm import gradient_lines, mean_and_deviation, spread_figure


def test_mean_and_deviation_of_each_row() -> None:
    rows = np.array([[1.0, 3.0], [2.0, 2.0], [-5.0, 5.0]], dtype=np.float32)
    assert mean_and_deviation(rows).tolist() == [[2, 1], [2, 0], [0, 5]]


def test_the_dots_are_means_and_the_bars_deviations() -> None:
    one, two = np.array([[0.5, 2.0], [0.1, 3.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    figure = spread_figure(["a", "a"], {"before": one, "after": two})
    assert [list(trace.y) for trace in figure.data] == [[0.5, 0.1], [0.0, 0.0]]
    assert [list(trace.error_y.array) for trace in figure.data] == [[2, 3], [1, 1]]
    assert list(figure.data[0].x) == pytest.approx([-0.12, 0.88])
    assert list(figure.data[1].x) == pytest.approx([0.12, 1.12])


def test_gradients_are_drawn_on_one_scale_for_every_depth() -> None:
    short, long = (gradient_lines({"a": [10.0**-n for n in range(depth)], "b": [1.0] * depth}) for depth in (3, 8))
    assert list(short.data[0].y) == [1, 0.1, 0.01]
    assert list(short.data[0].x) == [1, 2, 3]
    assert short.layout.yaxis.range == long.layout.yaxis.range
    assert short.layout.yaxis.type == "log"
    assert list(short.layout.yaxis.ticktext)[:5] == [f"10<sup>−{n}</sup>" for n in (8, 6, 4, 2)] + ["1"]
