"""The page of results in Chromium: accessible, nothing cut, a click on the picture of sizes opens the lesson."""

import re
from collections.abc import Callable
from functools import partial

import pytest
from playwright.sync_api import Page, expect

from tests.browser.kit import axe_faults, box_of, lasting, settled, sideways, wear
from tests.browser.pages.test_lessons import LOOKS

pytestmark = pytest.mark.browser


def drawn(page: Page) -> Page:
    expect(page.locator(".st-key-sizes .points path").first).to_be_visible()
    return settled(page)


def test_nothing_serious_for_axe_and_no_sideways_scrolling(new_page: Callable[..., Page], url: str) -> None:
    page = new_page(color_scheme="light", viewport={"width": 1280, "height": 844})
    page.goto(f"{url}/results")
    drawn(page)
    for look in (look for looks in LOOKS for look in looks):
        wear(page, *look)
        assert lasting(partial(axe_faults, page, '[data-testid="stMain"]')) == [], look
        assert sideways(page) == [], look


def test_a_filled_sign_opens_a_lesson_and_an_open_one_says_why_not(new_page: Callable[..., Page], url: str) -> None:
    page = new_page(color_scheme="light", viewport={"width": 1280, "height": 900})
    page.goto(f"{url}/results")
    drawn(page)
    click_sign(page, "DeBERTa")
    expect(page.get_by_text("No lesson teaches")).to_be_visible()
    drawn(page)
    click_sign(page, "T5")
    expect(page).to_have_url(re.compile("only-what-is-missing"))


def click_sign(page: Page, name: str) -> None:
    """Point at one sign after the other until the chart says that it is this model's, and click there."""
    signs, label = page.locator(".st-key-sizes .points path"), page.locator(".st-key-sizes .hoverlayer .hovertext")
    for sign in signs.all():
        page.mouse.move(0, 0)
        expect(label).to_have_count(0)  # of the sign before
        sign.scroll_into_view_if_needed()
        box = box_of(sign)
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x - 2, y)
        expect(label.first).to_have_text(re.compile(r"\S"))
        if name in (label.first.text_content() or ""):
            page.mouse.click(x, y)
            return
    raise AssertionError(f"The chart has no {name}")


def test_a_link_below_the_picture_opens_the_lesson_by_keyboard(new_page: Callable[..., Page], url: str) -> None:
    page = new_page(color_scheme="light", viewport={"width": 1280, "height": 900})
    page.goto(f"{url}/results")
    drawn(page)
    page.get_by_role("link", name="RoBERTa → RoBERTa: read it again").press("Enter")
    expect(page).to_have_url(re.compile("/read-again"))
