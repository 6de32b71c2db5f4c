"""Span noise by hand: what the steps come to is what the noise of training does."""

import pytest

from explain import worked_noise, worked_pair
from tests.oracle.language.formula import sides, value
from training.loop.spans import MEAN, SHARE, cut_spans, n_hidden_and_spans


def test_how_much_is_cut_out() -> None:
    for n in range(2, 200):
        steps = worked_noise(n, SHARE, MEAN)
        assert tuple(step.value for step in steps) == n_hidden_and_spans(n)
        for step in steps:
            assert {value(side) for side in sides(step.formula)} == {step.value}, step.formula
        blank = steps[0].blank
        assert blank
        assert [value(side) for side in sides(blank.formula)] == [blank.answer] == [n_hidden_and_spans(2 * n)[0]]


def test_ten_and_thirty_pieces_by_hand() -> None:
    """1.5 and 4.5 both lie in the middle: they become 2 and 4."""
    assert [[step.value for step in worked_noise(n, 0.15, 3.0)] for n in (10, 30, 60)] == [[2, 1], [4, 1], [9, 3]]


def test_one_piece_alone_stays() -> None:
    assert [step.value for step in worked_noise(1, SHARE, MEAN)] == [n_hidden_and_spans(1)[0]]


@pytest.mark.parametrize("spans", [[range(2), range(5, 6)], [range(3, 7)], [range(7)]])
def test_what_is_read_and_written(spans: list[range]) -> None:
    source, target = cut_spans(range(10, 17), 1000, spans)
    steps = worked_pair(7, sum(map(len, spans)), len(spans), 2)
    assert [step.value for step in steps] == [2 + len(source.ids) + 1, len(target.ids) + 1]  # with their end marks
    for step in steps:
        assert {value(side) for side in sides(step.formula)} == {step.value}, step.formula
