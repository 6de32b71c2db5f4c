"""What the tests of components share: demo pages, drawn, and the colours of a picture."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import ROOT
from tests.browser.kit import settled

SENTENCE = "I put my money in the bank."
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


def colours(picture: Locator, height: int, width: int) -> np.ndarray:
    return np.array(picture.evaluate(MIDDLES, [height, width]))


def darkens_with(picture: Locator, weights: np.ndarray, least: float) -> None:
    """The larger a weight (T,S), the darker its cell; between the largest and the smallest lie so many shades."""
    greys = colours(picture, *weights.shape) @ [0.2126, 0.7152, 0.0722]
    in_order = greys[np.argsort(weights.ravel())]
    assert (np.diff(in_order) <= 3).all()
    assert in_order[-1] < in_order[0] - least


@pytest.fixture
def visit(serve: Callable[..., str], page: Page) -> Callable[..., Page]:
    """visit("pieces", ".card", query) → the page of pieces_demo.py, once the first of these is drawn."""

    def go(name: str, drawn: str, query: str = "", on: Page | None = None) -> Page:
        page_ = on or page
        page_.goto(f"{serve(Path(__file__).with_name(f'{name}_demo.py'))}/?{query}")
        page_.locator(drawn).first.wait_for()
        return settled(page_)

    return go


@pytest.fixture
def lesson(serve: Callable[..., str], page: Page) -> Callable[..., Page]:
    """lesson(slug, query) → the lesson, drawn."""

    def go(slug: str, query: str = "") -> Page:
        page.goto(f"{serve(ROOT / 'app.py')}/{slug}?sentence={SENTENCE}&{query}")
        expect(page.locator(".st-key-way_on")).to_be_visible()
        return settled(page)

    return go
