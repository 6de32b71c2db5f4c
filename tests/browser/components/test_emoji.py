"""Small pictures stand beside their names and above their columns; shares are as dark, and as long, as they are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

COSINES = np.array([[0.9, 0.4], [0.3, 0.5]])  # as in emoji_demo.py
RED, BLUE = "AP8AAAA", "AAAA/wA"  # within the addresses of the two pictures

READ = """all => all.map((e) => ({
  x: Number(e.getAttribute("x")), y: Number(e.getAttribute("y")), wide: Number(e.getAttribute("width")),
  high: Number(e.getAttribute("height")), opacity: Number(e.style.opacity || 1), href: e.getAttribute("href"),
  text: e.textContent,
}))"""


@pytest.fixture
def demo(visit: Callable[..., Page], page: Page) -> Page:
    page.emulate_media(reduced_motion="reduce")
    return visit("emoji", ".scene image")


def read(svg: Locator, what: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = svg.locator(what).evaluate_all(READ)
    return found


def test_each_column_has_its_picture_and_each_cell_its_share(demo: Page) -> None:
    field = demo.locator(".scene svg").first
    faces = read(field, "image")
    assert [next(n for n, sign in enumerate((RED, BLUE)) if sign in one["href"]) for one in faces] == [0, 1]
    cells = np.exp(COSINES) / np.exp(COSINES).sum(1, keepdims=True)
    boxes, words = read(field, "rect.looked"), read(field, "text.over")
    for n, share in enumerate(cells.flat):
        column = n % 2
        assert boxes[n]["opacity"] == pytest.approx(0.85 * share, abs=0.006)
        assert words[n]["text"] == f"{share:.2f}"
        middle = boxes[n]["x"] + boxes[n]["wide"] / 2
        assert middle == pytest.approx(faces[column]["x"] + faces[column]["wide"] / 2, abs=0.2)
        assert words[n]["x"] == pytest.approx(middle, abs=0.2)
    marked = read(field, "rect.marked")
    assert [(one["x"], one["y"]) for one in marked] == [(boxes[n]["x"], boxes[n]["y"]) for n in (0, 3)]
    names = read(field, "text.word")
    assert [one["text"] for one in names] == ["<b>one</b>", "two"]
    assert all(boxes[2 * n]["y"] < name["y"] < boxes[2 * n]["y"] + boxes[2 * n]["high"] for n, name in enumerate(names))


def test_each_find_stands_beside_its_picture(demo: Page) -> None:
    finds = demo.locator(".scene svg").nth(1)
    large, *faces = read(finds, "image")
    assert RED in large["href"]
    assert large["wide"] > 2 * faces[0]["wide"]
    assert [BLUE in faces[0]["href"], RED in faces[1]["href"]] == [True, True]
    names, bars, rooms = (read(finds, what) for what in ("text.word", "rect.fill", "rect.room"))
    assert [one["text"] for one in names] == ["first", "second"]
    for n, share in enumerate((0.75, 0.25)):
        assert bars[n]["wide"] == pytest.approx(share * rooms[n]["wide"], abs=0.2)
        assert faces[n]["y"] < names[n]["y"] < bars[n]["y"] < faces[n]["y"] + faces[n]["high"]
        assert large["x"] + large["wide"] < faces[n]["x"] < names[n]["x"]
