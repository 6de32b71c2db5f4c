"""What browser tests do to a page again and again."""

import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error, FloatRect, Locator, Page, TimeoutError

STATES, UNREAD = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("states.js", "unread.js"))


def settled(page: Page) -> Page:
    """Wait until the server has answered all that was asked, and the whole page is drawn, components too.

    So it may stand right behind a click. What is sent after a while is not known before: a sentence that was typed
    without Enter.
    """
    try:
        page.wait_for_function("() => watched.drawn().then(() => true)")
    except TimeoutError as late:
        raise AssertionError(f"The page still waits for {page.evaluate('() => watched.pending()')}") from late
    return page


def rerun(page: Page, act: Callable[[], object]) -> Page:
    """Act, and wait until the script has run because of it."""
    before = page.evaluate("() => watched.runs.asked")
    act()
    page.wait_for_function("before => watched.runs.asked > before", arg=before)
    return settled(page)


def has_run(page: Page) -> list[str]:
    """The addresses of the frames, the page's own among them, in which a hostile text ran: it sets window.pwned."""
    hit = []
    for frame in list(page.frames):  # frames come and go while a page draws: the list is taken once
        for last in (False, True):
            try:
                if frame.evaluate("() => window.pwned ?? null") is not None:
                    hit.append(frame.url)
                break
            except Error:
                # A frame that went away shows nothing to anybody. One that was loading is asked once more.
                if frame.is_detached():
                    break
                if last:
                    raise
                frame.wait_for_load_state()
    return hit


def unread(page: Page) -> list[str]:
    """Texts that are too small, cut, or on one another, and what is not at its share of a scale."""
    return lasting(lambda: list(page.evaluate(UNREAD)))


def seen_no_more(page: Page) -> list[str]:
    """What is in a state that nobody sees: it would look the same out of it."""
    return list(page.evaluate(STATES))


def box_of(locator: Locator) -> FloatRect:
    """Where it is drawn."""
    box = locator.bounding_box()
    assert box, "it is not drawn"
    return box


def boxes_of(locator: Locator) -> list[FloatRect]:
    """Where each of several is drawn."""
    return [box_of(one) for one in locator.all()]


def middle(locator: Locator) -> tuple[float, float]:
    box = box_of(locator)
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def swipe(page: Page, start: Locator, end: tuple[float, float]) -> Page:
    """A finger goes down in the middle of something, moves to a place in ten steps, and leaves."""
    (x, y), device = middle(start), page.context.new_cdp_session(page)
    places = [(x + (end[0] - x) * n / 10, y + (end[1] - y) * n / 10) for n in range(11)]
    for kind, (left, top) in zip(["touchStart", *["touchMove"] * 10], places, strict=True):
        device.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": left, "y": top}]})
    page.wait_for_timeout(100)  # a finger that rests throws nothing; a tap in the middle of a throw would only end it
    device.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    device.detach()
    return settled(page)


def rgb(colour: str) -> list[int]:
    """Red, green and blue of a colour as CSS writes it."""
    if digits := re.fullmatch(r"\s*#(\w{3}|\w{6})\s*", colour):
        each = len(digits[1]) // 3  # #fff is #ffffff
        return [int((digits[1][n * each : (n + 1) * each] * 2)[:2], 16) for n in range(3)]
    if colour.startswith("color(srgb"):
        return [round(255 * float(n)) for n in re.findall(r"[\d.]+", colour)[:3]]
    return [int(n) for n in re.findall(r"\d+", colour)[:3]]


def styled(locator: Locator, name: str) -> str:
    """A property of its style as the browser works it out."""
    return str(locator.evaluate("(e, name) => getComputedStyle(e).getPropertyValue(name)", name))


def contrast(one: Sequence[float], other: Sequence[float]) -> float:
    """As WCAG 2.2 defines it."""

    def luminance(colour: Sequence[float]) -> float:
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in colour)]
        return sum(share * v for share, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def axe_faults(page: Page, within: str | None = None, rule: str | None = None) -> list[str]:
    """What axe finds serious or critical on the page, or inside one part of it, by all rules or by one, in words."""
    # What passes is not wanted: axe would work out a selector for each of thousands of elements.
    options = {"resultTypes": ["violations"]} | ({"runOnly": [rule]} if rule else {})
    # Half a megabyte of script: read once by a page, however often it is asked.
    axe = Axe("") if page.evaluate("() => 'axe' in window") else Axe()
    results = axe.run(page, context=[within] if within else None, options=options).response
    faults = [fault for fault in results["violations"] if fault["impact"] in ("serious", "critical")]
    where = [json.dumps([node["target"] for node in fault["nodes"]][:5]) for fault in faults]
    return [f"{f['id']} ({f['impact']}): {f['help']} {at}" for f, at in zip(faults, where, strict=True)]


def lasting(find: Callable[[], list[str]], seconds: float = 30) -> list[str]:
    """What is still found once everything is drawn: fonts, formulas and figures come one by one, pale at first."""
    deadline = time.monotonic() + seconds
    while (found := find()) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def becomes(read: Callable[[], Any], wanted: object, seconds: float = 20) -> None:
    """What is read is this, or becomes it: for what no `expect` of Playwright's waits for."""
    deadline = time.monotonic() + seconds
    while (found := read()) != wanted and time.monotonic() < deadline:
        time.sleep(0.1)
    assert found == wanted


def wear(page: Page, scheme: Literal["light", "dark"], width: int) -> Page:
    """Turn an open page to this theme and width, as when the system or the window changes."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    page.wait_for_function(
        "scheme => getComputedStyle(document.querySelector('.stApp')).colorScheme === scheme", arg=scheme
    )
    page.wait_for_function("() => document.querySelector('.stMain').clientWidth <= innerWidth")
    return settled(page)


def sideways(page: Page) -> list[str]:
    """What on the page scrolls sideways once it is drawn, by test id or tag.

    A closed sidebar, the insides of components, boxes of code and the row of examples, which one pulls on a phone, do
    not count. Streamlit scrolls a part of the page, so the width of the document alone says nothing.
    """

    def found() -> list[str]:
        wide: list[str] = page.evaluate(
            """() => [document.documentElement, ...document.body.querySelectorAll("*")]
                .filter((e) => !e.closest('[data-testid="stCode"], .st-key-examples'))
                .filter((e) => e.scrollWidth > e.clientWidth + 1)
                .filter((e) => e.getBoundingClientRect().right > 0 && e.checkVisibility({ visibilityProperty: true }))
                .filter((e) => e === document.documentElement || /auto|scroll/.test(getComputedStyle(e).overflowX))
                .map((e) => e.dataset.testid ?? `${e.tagName}.${e.className}: ${e.innerText.slice(0, 60)}`)"""
        )
        return wide

    return lasting(found)
