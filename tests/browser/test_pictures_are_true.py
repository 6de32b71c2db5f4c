"""What the components draw, count and save is what they were given: read back from pixels, files and names."""

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import ROOT
from tests.browser.kit import settled

pytestmark = pytest.mark.browser

COMPONENTS, MAP = (Path(__file__).with_name(f"{name}_demo.py") for name in ("components", "architecture"))
SVG = "{http://www.w3.org/2000/svg}"
# The colours in the middle of the cells of a picture that is cut into `height` rows and `width` columns.
MIDDLES = """async (node, [height, width]) => {
  const picture = node.tagName === "CANVAS" ? node : new Image();
  if (picture !== node) {
    picture.src = node.getAttribute("href");
    await picture.decode();
  }
  const sheet = document.createElement("canvas");
  [sheet.width, sheet.height] = [picture.width, picture.height];
  const pen = sheet.getContext("2d");
  pen.drawImage(picture, 0, 0);
  return Array.from({ length: height * width }, (_, i) => {
    const x = (((i % width) + 0.5) * sheet.width) / width, y = ((Math.floor(i / width) + 0.5) * sheet.height) / height;
    return [...pen.getImageData(x, y, 1, 1).data.slice(0, 3)];
  });
}"""


@pytest.fixture
def demo(serve: Callable[..., str], page: Page) -> Callable[[str], Page]:
    """demo(query) → the page with a matrix, drawn."""

    def go(query: str) -> Page:
        page.goto(f"{serve(COMPONENTS)}/?{query}")
        page.locator(".matrix tbody td").first.wait_for()
        return settled(page)

    return go


@pytest.fixture
def inference(serve: Callable[..., str], page: Page) -> Callable[[str], Page]:
    """inference(query) → the lesson, drawn."""

    def go(query: str) -> Page:
        page.goto(f"{serve(ROOT / 'app.py')}/inference?sentence=I put my money in the bank.&{query}")
        expect(page.locator(".st-key-way_on")).to_be_visible(timeout=30_000)
        return settled(page)

    return go


def saved(page: Page, kind: str) -> str:
    with page.expect_download() as download:
        page.get_by_role("button", name=kind, exact=True).click()
    return Path(download.value.path()).read_text(encoding="utf-8-sig")


def colours(picture: Locator, height: int, width: int) -> np.ndarray:
    return np.array(picture.evaluate(MIDDLES, [height, width]))


def background(locator: Locator) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", locator.evaluate("e => getComputedStyle(e).backgroundColor"))[:3]]


def test_the_csv_leaves_out_what_is_masked_and_nothing_else(demo: Callable[[str], Page]) -> None:
    _, *lines = csv.reader(saved(demo("t=5&s=7&masked=1"), "CSV").splitlines())
    assert [[number != "" for number in line[1:]] for line in lines] == np.tri(5, 7, dtype=bool).tolist()


def test_the_saved_picture_marks_the_chosen_cell(demo: Callable[[str], Page]) -> None:
    rects = [node.attrib for node in ElementTree.fromstring(saved(demo("cell=1,4"), "SVG")).iter(f"{SVG}rect")]
    (ring,) = (rect for rect in rects if "stroke" in rect)
    marked = rects[1 + 1 * 6 + 4]  # the first is the ground
    for side in ("x", "y", "width", "height"):
        assert float(ring[side]) == pytest.approx(float(marked[side]), abs=3), side


def test_every_small_map_is_that_of_its_head_with_rows_downwards(demo: Callable[[str], Page]) -> None:
    t, s = 6, 9
    random = np.random.default_rng(0)
    random.normal(size=(t, s))  # what the matrix shows
    weights = np.exp(random.normal(size=(3, 4, t, s)) * 3)
    weights /= weights.sum(-1, keepdims=True)
    weights = np.concatenate([weights, weights.mean(1, keepdims=True)], axis=1).reshape(-1, t * s)
    canvases = demo(f"heads=1&t={t}&s={s}").locator(".heads canvas").all()
    for canvas, one in zip(canvases, weights, strict=True):
        greys = colours(canvas, t, s) @ [0.2126, 0.7152, 0.0722]
        in_order = greys[np.argsort(one)]
        assert (np.diff(in_order) <= 3).all()  # the larger, the darker
        assert in_order[-1] < in_order[0] - 20


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_positive_is_orange_and_negative_is_blue(demo: Callable[[str], Page], page: Page, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    cells = demo("scale=signed").locator(".matrix tbody td").all()
    values = (np.random.default_rng(0).normal(size=(6, 6)) * 3).ravel()
    for cell, value in zip(cells, values, strict=True):
        red, _, blue = background(cell)
        if abs(value) > 2:
            assert (red > blue) == (value > 0), value


@pytest.mark.parametrize("width", [1280, 480])
def test_the_maps_legend_names_the_ends_of_its_colours(serve: Callable[..., str], page: Page, width: int) -> None:
    """Beside the drawing where there is room, else above it."""
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(serve(MAP))
    page.locator(".map svg .block").last.wait_for(timeout=60_000)
    settled(page)
    bars = page.locator(".map .marks image").all()
    assert len(bars) == 2
    ends = []
    for bar in bars:
        x, y, across, _ = (float(bar.get_attribute(side) or 0) for side in ("x", "y", "width", "height"))
        texts = [
            (float(text.get_attribute("x") or 0), text.text_content())
            for text in page.locator(".map .marks text").all()
            if abs(float(text.get_attribute("y") or 0) - y - 8) < 2
        ]
        ends.append(
            (max(text for text in texts if text[0] < x)[1], min(text for text in texts if text[0] > x + across)[1])
        )
    assert ends == [("0", "1"), ("−", "+")]
    weight, value = (colours(bar, 1, 64) for bar in bars)
    assert weight[0].sum() > weight[-1].sum() + 100  # the larger, the darker
    (low_red, _, low_blue), (high_red, _, high_blue) = value[0], value[-1]
    assert low_blue > low_red
    assert high_red > high_blue


def test_the_tree_says_what_became_of_each_beginning(inference: Callable[[str], Page]) -> None:
    """Struck out: dropped. Thick frame: ended."""
    page = inference("method=Beam search")
    nodes = page.locator(".st-key-beam_tree .node").evaluate_all(
        """nodes => nodes.map((node) => [
            node.title.split(": ").at(-1).split(",")[0],
            [...node.children].some((part) => getComputedStyle(part).textDecorationLine === "line-through"),
            parseFloat(getComputedStyle(node).borderTopWidth),
        ])"""
    )
    assert {said for said, *_ in nodes} == {"kept", "ended here", "dropped"}
    thin = min(frame for *_, frame in nodes)
    for said, struck, frame in nodes:
        assert struck == (said == "dropped")
        assert (frame > thin) == (said == "ended here")


def test_a_piece_of_the_theatre_leads_to_the_step_that_wrote_it(inference: Callable[[str], Page]) -> None:
    theatre = inference("at=5").locator(".st-key-theatre")
    pieces = theatre.locator(".strip").last.locator("button")
    for n in (4, 2, 1):  # pieces further on cannot be seen yet
        pieces.nth(n).click()
        expect(theatre.locator(".count")).to_have_text(re.compile(rf"^Step {n} of "))
        expect(pieces.nth(n)).to_have_attribute("aria-current", "step")


def test_the_newest_pairs_of_the_cache_stand_out(inference: Callable[[str], Page]) -> None:
    theatre = inference("").locator(".st-key-theatre")
    read, source = (theatre.locator(".cache .pairs").nth(n) for n in (0, 1))
    fresh = "rows => rows.map((pair) => pair.classList.contains('fresh'))"
    expect(read.locator(".pair")).to_have_count(1)
    n_source = theatre.locator(".strip").first.locator("li").count()
    assert read.locator(".pair").evaluate_all(fresh) == [True]
    assert source.locator(".pair").evaluate_all(fresh) == [True] * n_source
    for _ in range(2):
        theatre.get_by_role("button", name="Step forward").click()
    expect(theatre.locator(".count")).to_have_text(re.compile("^Step 3 of "))
    assert read.locator(".pair").evaluate_all(fresh) == [False, False, True]
    assert source.locator(".pair").evaluate_all(fresh) == [False] * n_source
