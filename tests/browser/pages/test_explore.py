"""The pages for BertViz and for other people's models in Chromium: drawn offline, accessible, deaf to every payload."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from tests.browser.conftest import ROOT, offline, served
from tests.browser.kit import axe_faults, becomes, box_of, has_run, lasting, rerun, settled, sideways, wear
from tests.hub.small_models import make
from tests.payloads import PAYLOADS

pytestmark = pytest.mark.browser

SENTENCE = "The black cat fights the white cat."
PAGES = ("bertviz", "any-model", "compare")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root: Path = tmp_path_factory.mktemp("models")
    for family in ("bert", "gpt2"):
        make(family, root / family)
    with served(ROOT / "app.py", env={"WALKTHROUGH_MODELS": str(root)}) as address:
        yield address


def frame(page: Page) -> FrameLocator:
    return page.frame_locator("iframe[title^=BertViz]")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bertviz_draws_the_sentence_without_the_internet(scheme: str, new_page: Callable[..., Page], url: str) -> None:
    page = new_page(color_scheme=scheme)
    page.goto(f"{url}/bertviz?sentence={SENTENCE}&attention=Encoder")
    expect(frame(page).locator("svg text", has_text="fight").first).to_be_visible()
    expect(frame(page).locator("svg line").nth(4 * 10 * 10 - 1)).to_be_attached()
    expect(frame(page).locator("body")).to_have_class(scheme)
    page.get_by_role("radio", name="Model view").click()
    expect(frame(page).locator("svg text", has_text="Heads")).to_be_visible()


def test_bertviz_has_one_choice_of_a_layer_and_uses_the_width(new_page: Callable[..., Page], url: str) -> None:
    page = new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{url}/bertviz?sentence={SENTENCE}&attention=Encoder&layer=2&head=3")
    layers = frame(page).locator("#layer")
    expect(layers).to_be_hidden()  # the page has one, and the two could disagree
    expect(layers.locator("option")).to_have_text(["2"])
    expect(frame(page).locator("text.number")).to_have_text(["1", "2", "3", "4"])
    expect(frame(page).locator("text.marked")).to_have_text("3")
    page.locator(".st-key-layer").get_by_role("radio", name="1").click()
    expect(layers.locator("option")).to_have_text(["1"])
    expect(frame(page).locator(".headAttention")).to_have_count(4)
    width = settled(page).locator("iframe[title^=BertViz]").evaluate("e => e.clientWidth")
    line = frame(page).locator("#attention line").first
    x1, x2 = (float(line.get_attribute(x) or 0) for x in ("x1", "x2"))
    assert x2 - x1 > width / 2
    assert x2 + x1 <= width  # the columns of text on both sides are equally wide
    shifts = frame(page).locator(".headAttention").evaluate_all("gs => gs.map(g => g.getCTM().f)")
    assert len(set(shifts)) == 4, "the lines of two heads would lie one over the other"


def fits(page: Page) -> bool:
    """Whether the drawing ends within its frame, and little above the frame's end."""
    drawn = frame(page).locator("svg").evaluate("e => e.getBoundingClientRect().bottom")
    height = page.locator("iframe[title^=BertViz]").evaluate("e => e.clientHeight")
    return bool(height - 60 <= drawn <= height)


def test_bertviz_counts_from_1_and_fits_its_frame(page: Page, url: str) -> None:
    page.goto(f"{url}/bertviz?sentence={SENTENCE}&attention=Encoder&layer=2")
    for view in ("Head view", "Model view"):
        page.get_by_role("radio", name=view).click()
        expect(
            frame(page).locator("svg text", has_text="Heads" if view == "Model view" else "fight").first
        ).to_be_visible()
        settled(page)
        becomes(lambda: fits(page), True)
    frame(page).locator("svg > g").last.locator("rect").last.click()
    expect(frame(page).locator("svg text", has_text="Layer 3, head 4")).to_be_visible()


def test_both_sides_of_a_comparison_begin_at_the_same_height(page: Page, url: str) -> None:
    page.goto(f"{url}/compare?sentence={SENTENCE}&right_model=gpt2")
    settled(page)
    for what in ("kind", "heads", "map"):
        sides = [page.locator(f".st-key-{side}_{what}") for side in ("left", "right")]
        for side in sides:
            expect(side).to_be_visible()
        left, right = (box_of(settled(page) and side) for side in sides)
        assert left["y"] == pytest.approx(right["y"], abs=1), what


def test_a_pair_is_chosen_by_click(page: Page, url: str) -> None:
    page.goto(f"{url}/bertviz?sentence={SENTENCE}&attention=Encoder&cell=1.1")
    settled(page)
    page.locator(".st-key-pair tbody tr").nth(2).locator("td").nth(1).click()
    expect(page.get_by_text(re.compile(r"Query of\s*cat"))).to_be_visible()
    expect(page).to_have_url(re.compile(r"cell=3\.2"))


@pytest.mark.parametrize("name", PAGES)
def test_nothing_serious_for_axe_and_no_sideways_scrolling(name: str, page: Page, url: str) -> None:
    page.goto(f"{url}/{name}?sentence={SENTENCE}")
    expect(page.locator("table tbody td, tbody td").first).to_be_visible()
    for scheme, width in (("light", 1280), ("dark", 390)):
        wear(page, scheme, width)  # type: ignore[arg-type]
        assert lasting(lambda: axe_faults(page, '[data-testid="stMain"]')) == [], scheme
        assert sideways(page) == [], scheme


def unharmed(page: Page) -> None:
    """Nothing ran, in the page or in a frame; nothing broke."""
    settled(page)
    expect(page.locator(".stException")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert has_run(page) == []
    assert "Traceback" not in page.locator("body").inner_text()


@pytest.fixture(scope="module")
def open_page(browser: Browser, url: str) -> Iterator[Page]:
    """One page for all that is typed, with BertViz drawn, on a model whose tokens are whatever is typed."""
    with offline(browser, color_scheme="light") as context:
        page = context.new_page()
        page.goto(f"{url}/any-model?sentence={SENTENCE}&model=gpt2&bertviz_too=true")
        expect(frame(page).locator("svg text").first).to_be_visible()
        yield page


# Of those that need no element of their own, each stands before one that begins with an element, and cannot hinder it.
TYPED = [*(" ".join(two) for two in zip(PAYLOADS[30:], PAYLOADS[:20], strict=True)), *PAYLOADS[20:30]]


@pytest.mark.parametrize("payload", TYPED, ids=range(len(TYPED)))
def test_no_payload_runs(payload: str, open_page: Page) -> None:
    box = open_page.get_by_label("English sentence")
    rerun(open_page, lambda: (box.fill(payload), box.press("Enter")))
    expect(open_page.get_by_text(re.compile(r"cuts it into \d+ pieces"))).to_be_visible()
    expect(frame(open_page).locator("svg text").first).to_be_visible()
    unharmed(open_page)


@pytest.mark.parametrize("payload", PAYLOADS[::7], ids=range(len(PAYLOADS[::7])))
def test_no_payload_in_the_address_runs(payload: str, page: Page, url: str) -> None:
    hostile = quote(payload)
    page.goto(
        f"{url}/any-model?sentence={hostile}&model={hostile}&cover={hostile}&map={hostile}&foreign_kind={hostile}"
    )
    expect(page.locator(".stAlert").first).to_be_visible()
    unharmed(page)
