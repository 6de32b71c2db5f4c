"""The browser's own buttons: Back and Forward lead from page to page, and every page opens as it was left."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.kit import settled
from tests.course import LESSONS
from ui.course.lesson import COURSE

pytestmark = pytest.mark.browser


def test_back_leads_to_the_page_before_as_it_was_left(page: Page, url: str) -> None:
    first = COURSE.lesson("query-key-value")
    after = LESSONS[LESSONS.index(first) + 1]
    page.goto(f"{url}/{first.slug}?sentence=A dog sees a cat.")
    settled(page)
    see = page.locator(".st-key-part_see")
    see.get_by_role("radio", name="V", exact=True).click()
    settled(page)
    head = page.locator(".st-key-head")
    head.get_by_role("radio", name="4").click()
    settled(page)
    for cell in (70, 75, 80):
        see.locator("tbody td").nth(cell).click()
        expect(see.locator("tbody td").nth(cell)).to_have_class(re.compile("selected"))
        settled(page)
    expect(page).to_have_url(re.compile(r"part=V.*cell=2\.17"))
    left = page.url
    page.get_by_role("link", name=re.compile(f"^Next: {after.title}")).click()
    expect(page.get_by_role("heading", level=1, name=after.title)).to_be_visible()
    settled(page)
    head.get_by_role("radio", name="2").click()  # the same control, on another page
    expect(page).to_have_url(re.compile("head=2"))
    settled(page)
    page.go_back()
    expect(page.get_by_role("heading", level=1, name=first.title)).to_be_visible()
    settled(page)
    assert sorted(page.url.split("?")[1].split("&")) == sorted(left.split("?")[1].split("&"))
    expect(see.locator("tbody td").nth(80)).to_have_class(re.compile("selected"))
    expect(see.get_by_role("radio", name="V", exact=True)).to_be_checked()
    expect(head.get_by_role("radio", name="4")).to_be_checked()
    page.go_forward()
    expect(page.get_by_role("heading", level=1, name=after.title)).to_be_visible()
