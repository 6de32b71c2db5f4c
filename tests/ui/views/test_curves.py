"""Lines over an axis: words beside them, whatever they hold. The oracle claims where the lines are drawn."""

import pytest
import streamlit as st

from tests.oracle.language.reader import read_curves
from ui.views.charts.curves import Axis, Line, curves


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    bodies: list[str] = []
    monkeypatch.setattr(st, "html", bodies.append)
    return bodies


def test_no_name_is_taken_for_html_and_no_colour_leaves_its_place(drawn: list[str]) -> None:
    hostile = "</span><script>window.pwned=1</script>"
    words = [(0.5, hostile)]
    curves([Line(hostile, [(0, 0), (1, 1)])], Axis(hostile, 0, 1, words), Axis(hostile, 0, 1, words), alt=hostile)
    assert "<script" not in drawn[0]
    _, found = read_curves(drawn[0])
    assert found["legend"][0][0] == hostile
    assert (found["below"], found["beside"], found["axes"]) == ([[0.5, hostile]], [[0.5, hostile]], [hostile] * 2)


def test_many_words_below_are_slanted(drawn: list[str]) -> None:
    for count in (3, 30):
        words = [(float(n), "word") for n in range(count)]
        curves([Line("a", [(0, 0), (1, 1)])], Axis("x", 0, count, words), Axis("y", 0, 1), alt="A line")
    assert [body.startswith('<figure class="tw-plot slanted"') for body in drawn] == [False, True]
