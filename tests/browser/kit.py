"""What browser tests do to a page again and again."""

import json

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page


def settled(page: Page) -> Page:
    """Wait until the script has run and the page is drawn."""
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    return page


def axe_faults(page: Page, within: str | None = None) -> list[str]:
    """What axe finds serious or critical on the page, or inside one part of it, in words."""
    results = Axe().run(page, context=[within] if within else None).response
    faults = [fault for fault in results["violations"] if fault["impact"] in ("serious", "critical")]
    where = [json.dumps([node["target"] for node in fault["nodes"]][:5]) for fault in faults]
    return [f"{f['id']} ({f['impact']}): {f['help']} {at}" for f, at in zip(faults, where, strict=True)]


def own_text(locator: Locator) -> str:
    """The text of an element as a reader sees it, in one line."""
    return " ".join(locator.inner_text().split())


def sideways(page: Page) -> list[str]:
    """What on the page still scrolls sideways once it is drawn, by test id or tag.

    A closed sidebar, the insides of components and boxes of code do not count. Streamlit scrolls a part of the page, so
    the width of the document alone says nothing.
    """
    for _ in range(6):  # fonts, formulas and coloured code arrive one after the other
        found: list[str] = page.evaluate(
            """() => [document.documentElement, ...document.body.querySelectorAll("*")]
                .filter((e) => e.scrollWidth > e.clientWidth + 1 && !e.closest('[data-testid="stCode"]'))
                .filter((e) => e.getBoundingClientRect().right > 0 && e.checkVisibility({ visibilityProperty: true }))
                .filter((e) => e === document.documentElement || /auto|scroll/.test(getComputedStyle(e).overflowX))
                .map((e) => e.dataset.testid ?? `${e.tagName}.${e.className}: ${e.innerText.slice(0, 60)}`)"""
        )
        if not found:
            break
        page.wait_for_timeout(1000)
    return found
