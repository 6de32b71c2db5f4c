"""Columns of numbers: whatever the labels hold, and a scale that one can read. The oracle claims what is drawn."""

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.payloads import PAYLOADS
from ui.views.charts import column_chart as module
from ui.views.charts.column_chart import Series, column_chart, ticks


def drawn(monkeypatch: pytest.MonkeyPatch, labels: Sequence[str], series: Sequence[Series]) -> str:
    found: list[str] = []
    monkeypatch.setattr(module.st, "html", found.append)
    column_chart(labels, series, alt="what it is", axis="probability")
    return found[0]


@pytest.mark.parametrize("text", PAYLOADS)
def test_no_label_becomes_markup(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = drawn(monkeypatch, [text], [Series(text, np.ones(1))])
    tags = set(re.findall(r"</?([a-z]+)", re.sub('"[^"]*"', "", body)))
    assert tags <= {"figure", "figcaption", "div", "u", "ol", "li", "i", "span", "b", "br"}


def test_a_long_label_is_cut_below_and_whole_under_the_pointer(monkeypatch: pytest.MonkeyPatch) -> None:
    body = drawn(monkeypatch, ["x" * 50], [Series("one", np.ones(1))])
    assert f"<span>{'x' * 13}…</span>" in body
    assert "x" * 50 in body


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
