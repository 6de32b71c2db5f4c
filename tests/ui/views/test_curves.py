"""Lines over an axis: where they are drawn, read back from the picture."""

import numpy as np
import pytest
import streamlit as st

from tests.oracle.language.reader import read_curves
from ui.views.charts.curves import Axis, Line, curves


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    bodies: list[str] = []
    monkeypatch.setattr(st, "html", bodies.append)
    return bodies


def test_a_line_goes_through_its_points_from_the_lower_left(drawn: list[str]) -> None:
    curves([Line("a", [(0, 10), (2, 30), (4, 20)])], Axis("x", 0, 4), Axis("y", 10, 30), alt="One line")
    _, found = read_curves(drawn[0])
    (line,) = found["drawn"]
    assert line["moves"] == "MLL"
    assert line["points"] == pytest.approx(np.array([[0, 0], [0.5, 1], [1, 0.5]]), abs=1e-4)
    assert found["axes"] == ["y", "x"]
    assert [text for _, text in found["beside"]] == ["10", "15", "20", "25", "30"]
    assert [at for at, _ in found["beside"]] == pytest.approx([0, 0.25, 0.5, 0.75, 1])


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
