"""A training as a figure."""

from figures.training_curves import training_curves


def test_three_curves_stand_one_above_the_other_on_one_axis_of_steps() -> None:
    figure = training_curves((1, 10, 20), ((0, 1, 2), (9, 8, 7), (3, 2, 1)), ((10, 20), (8.5, 7.5)), (10,))
    rate, loss, gradient, validation = figure.data
    assert [list(one.y) for one in figure.data] == [[0, 1, 2], [9, 8, 7], [3, 2, 1], [8.5, 7.5]]
    assert (rate.yaxis, loss.yaxis, gradient.yaxis) == ("y", "y2", "y3")
    assert validation.yaxis == loss.yaxis
    axes = figure.layout.yaxis, figure.layout.yaxis2, figure.layout.yaxis3
    assert [axis.title.text for axis in axes] == ["learning rate", "loss", "gradient"]
    assert axes[0].domain[0] > axes[1].domain[1] > axes[1].domain[0] > axes[2].domain[1]
    assert [shape.x0 for shape in figure.layout.shapes] == [10]
