"""Vocabulary size against sequence length, by its numbers."""

from figures.vocabulary import length_curve


def test_a_step_at_each_change_and_the_marked_point() -> None:
    figure = length_curve([259, 300, 7919], [13, 5, 3], marked=2)
    line, point = figure.data
    assert (list(line.x), list(line.y)) == ([259, 300, 7919], [13, 5, 3])
    assert line.line.shape == "hv"
    assert (list(point.x), list(point.y), list(point.text)) == ([7919], [3], ["3"])
    assert figure.layout.xaxis.type == "log"
    assert max(figure.layout.xaxis.tickvals) <= 7919 * 1.01
    assert figure.layout.yaxis.rangemode == "tozero"
