"""The inference lesson in Chromium: the theatre plays, steps and takes other words; the tree answers."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.kit import settled, sideways

pytestmark = pytest.mark.browser

SENTENCE = "I put my money in the bank."
LONG = (
    "The old man with the long grey beard who lives in the small house by the sea gave the young girl a letter that "
    "her father had written many years ago."
)


def opened(page: Page, url: str, query: str = "", sentence: str = SENTENCE) -> Page:
    page.goto(f"{url}/inference?sentence={sentence}&{query}")
    expect(page.locator(".st-key-way_on")).to_be_visible()
    return settled(page)


def watch_steps(page: Page) -> None:
    """Note each step that the theatre shows from now on in `steps`: while it plays, none of them waits to be read."""
    page.locator(".st-key-theatre .count").evaluate(
        """node => {
            const note = () => {
                steps.push(Number(node.textContent.split(" ")[1]));
                times.push(performance.now());
            };
            globalThis.steps = [];
            globalThis.times = [];
            note();
            new MutationObserver(note).observe(node, { childList: true, characterData: true, subtree: true });
        }"""
    )


def button(page: Page, name: str) -> Locator:
    return page.locator(".st-key-theatre").get_by_role("button", name=name)


def shows(page: Page, step: int) -> None:
    """The theatre, the reasons and the address all show this step."""
    expect(page.locator(".st-key-theatre .count")).to_have_text(re.compile(rf"^Step {step} of \d+$"))
    expect(page.locator(".st-key-why")).to_contain_text(f"(step {step})")
    expect(page).to_have_url(re.compile(rf"at={step}(&|$)") if step > 1 else re.compile(r"^(?!.*[?&]at=)"))


def test_a_long_sentence_names_the_memory_beside_the_arrows_and_shows_four_lines(page: Page, url: str) -> None:
    opened(page, url, sentence=LONG)
    [(left, right)], arrows = page.locator(".stage").evaluate(
        """({ ride }) => {
            const said = [], { painter } = ride, { text } = painter;
            painter.text = function (words, x, ...more) {
                text.call(this, words, x, ...more);
                if (words === "memory") said.push([x, x + painter.pen.measureText(words).width]);
            };
            ride.draw();
            const [back, on] = ride.shifts.root.children;
            return [said, [back, on].map((one) => [one.offsetLeft, one.offsetLeft + one.offsetWidth, one.textContent])];
        }"""
    )
    assert 0 < left < right <= arrows[0][0] < arrows[0][1] <= arrows[1][0]
    assert re.fullmatch(r"← \d+", arrows[0][2])
    written = page.locator(".tw-translation")
    lines = (
        "one => [one.clientHeight, one.scrollHeight].map((size) => size / parseFloat(getComputedStyle(one).lineHeight))"
    )
    shown, whole = written.evaluate(lines)
    assert whole > 4.9  # five lines: the half of the last tells that there is more
    assert 4.3 < shown < 4.7


def test_steps_forward_and_back_and_a_reload(page: Page, url: str) -> None:
    opened(page, url)
    shows(page, 1)
    expect(button(page, "Step back")).to_be_disabled()
    button(page, "Step forward").click()
    button(page, "Step forward").click()  # faster than the page follows
    shows(page, 3)
    button(page, "Step back").press("Enter")
    shows(page, 2)
    button(page, "Last step").click()
    expect(button(page, "Step forward")).to_be_disabled()
    last = int(page.locator(".st-key-theatre .count").inner_text().split()[-1])
    shows(page, last)
    page.reload()
    shows(page, last)
    button(page, "First step").click()
    shows(page, 1)


def test_playing_goes_on_by_itself_stops_at_the_end_and_can_be_paused(page: Page, url: str) -> None:
    opened(page, url)
    button(page, "Last step").click()
    last = int(page.locator(".st-key-theatre .count").inner_text().split()[-1])
    shows(page, last)
    button(page, "Step back").click()
    button(page, "Step back").click()
    shows(page, last - 2)
    watch_steps(settled(page))
    button(page, "Play").click()
    expect(button(page, "Play")).to_be_visible()  # no longer "Pause"
    shows(page, last)
    assert page.evaluate("() => steps") == [last - 2, last - 1, last]
    first, second = np.diff(page.evaluate("() => times"))
    assert min(first, second) > 900  # milliseconds: who watches can read each
    button(page, "Play").click()  # from the start again
    page.wait_for_function("() => steps.length > 4")
    button(page, "Pause").click()
    at = settled(page).evaluate("() => steps.at(-1)")
    assert page.evaluate("() => steps") == [last - 2, last - 1, last, *range(1, at + 1)]
    page.wait_for_timeout(2500)
    shows(page, at)


def test_another_word_changes_the_sentence_until_it_is_taken_back(page: Page, url: str) -> None:
    opened(page, url, "at=2")
    pieces = page.locator(".st-key-theatre .strip").last.locator(".text")
    candidates = page.locator(".st-key-theatre .candidates button")
    own, word = (candidates.nth(n).locator(".text").inner_text() for n in (0, 2))
    expect(pieces.nth(2)).to_have_text(own)
    candidates.nth(2).click()
    expect(page).to_have_url(re.compile(r"prefix=\d+\.\d+"))
    expect(pieces.nth(2)).to_have_text(word)
    taken = page.locator(".st-key-theatre .candidates button[aria-pressed=true]")
    expect(taken.locator(".text")).to_have_text(word)
    expect(page.locator(".st-key-own_way")).to_contain_text(f"Chosen by you: {word}.")
    expect(page.locator(".st-key-part_do table").first).to_contain_text("with your choice")
    page.reload()
    expect(pieces.nth(2)).to_have_text(word)
    page.locator(".st-key-own_choice button").click()
    expect(page).not_to_have_url(re.compile("prefix="))
    expect(pieces.nth(2)).to_have_text(own)


def test_nothing_moves_for_who_wants_less_motion(new_page: Callable[..., Page], url: str) -> None:
    page = opened(new_page(reduced_motion="reduce"), url)
    moving = page.locator(".st-key-theatre .piece").first.evaluate("e => getComputedStyle(e).transitionDuration")
    assert moving == "0s"


def test_the_tree_answers_to_clicks_and_keys(page: Page, url: str) -> None:
    opened(page, url, "method=Beam search")
    nodes = page.locator(".st-key-beam_tree .node")
    expect(page.locator(".st-key-beam_tree .node[aria-pressed=true]")).to_have_count(1)
    nodes.nth(1).click()
    expect(page).to_have_url(re.compile(r"node=1\.2"))
    expect(nodes.nth(1)).to_have_attribute("aria-pressed", "true")
    nodes.nth(1).press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"node=1\.1"))
    expect(page.locator(".st-key-part_do")).to_contain_text("It has not ended, so it is not ranked")


@pytest.mark.parametrize("method", ["Another word", "Beam search", "Sampling", "With and without cache", "All at once"])
def test_no_way_of_decoding_makes_a_phone_scroll_sideways(method: str, new_page: Callable[..., Page], url: str) -> None:
    page = opened(new_page(viewport={"width": 390, "height": 844}), url, f"method={method}&prefix=500")
    assert sideways(page) == []


def test_hostile_text_stays_text(page: Page, url: str) -> None:
    page.goto(f"{url}/inference?sentence=<img src=x onerror=window.pwned=1>&method=Beam search&prefix=<b>x</b>")
    expect(page.locator(".st-key-way_on")).to_be_visible()
    settled(page)
    expect(page.locator(".st-key-theatre .strip").first).to_contain_text("<")
    assert page.evaluate("window.pwned") is None
