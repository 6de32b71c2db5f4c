"""Columns of numbers: what is drawn is what was given, whatever the labels hold."""

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.payloads import PAYLOADS
from ui.views.charts import column_chart as module
from ui.views.charts.column_chart import LABEL_LENGTH, Series, column_chart, ticks

MARK = re.compile(r'<i class="(bar|line) s(\d)" style="--n:(\d);--from:([\d.]+);--to:([\d.]+)(?:;--at:([\d.]+))?"></i>')


def drawn(monkeypatch: pytest.MonkeyPatch, labels: Sequence[str], series: Sequence[Series], **more: float) -> str:
    found: list[str] = []
    monkeypatch.setattr(module.st, "html", found.append)
    column_chart(labels, series, alt="what it is", axis="probability", **more)
    return found[0]


def test_bars_rise_from_0_to_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.9, 1.0])
    body = drawn(monkeypatch, ["a", "a", "<eos>"], [Series("one", before), Series("two", after)], limit=2.0)
    marks = MARK.findall(body)
    assert [kind for kind, *_ in marks] == ["bar"] * 6
    assert [float(start) for *_, start, _, _ in marks] == [0.0] * 6
    assert [float(end) for *_, end, _ in marks] == pytest.approx(np.stack([before, after], 1).ravel() / 2, abs=1e-4)
    assert re.findall("<b>(.*?)</b>", body)[2] == "&lt;eos&gt;<br>one 0.5000<br>two 1.0000"


def test_lines_reach_one_deviation_up_and_down(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Series("before", np.array([0.5, 0.1]), np.array([2.0, 3.0]))
    low, high = 0.1 - 3.0, 0.1 + 3.0
    places = [[float(n) for n in mark[3:]] for mark in MARK.findall(drawn(monkeypatch, ["a", "b"], [one]))]
    numbers = [[-1.5, 2.5, 0.5], [-2.9, 3.1, 0.1]]
    assert places == [pytest.approx([(n - low) / (high - low) for n in row], abs=1e-4) for row in numbers]


def test_without_a_limit_the_largest_number_reaches_the_top(monkeypatch: pytest.MonkeyPatch) -> None:
    body = drawn(monkeypatch, ["a", "b"], [Series("one", np.array([3.0, 40.0]))])
    assert [float(mark[4]) for mark in MARK.findall(body)] == [0.075, 1.0]
    assert MARK.findall(drawn(monkeypatch, ["a"], [Series("one", np.zeros(1))]))[0][4] == "0.0000"


@pytest.mark.parametrize("text", PAYLOADS)
def test_no_label_becomes_markup(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = drawn(monkeypatch, [text], [Series(text, np.ones(1))])
    tags = set(re.findall(r"</?([a-z]+)", re.sub('"[^"]*"', "", body)))
    assert tags <= {"figure", "figcaption", "div", "u", "ol", "li", "i", "span", "b", "br"}


def test_a_long_label_is_cut_below_and_whole_under_the_pointer(monkeypatch: pytest.MonkeyPatch) -> None:
    body = drawn(monkeypatch, ["x" * 50], [Series("one", np.ones(1))])
    assert f"<span>{'x' * (LABEL_LENGTH - 1)}…</span>" in body
    assert "x" * 50 in body


def test_words_hang_further_left_the_further_right_their_column(monkeypatch: pytest.MonkeyPatch) -> None:
    body = drawn(monkeypatch, list("abcd"), [Series("one", np.ones(4))])
    assert [float(place) for place in re.findall(r'<li style="--p:([\d.]+)">', body)] == [0.125, 0.375, 0.625, 0.875]


@pytest.mark.parametrize(("count", "manner"), [(5, ""), (20, " slanted"), (21, " slanted many")])
def test_labels_lean_where_they_are_many(count: int, manner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = drawn(monkeypatch, ["word"] * count, [Series("one", np.ones(count))])
    assert f'<figure class="tw-columns{manner}"' in body


@given(st.floats(-1e6, 1e6), st.floats(1e-4, 1e7))
def test_the_scale_has_a_few_round_numbers_within_its_range(low: float, size: float) -> None:
    found = ticks(low, low + size)
    assert 2 <= len(found) <= 8
    for value, text in found:
        assert low - 1e-6 * size <= value <= low + size * (1 + 1e-6)
        assert float(text.replace("−", "-")) == pytest.approx(value, abs=1e-9 + 1e-9 * abs(value))
