"""Means, deviations and gradients as figures."""

import numpy as np

from figures.add_norm import gradient_lines, mean_and_deviation


def test_mean_and_deviation_of_each_row() -> None:
    rows = np.array([[1.0, 3.0], [2.0, 2.0], [-5.0, 5.0]], dtype=np.float32)
    assert mean_and_deviation(rows).tolist() == [[2, 1], [2, 0], [0, 5]]


def test_gradients_are_drawn_on_one_scale_for_every_depth() -> None:
    short, long = (gradient_lines({"a": [10.0**-n for n in range(depth)], "b": [1.0] * depth}) for depth in (3, 8))
    assert list(short.data[0].y) == [1, 0.1, 0.01]
    assert list(short.data[0].x) == [1, 2, 3]
    assert short.layout.yaxis.range == long.layout.yaxis.range
    assert short.layout.yaxis.type == "log"
    assert list(short.layout.yaxis.ticktext)[:5] == [f"10<sup>−{n}</sup>" for n in (8, 6, 4, 2)] + ["1"]
