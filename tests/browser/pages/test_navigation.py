"""The sidebar's links: they keep the session and what is typed, and take along what all pages have."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.kit import settled
from tests.course import COURSE

pytestmark = pytest.mark.browser


def link(page: Page, title: str) -> Locator:
    return page.get_by_test_id("stSidebar").get_by_role("link", name=title, exact=True)


def opened(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator(".st-key-way_on").wait_for()
    return settled(page)


def test_what_is_being_typed_goes_along_and_comes_back(page: Page, url: str) -> None:
    opened(page, f"{url}/masking?head=2")
    expect(link(page, "Masking")).to_have_attribute("aria-current", "page")
    box = page.get_by_label("English sentence")
    box.fill("")
    box.press_sequentially("The cat sleeps.")  # and has not left the box yet
    link(page, "Encoder").click()
    expect(page.get_by_role("heading", level=1, name="Encoder")).to_be_visible()
    expect(box).to_have_value("The cat sleeps.")
    expect(page).to_have_url(re.compile(r"/encoder\?sentence=The\+cat\+sleeps\.$"))
    expect(link(page, "Encoder")).to_have_attribute("aria-current", "page")
    expect(link(page, "Masking")).not_to_have_attribute("aria-current", "page")
    page.go_back()
    expect(page.get_by_role("heading", level=1, name="Masking")).to_be_visible()
    expect(box).to_have_value("The cat sleeps.")
    expect(page).to_have_url(re.compile("head=2"))


def test_what_all_pages_have_goes_along_and_nothing_else(page: Page, url: str) -> None:
    page.goto(f"{url}/masking?sentence=A+dog.&present=true&try=x&head=2")
    page.locator(".st-key-stepper").wait_for()
    settled(page)
    link(page, "Encoder").click()
    expect(page.get_by_role("heading", level=1, name="Encoder")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/encoder\?sentence=A\+dog\.&present=true$"))


def test_another_tab_opens_the_page_too(page: Page, url: str) -> None:
    opened(page, f"{url}/masking")
    with page.context.expect_page() as other:
        link(page, "Encoder").click(modifiers=["ControlOrMeta"])
    expect(other.value).to_have_url(f"{url}/encoder")
    expect(page).to_have_url(f"{url}/masking")


def test_the_sidebar_shows_which_page_is_open_and_stays_where_it_is_scrolled(page: Page, url: str) -> None:
    opened(page, f"{url}/some-parameters")  # far down among the lessons
    expect(link(page, "Some parameters at a time")).to_be_in_viewport(ratio=1)
    sidebar = page.get_by_test_id("stSidebarContent")
    sidebar.evaluate("e => e.scrollTo(0, 0)")
    page.get_by_label("English sentence").fill("The cat sleeps.")
    page.get_by_label("English sentence").press("Enter")
    settled(page)
    assert sidebar.evaluate("e => e.scrollTop") == 0
    link(page, "Tokenization").click()
    expect(link(page, "Tokenization")).to_have_attribute("aria-current", "page")
    assert sidebar.evaluate("e => e.scrollTop") == 0


def test_on_a_phone_the_sidebar_gets_out_of_the_way(new_page: Callable[..., Page], url: str) -> None:
    page = opened(new_page(viewport={"width": 390, "height": 844}), f"{url}/masking")
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(link(page, "Encoder")).to_be_in_viewport()
    link(page, "Encoder").click()
    expect(page.get_by_role("heading", level=1, name="Encoder")).to_be_visible()
    expect(link(page, "Encoder")).not_to_be_in_viewport()


def test_a_link_tells_what_was_answered_and_keeps_the_focus(page: Page, url: str) -> None:
    opened(page, f"{url}/masking")
    icons = page.locator(".navigation .icon").evaluate_all("all => all.map(e => [e.innerText, e.scrollWidth])")
    assert len(icons) == len(COURSE.lessons) + 8
    assert all(name and width == 16 for name, width in icons)  # a drawing, not its name
    question = page.locator(".st-key-part_predict")
    question.get_by_text("0.5", exact=True).click()
    check = question.get_by_role("button", name="Check my answer")
    expect(check).to_be_enabled()
    link(page, "Masking").focus()
    check.evaluate("e => e.click()")
    expect(link(page, "Masking 1/2")).to_be_focused()
