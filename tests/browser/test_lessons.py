"""Every lesson in Chromium: accessible, nothing cut on a phone, and the sentence goes along."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT
from tests.browser.kit import axe_faults, settled, sideways
from ui.lessons import LESSONS, Lesson

pytestmark = pytest.mark.browser

SENTENCE = "My neighbour's cat doesn't like the rain."


@pytest.fixture(scope="module")
def url(serve: Callable[..., str]) -> str:
    return serve(ROOT / "app.py")


def drawn(page: Page) -> Page:
    expect(page.locator(".st-key-way_on")).to_be_visible(timeout=30_000)
    return settled(page)


def lasting_faults(page: Page) -> list[str]:
    """What axe still finds after some seconds: what is being drawn fades in, pale and without its labels."""
    # Streamlit's own code blocks: colours of its syntax theme, and boxes that scroll but cannot be focused.
    own = ("color-contrast", "scrollable-region-focusable")
    faults: list[str] = []
    for _ in range(8):
        found = axe_faults(page, '[data-testid="stMain"]')
        faults = [fault for fault in found if not fault.startswith(own) or "stCode" not in fault]
        if not faults:
            break
        page.wait_for_timeout(1500)
    return faults


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
def test_nothing_serious_for_axe_and_no_sideways_scrolling(
    lesson: Lesson, scheme: str, width: int, new_page: Callable[..., Page], url: str
) -> None:
    page = new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    page.goto(f"{url}/{lesson.slug}?sentence={SENTENCE}")
    drawn(page)
    assert lasting_faults(page) == []
    assert sideways(page) == []


def test_the_sentence_goes_from_lesson_to_lesson(page: Page, url: str) -> None:
    page.goto(f"{url}/{LESSONS[0].slug}?sentence={SENTENCE}")
    drawn(page)
    for lesson in LESSONS[1:3]:
        page.get_by_role("link", name=re.compile(f"^Next: {lesson.title}")).click()
        expect(page.get_by_role("heading", level=1, name=lesson.title)).to_be_visible(timeout=30_000)
        drawn(page)
        expect(page.get_by_label("English sentence")).to_have_value(SENTENCE)
        expect(page).to_have_url(re.compile("sentence="))
