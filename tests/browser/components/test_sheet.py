"""Pictures in patches are drawn as their numbers say; what one draws or photographs is painted and sent as it lies."""

import io
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.browser.kit import becomes, box_of, rerun, rgb, settled, styled

pytestmark = pytest.mark.browser

SIDE, PATCH, ACROSS, N = 6, 2, 3, 9  # as in sheet_demo.py
INK = np.arange(SIDE * SIDE).reshape(SIDE, SIDE) * 11 % 36 / 35
WEIGHTS = np.array([(n * 4 % 9 + 1) / 10 for n in range(N)])  # as shares of the limit
COLUMNS = np.array([[(9 * k + n - 22) / 8 for k in range(5)] for n in range(N)])
LIMIT = 2.0
GONE = [n in (3, 8) for n in range(1, 1 + N)]
CORNERS = [divmod(n, ACROSS) for n in range(N)]

BOXES = """all => all.map((e) => ({
  x: Number(e.getAttribute("x")), y: Number(e.getAttribute("y")), size: Number(e.getAttribute("width")),
  high: Number(e.getAttribute("height")), opacity: Number(e.style.opacity || 1), fill: getComputedStyle(e).fill,
  dashed: getComputedStyle(e).strokeDasharray !== "none",
}))"""


@pytest.fixture
def demo(visit: Callable[..., Page], page: Page) -> Page:
    page.emulate_media(reduced_motion="reduce")
    return visit("sheet", ".scene .patch")


@pytest.fixture
def sheet(demo: Page) -> Locator:
    return demo.locator(".scene svg").first


@pytest.fixture
def fan(demo: Page) -> Locator:
    return demo.locator(".scene svg").nth(1)


def hide(page: Page) -> None:
    """Go on to the stop at which two patches are hidden."""
    page.locator(".scene fieldset input").nth(1).check(force=True)
    settled(page)


def boxes(svg: Locator, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = svg.locator(f"rect.{kind}").evaluate_all(BOXES)
    return found


def picture(inked: list[dict[str, Any]], paper: dict[str, Any], side: int) -> np.ndarray:
    """What squares of ink on a paper show, as side × side pixels; each fills one of them."""
    cell, found = paper["size"] / side, np.zeros((side, side))
    for one in inked:
        row, column = ((one[way] - paper[way]) / cell for way in ("y", "x"))
        assert (row, column) == pytest.approx((round(row), round(column)), abs=0.1)
        assert (one["size"], one["high"]) == pytest.approx((cell + 0.2,) * 2, abs=0.11)  # no gap lies between two
        found[round(row), round(column)] += one["opacity"]
    return found


def test_nothing_is_shown_between_two_pictures(page: Page, visit: Callable[..., Page]) -> None:
    sheet = visit("sheet", ".scene .patch").locator(".scene svg").first
    before = picture(boxes(sheet, "ink"), boxes(sheet, "paper")[0], SIDE)
    sheet.evaluate(
        """svg => {
          const seen = (window.seen = new Set());
          const look = () => requestAnimationFrame(look, seen.add(svg.innerHTML));
          look();
        }"""
    )
    page.get_by_role("button", name="third").click()
    becomes(lambda: len(page.evaluate("[...seen]")), 2)
    page.wait_for_timeout(600)  # longer than from one frame to the next
    assert len(page.evaluate("[...seen]")) == 2
    after = picture(boxes(sheet, "ink"), boxes(sheet, "paper")[0], SIDE)
    assert np.array_equal(after, before[::-1])


def test_ink_lies_at_its_pixel_and_is_as_dark_as_it_is(sheet: Locator) -> None:
    (paper,) = boxes(sheet, "paper")
    assert np.allclose(picture(boxes(sheet, "ink"), paper, SIDE), INK, atol=0.051)


def test_each_patch_is_as_blue_as_it_is_looked_at_and_bears_its_number(sheet: Locator) -> None:
    (paper,) = boxes(sheet, "paper")
    patch = paper["size"] / ACROSS
    looked, frames = boxes(sheet, "looked"), boxes(sheet, "patch")
    for n, (row, column) in enumerate(CORNERS):
        for one in (looked[n], frames[n]):
            at = [(one[way] - paper[way]) / patch for way in ("y", "x")]
            assert at == pytest.approx([row, column], abs=0.01)
            assert [one["size"], one["high"]] == pytest.approx([patch] * 2, abs=0.1)
    assert [one["opacity"] for one in looked] == pytest.approx(0.85 * WEIGHTS, abs=0.0051)
    red, _, blue = rgb(looked[0]["fill"])
    assert blue > red
    numbers = sheet.locator("text.tick").all()
    assert [one.text_content() for one in numbers] == [str(n) for n in range(1, 1 + N)]
    for number, frame in zip(numbers, frames, strict=True):
        for way in ("x", "y"):
            assert 0 < float(number.get_attribute(way) or 0) - frame[way] < patch / 2


def test_a_hidden_patch_is_covered_and_dashed_and_no_line_leads_to_it(demo: Page, sheet: Locator, fan: Locator) -> None:
    for svg in (sheet, fan):
        assert not any(one["dashed"] for one in boxes(svg, "patch"))
    hide(demo)
    for svg in (sheet, fan):
        frames = boxes(svg, "patch")
        assert [one["dashed"] for one in frames] == GONE
        assert [one["fill"] != "none" for one in frames] == GONE
        # What is covered stands before its cover in the file.
        kinds = svg.locator("rect.ink, rect.patch").evaluate_all("all => all.map((e) => e.getAttribute('class'))")
        assert kinds.index("patch gone") > kinds.index("ink")
        assert kinds[-1].startswith("patch")
    lines = [float(line.get_attribute("opacity") or 1) for line in fan.locator("path.line").all()]
    assert [opacity == 0 for opacity in lines] == GONE
    pale = np.array([one["opacity"] for one in boxes(fan, "cell")]).reshape(N, -1) < 0.5
    assert (pale == np.array(GONE)[:, None]).all()
    struck = [styled(one, "text-decoration-line") == "line-through" for one in fan.locator("text.tick").all()]
    assert struck == GONE


def test_a_wide_picture_is_cut_by_fine_lines_and_windows_or_not_at_all(visit: Callable[..., Page], page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    whole = visit("sheet", ".scene .window", "wide=1").locator(".scene svg")
    for svg in whole.all():
        (paper,) = boxes(svg, "paper")
        assert paper["high"] / paper["size"] == pytest.approx(3 / 8, abs=0.01)
        shown = picture(boxes(svg, "ink"), paper, 16)
        assert np.allclose(shown[:6], np.tile(INK[0], (6, 3))[:, :16], atol=0.051)
        assert not shown[6:].any()
        assert box_of(svg)["height"] == pytest.approx(26 + paper["high"], abs=2)
    cut, uncut = whole.all()
    assert uncut.locator(".patch, .window, .tick").count() == cut.locator(".tick").count() == 0
    (paper,) = boxes(cut, "paper")
    lines = re.findall(r"M([\d.]+) ([\d.]+)([hv])([\d.]+)", cut.locator("path.patch").get_attribute("d") or "")
    across = [float(y) - paper["y"] for _, y, way, long in lines if way == "h" and float(long) == paper["size"]]
    upwards = [float(x) - paper["x"] for x, _, way, long in lines if way == "v" and float(long) == paper["high"]]
    assert across == pytest.approx([paper["high"] * n / 3 for n in range(4)], abs=0.1)
    assert upwards == pytest.approx([paper["size"] * n / 8 for n in range(9)], abs=0.1)
    for n, window in zip((0, 2), cut.locator(".window").all(), strict=True):
        found = re.findall(r"M([\d.]+) ([\d.]+)([hv])([\d.]+)", window.get_attribute("d") or "")
        at = {way: (float(x) - paper["x"], float(y) - paper["y"], float(long)) for x, y, way, long in found}
        assert at["h"] == pytest.approx((0, paper["high"] * n / 3, paper["size"]), abs=0.1)
        assert at["v"] == pytest.approx((paper["size"] * n / 8, 0, paper["high"]), abs=0.1)
    assert not boxes(uncut, "outlined")
    (marked,) = boxes(cut, "outlined")  # the twelfth: the fourth of the second row
    found = [marked["x"] - paper["x"], marked["y"] - paper["y"], marked["size"]]
    assert found == pytest.approx([3 * paper["size"] / 8, paper["high"] / 3, paper["size"] / 8], abs=0.1)
    assert cut.locator(".outlined").evaluate("e => parseFloat(getComputedStyle(e).strokeWidth)") == 3


def test_the_patches_stand_in_a_row_each_with_its_pixels_and_its_number(fan: Locator) -> None:
    papers, ink = boxes(fan, "paper"), boxes(fan, "ink")
    assert len(papers) == N
    assert [one["x"] for one in papers] == sorted(one["x"] for one in papers)
    numbers = [(float(one.get_attribute("x") or 0), one.text_content()) for one in fan.locator("text.tick").all()]
    for n, (paper, frame, (row, column)) in enumerate(zip(papers, boxes(fan, "patch"), CORNERS, strict=True)):
        assert all(paper[way] == frame[way] for way in ("x", "y", "size", "high"))
        own = [one for one in ink if paper["x"] - 0.2 <= one["x"] < paper["x"] + paper["size"] - 0.2]
        pixels = INK[PATCH * row : PATCH * (row + 1), PATCH * column : PATCH * (column + 1)]
        assert np.allclose(picture(own, paper, PATCH), pixels, atol=0.051)
        at, number = numbers[n]
        assert at == pytest.approx(paper["x"] + paper["size"] / 2, abs=0.1)
        assert number == str(n + 1)


def test_a_line_leads_to_each_patch_as_thick_as_it_is_looked_at(fan: Locator) -> None:
    card, lines = boxes(fan, "card")[0], fan.locator("path.line").all()
    for paper, line, weight in zip(boxes(fan, "paper"), lines, WEIGHTS, strict=True):
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", line.get_attribute("d") or "")]
        assert numbers[0] == pytest.approx(card["x"] + card["size"] / 2, abs=0.2)
        assert numbers[1] == pytest.approx(card["y"] + card["high"], abs=0.2)
        assert numbers[-2] == pytest.approx(paper["x"] + paper["size"] / 2, abs=0.2)
        assert numbers[1] < numbers[-1] < paper["y"]
        assert float(line.get_attribute("stroke-width") or 0) == pytest.approx(0.6 + 10.4 * weight, abs=0.06)


def test_the_numbers_of_a_column_stand_in_rows_of_three_above_their_patch_and_are_more_orange_the_larger(
    fan: Locator,
) -> None:
    middles = np.array([one["x"] + one["size"] / 2 for one in boxes(fan, "paper")])
    cells, below = boxes(fan, "cell"), min(one["y"] for one in boxes(fan, "paper"))
    top = min(cell["y"] for cell in cells)
    drawn: dict[tuple[int, int], list[int]] = {}
    for cell in cells:
        assert cell["y"] + cell["high"] <= below
        away = (cell["x"] + cell["size"] / 2 - middles) / cell["size"]
        of = int(np.abs(away).argmin())
        row, column = round((cell["y"] - top) / cell["high"]), round(float(away[of])) + 1
        drawn[of, 3 * row + column] = rgb(cell["fill"])
    assert drawn.keys() == {(n, k) for n in range(N) for k in range(5)}
    in_order = sorted(drawn, key=lambda at: COLUMNS[at])
    warmth = [drawn[at][0] - drawn[at][2] for at in in_order]
    assert (np.diff(warmth) >= 0).all()
    assert warmth[0] < 0 < warmth[-1]
    for sign in (-1, 1):  # all behind the limit have its colour, what lies before it has another
        behind = {tuple(drawn[at]) for at in drawn if sign * COLUMNS[at] >= LIMIT}
        before = {tuple(drawn[at]) for at in drawn if 0 < sign * COLUMNS[at] < 0.9 * LIMIT}
        assert len(behind) == 1
        assert len(before) > 5
        assert not behind & before


# The sheet to draw on. Alphas of the pixels of its canvas, from 0 to 1.
ALPHAS = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return Array.from({ length: data.length / 4 }, (_, n) => data[4 * n + 3] / 255);
}"""


def alphas(page: Page) -> np.ndarray:
    found = np.array(page.locator(".drawing canvas").evaluate(ALPHAS))
    side = round(len(found) ** 0.5)
    return found.reshape(side, side)


def told(page: Page) -> Any:
    text = page.get_by_test_id("stCode").inner_text()
    return text if text == "nothing" else json.loads(text)


def draw(page: Page, *points: Sequence[float]) -> None:
    box = box_of(page.locator(".drawing canvas"))
    for n, (x, y) in enumerate(points):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=5)
        if not n:
            page.mouse.down()
    page.mouse.up()


def test_what_is_shown_is_painted_pixel_by_pixel(demo: Page) -> None:
    found = alphas(demo)
    at = ((np.arange(SIDE) + 0.5) * len(found) / SIDE).astype(int)
    assert np.allclose(found[np.ix_(at, at)], INK, atol=0.02)


def test_the_sheet_says_what_it_is_and_which_sample_it_shows(demo: Page) -> None:
    expect(demo.locator(".drawing .title")).to_have_text("A title")
    expect(demo.locator(".drawing .note")).to_have_text("A note")
    expect(demo.get_by_role("img", name="A title")).to_be_visible()
    expect(demo.locator(".drawing .choices button")).to_have_text(["first", "second", "third"])
    expect(demo.locator(".drawing [aria-pressed=true]")).to_have_text("second")


def test_a_stroke_is_painted_where_it_is_drawn_as_wide_as_the_pen_and_sent_as_it_lies(demo: Page) -> None:
    rerun(demo, lambda: draw(demo, (0.2, 0.3), (0.8, 0.3)))
    (stroke,) = told(demo)["strokes"]
    assert np.array(stroke[0] + stroke[-1]) / 1000 == pytest.approx([0.2, 0.3, 0.8, 0.3], abs=0.015)
    found = alphas(demo)
    side = len(found)
    assert found[:, side // 2].sum() / side == pytest.approx(0.075, abs=0.01)
    rows, columns = np.nonzero(found > 0.5)
    assert rows.mean() / side == pytest.approx(0.3, abs=0.015)
    assert (columns.min() / side, columns.max() / side) == pytest.approx((0.2 - 0.0375, 0.8 + 0.0375), abs=0.02)
    # Another is not joined to it, and a touch is a dot.
    rerun(demo, lambda: draw(demo, (0.5, 0.8)))
    assert len(told(demo)["strokes"]) == 2
    dot = alphas(demo)[side // 2 :]
    assert dot.sum() / side**2 == pytest.approx(np.pi * 0.0375**2, abs=0.001)
    assert np.argwhere(dot > 0.5).mean(0) / side == pytest.approx([0.3, 0.5], abs=0.015)
    rerun(demo, lambda: demo.get_by_role("button", name="Clear", exact=True).click())
    assert told(demo) == {"strokes": []}
    rerun(demo, lambda: draw(demo, (0.5, 0.5)))
    assert len(told(demo)["strokes"]) == 1


def test_a_sample_takes_the_place_of_what_was_drawn(demo: Page) -> None:
    sample = alphas(demo)
    rerun(demo, lambda: draw(demo, (0.2, 0.3), (0.8, 0.3)))
    rerun(demo, lambda: demo.get_by_role("button", name="third").click())
    assert told(demo) == {"n": 2}
    becomes(lambda: np.array_equal(alphas(demo), sample), True)


# Moves of a pointer to and fro, all of them in one event, as a browser tells of them that is busy.
TO_AND_FRO = """(canvas, n) => {
  const box = canvas.getBoundingClientRect();
  const at = (k) => ({ clientX: box.left + (k % 2 ? 0.3 : 0.7) * box.width, clientY: box.top + 0.5 * box.height });
  const coalescedEvents = Array.from({ length: n }, (_, k) => new PointerEvent("pointermove", at(k)));
  canvas.dispatchEvent(new PointerEvent("pointermove", { ...at(0), pointerId: 1, coalescedEvents })); // the mouse's
}"""


def test_however_much_one_draws_the_page_hears_it(demo: Page) -> None:
    """The page reads no more than so many strokes and points; what went on would not be read at all."""
    box = box_of(demo.locator(".drawing canvas"))
    for n in range(103):
        demo.mouse.click(box["x"] + 10 + n, box["y"] + 20)
    becomes(lambda: len(told(demo)["strokes"]) if told(demo) != "nothing" else 0, 100)
    expect(demo.locator(".drawing .fault")).to_have_text("The sheet is full: press Clear.")
    rerun(demo, lambda: demo.get_by_role("button", name="Clear", exact=True).click())
    expect(demo.locator(".drawing .fault")).to_be_empty()

    def long() -> None:
        demo.mouse.move(box["x"] + 10, box["y"] + 10)
        demo.mouse.down()
        demo.locator(".drawing canvas").evaluate(TO_AND_FRO, 4500)
        demo.mouse.up()

    rerun(demo, long)
    (stroke,) = told(demo)["strokes"]
    assert 3800 < len(stroke) <= 4000


def test_a_second_finger_neither_draws_nor_ends_the_stroke(demo: Page) -> None:
    box, fingers = box_of(demo.locator(".drawing canvas")), demo.context.new_cdp_session(demo)

    def touch(kind: str, *points: tuple[int, float, float]) -> None:
        at = [{"id": n, "x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"]} for n, x, y in points]
        fingers.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": at})

    touch("Start", (1, 0.2, 0.3))
    touch("Move", (1, 0.4, 0.3))
    touch("Start", (1, 0.4, 0.3), (2, 0.5, 0.8))
    touch("Move", (1, 0.6, 0.3), (2, 0.7, 0.8))
    touch("End", (2, 0.7, 0.8))
    touch("Move", (1, 0.8, 0.3))
    rerun(demo, lambda: touch("End"))
    (stroke,) = told(demo)["strokes"]
    assert [stroke[0][0], stroke[-1][0]] == pytest.approx([200, 800], abs=15)
    assert [y for _, y in stroke] == pytest.approx([300] * len(stroke), abs=15)


def coloured(size: tuple[int, int], left: int, top: int) -> bytes:
    """Squares of 100 pixels to a side: red and green, below them blue and clear; black around them."""
    made = Image.new("RGBA", size, (0, 0, 0, 255))
    for n, colour in enumerate([(255, 0, 0, 255), (0, 255, 0, 255), (0, 0, 255, 255), (0, 0, 0, 0)]):
        x, y = left + 100 * (n % 2), top + 100 * (n // 2)
        made.paste(colour, (x, y, x + 100, y + 100))
    held = io.BytesIO()
    made.save(held, "PNG")
    return held.getvalue()


@pytest.mark.parametrize("photo", [coloured((400, 200), 100, 0), coloured((200, 400), 0, 100)], ids=["wide", "tall"])
def test_of_a_photo_the_middle_square_is_sent_in_grey_the_way_it_lies(demo: Page, photo: bytes) -> None:
    red, green, blue, paper = 76, 150, 29, 255  # 0.299, 0.587, 0.114 of 255; what is clear is paper
    rerun(demo, lambda: draw(demo, (0.2, 0.3), (0.8, 0.3)))
    file = {"name": "x.png", "mimeType": "image/png", "buffer": photo}
    rerun(demo, lambda: demo.locator(".drawing input[type=file]").set_input_files(file))  # type: ignore[arg-type]
    grey = np.array(told(demo)["grey"])  # every 20th of 112, from the 7th on: three of each half
    expected = np.kron([[red, green], [blue, paper]], np.ones((3, 3)))
    assert grey == pytest.approx(expected, abs=1)
    assert alphas(demo).min() == 1  # it lies on the sheet, in place of what was drawn
    # Who draws on it begins with an empty sheet.
    rerun(demo, lambda: draw(demo, (0.5, 0.8)))
    assert len(told(demo)["strokes"]) == 1
    assert alphas(demo).mean() < 0.1
