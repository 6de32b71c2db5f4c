"""Stylesheets and what is painted by them: every line says something, every text can be read, places are as given."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.kit import seen_no_more, unread, wear

pytestmark = pytest.mark.browser

# Of what is drawn, and where: the first of these, the words of the address, and the theme.
DEMOS = {
    "components": (".matrix tbody td", "heads=1&masked=1&t=5&s=7&group=3&cell=1,4", "light"),
    "pieces": (".card", "", "dark"),
    "scene": (".scene svg", "by=slider&plays=1&press=1", "light"),
    "architecture": (".map svg .block", "", "dark"),
    "inference": ("", "method=Beam search&at=3", "light"),
}
SILENT = Path(__file__).with_name("silent.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", DEMOS)
def test_texts_can_be_read_places_are_as_given_and_no_state_looks_as_none(
    name: str, visit: Callable[..., Page], lesson: Callable[..., Page], page: Page
) -> None:
    drawn, query, scheme = DEMOS[name]
    lesson(name, query) if name == "inference" else visit(name, drawn, query)
    for width in (390, 1280):
        wear(page, scheme, width)  # type: ignore[arg-type]
        assert unread(page) == [], width
    assert seen_no_more(page) == []
    assert page.evaluate(SILENT) == []
