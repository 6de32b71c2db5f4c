"""Hostile texts in the sentence and in the address of any page: none of them runs.

Five on the pages that no other test attacks. `pytest tests/browser/test_payloads.py --every-payload` tries all fifty on
all pages.
"""

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.kit import has_run, settled
from tests.course import LESSONS
from tests.payloads import PAYLOADS

pytestmark = pytest.mark.browser

PAGES = ["bertviz", "compare", "results", "about"]
NAMES = (
    "sentence",
    "cell",
    "map",
    "head",
    "layer",
    "attention",
    "model",
    "left_model",
    "second",
    "off",
    "step",
    "find",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "slug" in metafunc.fixturenames:
        full = metafunc.config.getoption("--every-payload")
        metafunc.parametrize("slug", [*PAGES, "", "any-model", *(lesson.slug for lesson in LESSONS)] if full else PAGES)
        metafunc.parametrize("payloads", [PAYLOADS if full else PAYLOADS[::10]], ids=[""])


def unharmed(page: Page, what: str) -> None:
    settled(page)
    expect(page.locator(".stException, [role=dialog]")).to_have_count(0)
    assert has_run(page) == [], what
    assert "Traceback" not in page.locator("body").inner_text(), what


@pytest.mark.timeout(900)
def test_no_payload_runs(slug: str, payloads: tuple[str, ...], page: Page, url: str) -> None:
    page.goto(f"{url}/{slug}?" + "&".join(f"{n}={quote(payloads[i % len(payloads)])}" for i, n in enumerate(NAMES)))
    box = page.get_by_label("English sentence")
    expect(box).to_be_visible()
    unharmed(page, "the address")
    for payload in payloads:
        box.fill(payload)
        typed = box.input_value()  # the browser itself has no line breaks in a box of one line
        assert typed.split() == payload.split() or typed == payload.replace("\n", "")
        box.press("Enter")
        unharmed(page, payload)
        expect(box).to_have_value(typed)
