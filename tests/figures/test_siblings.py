"""The loss by position: each model's numbers, and one entry of the legend for all plain ones."""

from figures.siblings import longer_figure

LOSSES = [("plain-1", [1.0, 2.0]), ("plain-2", [1.5, 2.5]), ("learned", [0.5, None]), ("none", [2.0, 3.0])]


def test_the_plain_ones_share_a_look_and_an_entry_and_the_others_have_their_own() -> None:
    figure = longer_figure(["1–20", "21–40"], LOSSES, 2)
    assert [list(line.y) for line in figure.data] == [values for _, values in LOSSES]
    assert [line.name for line in figure.data if line.showlegend] == ["plain ones", "learned", "none"]
    looks = [(line.line.color, line.marker.symbol) for line in figure.data]
    assert looks[0] == looks[1]
    assert len({colour for colour, _ in looks}) == len({symbol for _, symbol in looks}) == 3
    assert all(name in line.hovertemplate for (name, _), line in zip(LOSSES, figure.data, strict=True))
