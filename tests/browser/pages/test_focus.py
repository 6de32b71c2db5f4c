"""Where the keyboard is can be seen."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.kit import settled

pytestmark = pytest.mark.browser

# What has the focus, inside components too: its tag and its text, and whether it, or its label, is outlined.
FOCUSED = """() => {
    let node = document.activeElement;
    while (node.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
    const outlined = (e) => {
        const style = e && getComputedStyle(e);
        return Boolean(style && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2);
    };
    const halo = node.querySelector?.(".halo");
    return {
        tag: node.tagName.toLowerCase(),
        name: node.getAttribute("aria-label") ?? node.textContent.trim().slice(0, 40),
        type: node.getAttribute("type") ?? "",
        seen: outlined(node) || outlined(node.closest("label")) || (halo && getComputedStyle(halo).stroke !== "none"),
    };
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_stop_of_the_tab_key_is_seen(new_page: Callable[..., Page], url: str, scheme: str) -> None:
    page = new_page(color_scheme=scheme)
    page.goto(f"{url}/scaled-dot-product")
    page.locator(".stage[data-id]").wait_for()
    settled(page)
    stops = []
    for _ in range(70):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop["tag"] == "body":  # past the last stop of the page
            break
        stops.append(stop)
    assert len(stops) > 40
    assert not [stop for stop in stops if stop["tag"] == "svg"], "a drawing without a name is no stop"
    # A box for text or a number shows its focus by its border.
    assert [s for s in stops if not s["seen"] and s["type"] not in ("text", "number")] == []
