"""What one sees first: nothing jumps while a page opens, and the machine has the first screen of a phone."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import ROOT
from tests.browser.kit import settled

pytestmark = pytest.mark.browser

# An empty Streamlit page with such a navigation has 0.26 to 0.34: see `benchmarks.first_paint`.
MOST = 0.03
WATCH = """() => {
    globalThis.moved = 0;
    const add = (list) => list.getEntries().forEach((entry) => (globalThis.moved += entry.value));
    new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
}"""


@pytest.mark.parametrize(
    ("slug", "picture", "width"),
    [("", "stage", 1280), ("masking", "opening", 1280), ("masking", "opening", 390), ("three-kinds", "scene", 1280)],
)
def test_hardly_anything_moves_while_a_page_opens(
    slug: str, picture: str, width: int, page: Page, serve: Callable[..., str]
) -> None:
    """The code that draws buttons and HTML comes last, as over a slow line: till then their places are empty."""
    page.set_viewport_size({"width": width, "height": 720})
    page.add_init_script(f"({WATCH})()")
    held: list[Route] = []
    page.route(re.compile(r"/static/js/(Button|Html)\."), lambda route: held.append(route))
    page.goto(f"{serve(ROOT / 'app.py')}/{slug}")
    page.locator(f".st-key-{picture}").wait_for(state="attached")
    assert len(held) == 2
    for route in held:
        route.continue_()
    expect(page.get_by_role("button", name="Surprise me")).to_be_visible()
    settled(page)
    assert page.evaluate("() => globalThis.moved") < MOST


def test_a_phone_shows_all_of_the_machine_and_its_play_button_at_once(
    new_page: Callable[..., Page], serve: Callable[..., str]
) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    page.goto(serve(ROOT / "app.py"))
    for part in (page.locator(".st-key-stage canvas").first, page.get_by_role("button", name="Play", exact=True)):
        expect(part).to_be_in_viewport(ratio=1)
