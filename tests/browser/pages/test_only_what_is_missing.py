"""Words are cut out by a drag, of the mouse and of a finger: what T5 then reads, and what is to be written."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.kit import middle, settled, swipe

pytestmark = pytest.mark.browser

ADDRESS = "only-what-is-missing?sentence=The boy sees the girl.&blanks=0"
PHONE = {"width": 390, "height": 844}


def opened(page: Page, url: str) -> Page:
    page.goto(f"{url}/{ADDRESS}")
    expect(page.get_by_text("Nothing is cut out, so nothing is to be written.")).to_be_visible()
    return settled(page)


def card(page: Page, n: int) -> Locator:
    return page.locator(".st-key-part_see .pieces .card").nth(n)


def drag(page: Page, *cards: int) -> None:
    """The mouse goes down on the first card, over the others, and up on the last."""
    card(page, cards[0]).hover()
    page.mouse.down()
    for n in cards[1:]:
        card(page, n).hover()
    page.mouse.up()


def is_cut(page: Page, source: str, target: str, *marked: int) -> None:
    """What T5 reads and is to write, what Check counts of it, and which cards are marked as cut out."""
    see, check = (page.locator(f".st-key-part_{part}") for part in ("see", "check"))
    # An invisible joiner keeps the prefix's colon from being read as Markdown.
    expect(see.get_by_text(re.compile(rf"^It reads: fill .?: {re.escape(source)}$"))).to_be_visible()
    expect(see.get_by_text(f"To be written: {target}", exact=True)).to_be_visible()
    signs = len([one for one in target.split() if one.startswith("<")]) - 1
    expect(check.get_by_text(f"You cut out {len(marked)} pieces, in {signs} stretch")).to_be_visible()
    settled(page)
    cards = page.locator(".st-key-part_see .pieces .card")
    for of_the_cut in ("pressed", "marked"):
        found = cards.evaluate_all(
            "(all, kind) => all.flatMap((e, n) => "
            "(kind === 'marked' ? e.classList.contains(kind) : e.getAttribute('aria-pressed') === 'true') ? [n] : [])",
            of_the_cut,
        )
        assert found == [*marked], of_the_cut


def test_dragged_words_become_one_stretch_and_the_next_ones_another(page: Page, url: str) -> None:
    opened(page, url)
    drag(page, 3, 2, 1)  # backwards
    is_cut(page, "The <X> girl .", "<X> boy sees the <Y>", 1, 2, 3)
    card(page, 2).click()  # puts one back
    is_cut(page, "The <X> sees <Y> girl .", "<X> boy <Y> the <Z>", 1, 3)
    drag(page, 3, 4, 5)
    is_cut(page, "The <X> sees <Y>", "<X> boy <Y> the girl . <Z>", 1, 3, 4, 5)


def test_a_finger_cuts_on_a_phone(new_page: Callable[..., Page], url: str) -> None:
    page = opened(new_page(viewport=PHONE, has_touch=True, is_mobile=True), url)
    card(page, 1).scroll_into_view_if_needed()
    swipe(page, card(page, 1), middle(card(page, 3)))
    is_cut(page, "The <X> girl .", "<X> boy sees the <Y>", 1, 2, 3)
    card(page, 1).tap()
    is_cut(page, "The boy <X> girl .", "<X> sees the <Y>", 2, 3)
