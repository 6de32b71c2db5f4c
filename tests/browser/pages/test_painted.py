"""The first picture of a visit comes before the rest of its page, however slow the browser is."""

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from benchmarks.first_paint import WATCH
from tests.browser.kit import becomes, settled

pytestmark = pytest.mark.browser

# When the heading of See is first there, and when the server was told that there is a picture.
REST = """() => {
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (message) {
        if (new TextDecoder().decode(message).includes("said_painted")) globalThis.toldAt ??= performance.now();
        return send.call(this, message);
    };
    const look = () => {
        if (document.querySelector(".st-key-part_check, .st-key-map")) globalThis.restAt = performance.now();
        else requestAnimationFrame(look);
    };
    look();
}"""


# Someone who clicks on a link at the moment in which the picture stands there, before the server knows of it.
QUICK = """() => {
    const look = () => {
        const all = document.querySelectorAll(":is([data-testid=stBidiComponentIsolated], .st-key-stage *)");
        const stage = [...all].map((node) => node.shadowRoot?.querySelector(".stage")).find(Boolean);
        const link = document.querySelector(".st-key-home_learn a");
        if (link && stage?.dataset.id) link.click();
        else setTimeout(look, 1);
    };
    look();
}"""


def test_a_click_on_a_link_just_before_the_picture_is_told_of_leads_there(page: Page, url: str) -> None:
    page.goto(url)  # so that nothing is done for the first time, and all comes close together
    settled(page)
    page.add_init_script(f"({QUICK})()")
    for _ in range(3):
        page.goto(url)
        expect(page).to_have_url(re.compile("how-it-learned"))
        settled(page)
        expect(page.get_by_role("heading", level=1, name="How it learned")).to_be_visible(timeout=5000)


def test_code_that_comes_after_the_click_does_not_call_back_who_has_left(page: Page, url: str) -> None:
    held: list[Route] = []
    page.route("**/*.painted/*.js", lambda route: held.append(route))
    page.add_init_script(f"({REST})()")
    page.goto(url)
    expect(page.locator(".st-key-stage canvas").first).to_be_visible()
    becomes(lambda: len(held), 1)
    # The click is seen, but leads nowhere: what comes late would be told at once.
    stop = "(event) => (event.preventDefault(), event.stopImmediatePropagation())"
    page.evaluate(f"() => addEventListener('click', {stop}, true)")
    page.locator(".st-key-home_learn a").evaluate("link => link.click()")
    with page.expect_response("**/*.painted/*.js"):
        held[0].continue_()
    page.wait_for_timeout(500)
    assert page.evaluate("() => globalThis.toldAt ?? null") is None


UNLIKE = "?sentence=" + "+".join(["a dog sees a cat and"] * 4).replace(" ", "+")  # a notice says that it is long


@pytest.mark.parametrize("slug", ["positions-six-ways", "self-attention", "", UNLIKE])
def test_a_slow_browser_paints_the_picture_before_it_gets_the_rest(
    slug: str, new_page: Callable[..., Page], url: str
) -> None:
    page = new_page(viewport={"width": 1280, "height": 720})
    page.goto(f"{url}/{slug}")  # so that neither the server nor the browser does it for the first time
    settled(page)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 2})
    if slug == UNLIKE:
        page.route("**/*.stage/*.js", lambda route: (time.sleep(5), route.continue_())[1])
    for script in (WATCH, REST):
        page.add_init_script(f"({script})()")
    page.goto(f"{url}/{slug}")
    rest = ".st-key-part_check" if slug not in ("", UNLIKE) else ".st-key-map"
    expect(page.locator(rest)).to_be_attached(timeout=90_000)
    filled, told, came = page.evaluate("() => [firstPaint.filled, toldAt, restAt]")
    assert filled is not None
    assert filled < told < came
    settled(page)
    # It has waited once: on the next page all comes at once.
    page.get_by_role("link", name="Masking").first.click()
    expect(page.get_by_role("heading", name="Check")).to_be_visible(timeout=60_000)
    assert page.locator("[class*=st-key-said_painted]").count() == 0


def test_who_comes_from_a_page_without_a_picture_waits_for_nothing(page: Page, url: str) -> None:
    for _ in range(2):  # so that nothing is done for the first time
        page.goto(f"{url}/about")
        settled(page)
        page.get_by_test_id("stSidebar").get_by_role("link", name="Masking").first.click()
        expect(page.get_by_role("heading", name="Check")).to_be_visible(timeout=5000)
        settled(page)
