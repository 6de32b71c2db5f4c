"""What one sees first: nothing jumps while a page opens, and the machine has the first screen of a phone."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

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
    ("slug", "picture", "width", "last"),
    [
        ("", "stage", 1280, "Surprise me"),
        ("", "stage", 390, "Surprise me"),
        ("masking", "opening", 1280, "Surprise me"),
        ("masking", "opening", 390, "Surprise me"),
        ("three-kinds", "scene", 1280, "Surprise me"),
        ("windows-that-shift", "scene", 1280, "Clear"),
        ("windows-that-shift", "scene", 390, "Clear"),
        ("sound-in-strips", "scene", 390, "Play"),
        ("rule-or-by-heart", "scene", 390, "Check my answer"),
        ("pictures-from-text", "scene", 390, "Play"),
    ],
)
def test_hardly_anything_moves_while_a_page_opens(
    slug: str, picture: str, width: int, last: str, page: Page, serve: Callable[..., str]
) -> None:
    """The code that draws buttons and HTML comes last, as over a slow line: till then their places are empty."""
    page.set_viewport_size({"width": width, "height": 720})
    page.add_init_script(f"({WATCH})()")
    page.route(re.compile(r"/static/js/(Button|Html)\."), lambda route: None)
    page.goto(f"{serve(ROOT / 'app.py')}/{slug}")
    page.locator(f".st-key-{picture}").wait_for(state="attached")
    page.unroute_all()
    expect(page.get_by_role("button", name=last).first).to_be_visible()
    settled(page)
    assert page.evaluate("() => globalThis.moved") < MOST


# A ride needs less code than a clip that shows a block from near.
@pytest.mark.parametrize(("slug", "picture", "files"), [("", "stage", 1), ("masking", "stage", 2), ("gpt", "scene", 1)])
def test_a_page_opened_by_link_asks_for_each_thing_once_and_where_it_is(
    slug: str, picture: str, files: int, page: Page, serve: Callable[..., str]
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{serve(ROOT / 'app.py')}/{slug}")
    page.locator(f".{picture}").first.wait_for()
    settled(page)
    assert not [url for url in asked if "masking/_stcore" in url]  # its server is not looked for under the page
    for code, times in (("js/BidiComponent.", 1), (f"transformer_walkthrough.{picture}/", files)):
        assert len([url for url in asked if code in url]) == times  # what was fetched early is what is used


def test_a_phone_shows_all_of_the_machine_and_its_play_button_at_once(
    new_page: Callable[..., Page], serve: Callable[..., str]
) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    page.goto(serve(ROOT / "app.py"))
    for part in (page.locator(".st-key-stage canvas").first, page.get_by_role("button", name="Play", exact=True)):
        expect(part).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_home_leads_to_the_training_of_the_sentence_which_plays_at_once_unless_one_asks_for_less_motion(
    motion: str, new_page: Callable[..., Page], serve: Callable[..., str]
) -> None:
    page = new_page(reduced_motion=motion)
    page.goto(f"{serve(ROOT / 'app.py')}/?sentence=The girl sees me.")
    page.get_by_role("link", name="Watch it learn your sentence").click()
    expect(page.get_by_label("English sentence")).to_have_value("The girl sees me.")
    slider = page.locator(".scene input[type=range]")
    if motion == "reduce":
        expect(slider).to_have_value("0")
        expect(page.locator(".scene").get_by_role("button", name="Play")).to_be_visible()
        return
    expect(slider).to_have_value(re.compile("[1-9]"))
    expect(page).not_to_have_url(re.compile("play="))  # a reload does not start it again
    expect(page).to_have_url(re.compile("stop="))
