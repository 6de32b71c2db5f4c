"""`pieces` in a real Chromium, on the page of pieces_demo.py."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.kit import axe_faults, boxes_of, lasting, middle, rgb, settled, sideways, styled, swipe, wear

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}


@pytest.fixture
def demo(visit: Callable[..., Page]) -> Callable[..., Page]:
    """demo(query) → the demo page, drawn."""
    return partial(visit, "pieces", ".pieces .card")


def card(page: Page, n: int) -> Locator:
    return page.locator(".pieces .card").nth(n)


def says(page: Page, text: str) -> None:
    expect(page.get_by_text(text, exact=True)).to_be_visible()


def pressed(page: Page, n: int) -> None:
    """Card n, and no other, is the chosen one."""
    expect(page.locator(".pieces [aria-pressed=true]")).to_have_count(1)
    expect(card(page, n)).to_have_attribute("aria-pressed", "true")


def test_a_click_chooses_once_and_stays(demo: Callable[..., Page]) -> None:
    page = demo()
    pressed(page, 1)
    card(page, 3).click()
    says(page, "Chosen: 3")
    says(page, "Kept: 3")
    pressed(page, 3)
    page.get_by_role("button", name="One card more").click()
    says(page, "Chosen: None")
    says(page, "Kept: 3")
    expect(page.locator(".pieces .card")).to_have_count(7)
    pressed(page, 3)


def test_every_card_is_reached_and_chosen_by_keyboard(demo: Callable[..., Page]) -> None:
    page = demo()
    page.get_by_role("button", name="One card more").focus()
    for n in range(6):
        page.keyboard.press("Tab")
        expect(card(page, n)).to_be_focused()
    page.keyboard.press("Enter")
    says(page, "Kept: 5")
    pressed(page, 5)
    expect(card(page, 5)).to_be_focused()  # one goes on from where one is
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    says(page, "Kept: 4")
    pressed(page, 4)
    expect(card(page, 4)).to_be_focused()


def test_quick_clicks_end_on_the_last_one(demo: Callable[..., Page]) -> None:
    page = demo()
    for n in (0, 2, 4, 5, 3):
        card(page, n).click(no_wait_after=True)
    says(page, "Kept: 3")
    pressed(page, 3)


def test_pieces_of_one_word_stand_together(demo: Callable[..., Page]) -> None:
    page = demo()
    boxes = boxes_of(page.locator(".pieces .card"))
    gaps = [right["x"] - left["x"] - left["width"] for left, right in pairwise(boxes)]
    assert max(gaps[:2]) <= 3  # one word
    assert min(gaps[2:]) >= 8  # the next word, and two signs that belong to none
    expect(card(page, 0)).to_have_text("␣un20 75 6Eid 7")


def test_what_cannot_be_chosen_is_no_button(demo: Callable[..., Page]) -> None:
    page = demo("plain=1")
    assert card(page, 0).evaluate("e => e.tagName") == "SPAN"
    assert page.locator(".pieces button").count() == 0
    card(page, 3).click()
    settled(page)
    says(page, "Kept: None")


def test_any_text_is_shown_as_text(demo: Callable[..., Page]) -> None:
    page = demo("cards=hostile")
    assert card(page, 0).locator(".text").text_content() == "<img src=x onerror=window.pwned=1>"
    assert card(page, 0).locator(".small").text_content() == "</script><script>window.pwned=1</script>"
    card(page, 1).hover()
    assert page.evaluate("window.pwned") is None
    assert page.locator(".pieces img, .pieces script, .pieces b").count() == 0


def press(page: Page, n: int) -> None:
    """The mouse goes down in the middle of card n."""
    card(page, n).hover()
    page.mouse.down()


def looks_chosen(page: Page, *expected: int) -> None:
    """These cards, and no others, have the ring of the theme's colour around them."""
    expect(page.locator(".pieces .chosen")).to_have_count(len(expected))
    primary = rgb(styled(card(page, 0), "--st-primary-color"))
    rings = [styled(one, "box-shadow") for one in page.locator(".pieces .card").all()]
    assert [n for n, ring in enumerate(rings) if ring != "none"] == [*expected]
    assert all(rgb(rings[n]) == primary for n in expected)


def test_a_drag_marks_whole_words_at_once_and_is_sent_when_it_ends(demo: Callable[..., Page]) -> None:
    page = demo("runs=1")
    looks_chosen(page)
    asked = page.evaluate("watched.runs.asked")
    press(page, 1)
    for n, words in ((3, (0, 1, 2, 3)), (4, (0, 1, 2, 3, 4)), (3, (0, 1, 2, 3))):
        card(page, n).hover()
        looks_chosen(page, *words)
    page.mouse.move(5, 5)  # it goes on beside the words
    looks_chosen(page, 0, 1, 2, 3)
    assert page.evaluate("watched.runs.asked") == asked
    page.mouse.up()
    says(page, "Runs: [(1, 3)]")
    assert page.evaluate("watched.runs.asked") == asked + 1
    looks_chosen(settled(page))  # from now on Python says what is marked
    expect(page.locator(".pieces [aria-pressed=true]")).to_have_count(4)
    expect(page.locator(".pieces .marked")).to_have_count(4)
    frames = [styled(one, "border-top-style") for one in page.locator(".pieces .card").all()]
    assert frames == ["dashed"] * 4 + ["solid"] * 2  # as texts beside them say


def test_a_drag_backwards_or_on_one_card_is_one_run_and_a_click_still_chooses(demo: Callable[..., Page]) -> None:
    page = demo("runs=1")
    press(page, 3)
    card(page, 2).hover()
    page.mouse.up()
    says(page, "Runs: [(2, 3)]")
    press(page, 4)
    card(page, 5).hover()
    card(page, 4).hover()  # and back: the click that the browser makes of this is not taken for another
    page.mouse.up()
    says(page, "Runs: [(2, 3), (4, 4)]")
    card(page, 5).click()
    says(page, "Runs: [(2, 3), (4, 4), (5, 5)]")


def test_a_press_that_ends_elsewhere_starts_no_drag_later(demo: Callable[..., Page]) -> None:
    page = demo("runs=1")
    press(page, 1)
    page.mouse.move(5, 5)
    page.mouse.up()
    card(page, 3).hover()
    looks_chosen(settled(page))
    says(page, "Runs: []")


def test_by_keyboard_one_goes_on_from_the_card_that_was_marked(demo: Callable[..., Page]) -> None:
    page = demo("runs=1")
    page.get_by_role("button", name="One card more").focus()
    for _ in range(4):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    says(page, "Runs: [(3, 3)]")
    expect(card(page, 3)).to_be_focused()  # although it was drawn anew
    expect(card(page, 3)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    says(page, "Runs: [(3, 3), (4, 4)]")


def test_a_finger_chooses_along_the_words_and_scrolls_up_and_down(
    demo: Callable[..., Page], new_page: Callable[..., Page]
) -> None:
    page = demo("runs=1", on=new_page(viewport={"width": 390, "height": 300}, has_touch=True))
    swipe(page, card(page, 1), middle(card(page, 3)))
    says(page, "Runs: [(1, 3)]")
    x, y = middle(card(settled(page), 1))
    swipe(page, card(page, 1), (x, y - 120))
    page.wait_for_function("() => document.querySelector('.stMain').scrollTop > 50")
    looks_chosen(page)
    says(page, "Runs: [(1, 3)]")


@pytest.mark.parametrize("query", ["", "cards=hostile", "plain=1", "runs=1"])
def test_accessible_and_within_a_phone(demo: Callable[..., Page], new_page: Callable[..., Page], query: str) -> None:
    page = demo(query, on=new_page(viewport=PHONE, color_scheme="light"))
    for scheme in ("light", "dark"):
        wear(page, scheme, PHONE["width"])  # type: ignore[arg-type]
        assert lasting(lambda: axe_faults(page, ".stBidiComponent")) == []
        assert sideways(page) == []
    assert max(box["x"] + box["width"] for box in boxes_of(settled(page).locator(".pieces .card"))) <= PHONE["width"]
