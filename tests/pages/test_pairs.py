"""Odd pairs of texts: one sentence each, and it goes on."""

import pytest

from tests.pages.kit import component, markdown, notices, opened


@pytest.mark.parametrize("second", ["", "   ", "\u0007"])
def test_an_empty_second_text_is_said(second: str) -> None:
    app = opened("pairs", sentence="I ate.", second=second)
    assert [said for said in notices(app) if said.startswith("Text B is empty")]


@pytest.mark.parametrize("second", ["one day he ran " * 125, "[SEP] </script> **no**", "昨日、彼は走った。"])
def test_any_other_text_is_read(second: str) -> None:
    app = opened("pairs", sentence="I ate.", second=second)
    assert "that B follows A." in markdown(app)
    assert len(component(app, "pair")["cards"]) <= 123
    assert any("at most 60 pieces" in said for said in notices(app)) == (len(second) > 100)
