"""Presenter mode in Chromium, by keyboard alone: on, through the parts of a lesson, back to the start, off."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.kit import axe_faults, lasting, settled, sideways, wear

pytestmark = pytest.mark.browser

PARTS = ["Idea", "Predict", "See", "Do", "Code"]
PARTS_SHOWN = "[class*=st-key-part_]:not(.st-key-part_check)"  # Check stands within See
SENTENCE = ["My brother bought a red car."]
LESSON = "masking?sentence=My+brother+bought+a+red+car."


def switch(page: Page) -> Locator:
    return page.get_by_role("switch", name="Presenter mode")


def shows(page: Page, part: str) -> None:
    """This part of the lesson, and no other, is on the page and in the address."""
    n = PARTS.index(part) + 1
    expect(page.get_by_text(f"Part {n} of 5: {part}", exact=True)).to_be_visible()
    expect(page.locator(f".st-key-part_{part.lower()}")).to_be_visible()
    expect(page.locator(PARTS_SHOWN)).to_have_count(1)
    wanted = {"present": ["true"]} | ({"step": [str(n)]} if n > 1 else {})
    page.wait_for_url(lambda url: {"sentence": SENTENCE, **wanted} == parse_qs(urlsplit(url).query))
    settled(page)


def listens(page: Page) -> Page:
    """Wait until the script that hears the keys has been fetched and run."""
    page.locator("[data-listens]").wait_for(state="attached")
    return page


def whole(page: Page) -> None:
    """The lesson is there from the first part to the last, and the address has forgotten the presentation."""
    expect(page.locator(".st-key-way_on")).to_be_visible()
    expect(page.locator(PARTS_SHOWN)).to_have_count(5)
    expect(page).not_to_have_url(re.compile("present|step"))


def test_a_lesson_is_presented_by_keyboard(page: Page, url: str) -> None:
    page.goto(f"{url}/{LESSON}")
    whole(page)
    plain = page.evaluate("() => parseFloat(getComputedStyle(document.documentElement).fontSize)")
    switch(page).focus()
    page.keyboard.press("Space")
    shows(listens(page), "Idea")
    page.wait_for_function(
        "plain => parseFloat(getComputedStyle(document.documentElement).fontSize) > plain", arg=plain
    )
    for key, part in (
        *(("ArrowRight", "Predict"), ("PageDown", "See"), ("ArrowRight", "Do"), ("ArrowRight", "Code")),
        *(("ArrowRight", "Code"), ("ArrowLeft", "Do"), ("PageUp", "See"), ("Home", "Idea"), ("ArrowLeft", "Idea")),
    ):
        page.keyboard.press(key)
        shows(page, part)
    page.get_by_role("button", name="Next", exact=True).focus()
    page.keyboard.press("Enter")
    shows(page, "Predict")
    page.keyboard.press("ArrowRight")  # from the button too
    shows(page, "See")
    page.get_by_role("button", name="Reset", exact=True).focus()
    page.keyboard.press("Enter")
    shows(page, "Idea")
    page.keyboard.press("ArrowRight")
    shows(page, "Predict")
    switch(page).focus()
    page.keyboard.press("Space")
    whole(page)


def test_keys_that_mean_something_where_they_are_pressed_do_not_step(page: Page, url: str) -> None:
    page.goto(f"{url}/{LESSON}&present=true&step=3")
    shows(listens(page), "See")
    page.get_by_label("English sentence").focus()
    for key in ("Home", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    page.locator(".st-key-see_matrix td[tabindex='0']").focus()
    page.keyboard.press("Control+Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".st-key-see_matrix tbody td").nth(1)).to_be_focused()
    page.locator(".st-key-head").get_by_role("radio", checked=True).focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".st-key-head").get_by_role("radio").nth(1)).to_be_focused()
    shows(page, "See")


@pytest.mark.parametrize("lesson", ["read-again", "pairs"])
def test_a_scenes_own_control_keeps_its_arrow_keys(lesson: str, page: Page, url: str) -> None:
    page.goto(f"{url}/{lesson}?present=true&step=1")
    control = listens(page).locator(".scene .control input").first
    at = """e => e.type === "range" ? Number(e.value)
        : [...e.closest("fieldset").querySelectorAll("input")].findIndex((one) => one.checked)"""
    page.locator(".scene svg text").first.wait_for()
    settled(page).keyboard.press("Tab")
    page.locator(".scene .control input:checked, .scene .control input[type=range]").focus()
    before = control.evaluate(at)
    page.keyboard.press("ArrowLeft" if before else "ArrowRight")
    assert abs(control.evaluate(at) - before) == 1
    expect(page.get_by_text("Part 1 of 5")).to_be_visible()


# In presenter mode, what a lecturer clicks before the remote control is used again: lesson, part, the click.
CLICKS = {
    "cell": ("masking", 3, lambda page: page.locator(".st-key-see_matrix tbody td").nth(1)),
    "segmented control": ("masking", 3, lambda page: page.locator(".st-key-head").get_by_role("radio").nth(1)),
    "question": ("masking", 2, lambda page: page.get_by_test_id("stRadioOption").first),
    "switch": ("scaled-dot-product", 4, lambda page: page.locator(".st-key-part_do [data-testid=stCheckbox] label")),
    "play": ("inference", 3, lambda page: page.get_by_role("button", name="Play")),
    "head": ("self-attention", 3, lambda page: page.locator(".heads button").nth(3)),
    "fold": ("masking", 5, lambda page: page.locator("summary").first),
}


@pytest.mark.parametrize("clicked", CLICKS)
def test_the_remote_control_works_after_a_click(clicked: str, page: Page, url: str) -> None:
    lesson, step, control = CLICKS[clicked]
    part = re.compile("Part [0-9] of [0-9]")

    def at(n: int) -> None:
        expect(page.get_by_text(part)).to_contain_text(f"Part {n} of")
        settled(page)

    page.goto(f"{url}/{lesson}?present=true&step={step}")
    listens(page)
    for forward, back in (("PageDown", "PageUp"), ("ArrowRight", "ArrowLeft")):
        at(step)
        keys, other = ((back, forward), step - 1) if step == 5 else ((forward, back), step + 1)
        control(page).first.click()
        settled(page)  # of a click and a key at once Streamlit hears one
        page.keyboard.press(keys[0])
        at(other)
        page.keyboard.press(keys[1])


def test_typing_does_not_step_but_the_remote_control_does(page: Page, url: str) -> None:
    page.goto(f"{url}/{LESSON}&present=true&step=3")
    shows(listens(page), "See")
    box = page.get_by_label("English sentence")
    box.click()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.type("x")
    expect(box).to_have_value("Mxy brother bought a red car.")
    page.keyboard.press("Backspace")
    expect(box).to_have_value(SENTENCE[0])
    shows(page, "See")
    page.keyboard.press("PageDown")
    shows(page, "Do")


def test_a_link_opens_the_part_on_a_phone_too(new_page: Callable[..., Page], url: str) -> None:
    page = new_page(color_scheme="light", viewport={"width": 390, "height": 844}, has_touch=True)
    page.goto(f"{url}/{LESSON}&present=true&step=4")
    shows(listens(page), "Do")
    assert lasting(lambda: axe_faults(page, '[data-testid="stMain"]')) == []
    assert sideways(page) == []
    wear(page, "dark", 390)
    page.keyboard.press("ArrowLeft")  # one step, also after the theme has changed
    shows(page, "See")
    assert sideways(page) == []
    page.reload()
    shows(page, "See")
    page.get_by_role("button", name="Reset", exact=True).tap()
    shows(page, "Idea")
    page.get_by_test_id("stExpandSidebarButton").focus()
    page.keyboard.press("Enter")
    switch(page).focus()
    page.keyboard.press("Space")
    whole(page)


@pytest.mark.parametrize(("step", "part"), [("99", "Code"), ("x", "Idea")])
def test_a_step_that_does_not_exist_opens_one_that_does(step: str, part: str, page: Page, url: str) -> None:
    page.goto(f"{url}/{LESSON}&present=true&step={step}")
    expect(page.get_by_text(re.compile(rf"^Part \d of 5: {part}$"))).to_be_visible()
