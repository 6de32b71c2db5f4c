"""A lesson's first screen in a real Chromium: what is drawn has the sizes, colours and places of its numbers."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import offline
from tests.browser.kit import axe_faults, becomes, box_of, boxes_of, has_run, lasting, rgb, settled, styled

pytestmark = pytest.mark.browser

DEMO = Path(__file__).with_name("scene_demo.py")


@pytest.fixture
def demo(serve: Callable[..., str], new_page: Callable[..., Page]) -> Callable[..., Page]:
    """demo(query) → the page of scene_demo.py, drawn; it does not move, but stands where it would come to rest."""

    def go(query: str = "", **options: Any) -> Page:
        page = new_page(**({"reduced_motion": "reduce"} | options))
        page.goto(f"{serve(DEMO)}/?{query}")
        expect(page.locator(".scene svg text").first).to_be_visible()
        return settled(page)

    return go


@pytest.fixture(scope="module")
def opened_once(serve: Callable[..., str], browser: Browser) -> Iterator[Page]:
    with offline(browser, reduced_motion="reduce") as context:
        page = context.new_page()
        page.goto(serve(DEMO))
        expect(page.locator(".scene svg text").first).to_be_visible()
        yield page


@pytest.fixture
def still(opened_once: Page) -> Page:
    """The demo page at its first stop, whoever has had it before."""
    choose(settled(opened_once), 0)
    return settled(opened_once)


def warmths(cells: Locator) -> list[int]:
    """By how much each is more red than blue: orange is above 0, blue below."""
    shares = (rgb(fill) for fill in cells.evaluate_all("all => all.map((e) => getComputedStyle(e).fill)"))
    return [red - blue for red, _, blue in shares]


def number(node: Locator, name: str) -> float:
    return float(node.get_attribute(name) or "nan")


def choose(page: Page, at: int) -> None:
    page.locator(".scene fieldset input").nth(at).check(force=True)


def test_cards_say_what_they_are_and_lines_are_as_thick_as_their_weights(still: Page) -> None:
    cards = still.locator(".scene svg").first
    assert [re.sub(r"^card ", "", c.get_attribute("class") or "") for c in cards.locator("rect.card").all()] == [
        "query ", "query asked", "query unseen", "output written", "output strong",
    ]  # fmt: skip
    words = cards.locator("text.word").all_text_contents()
    assert words == ["The", "girl", ".", "Das", "Mädchen"]
    assert cards.locator("text.note").all_text_contents() == ["here"]
    assert cards.locator("text.name").all_text_contents() == ["Reads", "Writes"]

    def widths() -> list[float]:
        return [number(line, "stroke-width") for line in cards.locator("path.line").all()]

    thin, wide = widths()
    assert thin == pytest.approx(0.6 + 10.4 * 0.25, abs=0.06)
    assert wide == pytest.approx(0.6 + 10.4 * 0.875, abs=0.06)
    seen = [number(line, "opacity") for line in cards.locator("path.line").all()]
    assert seen == pytest.approx([0.25 + 0.75 * weight for weight in (0.25, 0.875)], abs=0.051)
    choose(still, 2)
    becomes(lambda: [round(w, 1) for w in widths()], [11.0, round(0.6 + 10.4 * 0.5, 1)])
    # It leads from one card to the other.
    x0, y0, x1, y1 = line_ends(cards.locator("path.line").nth(1))
    boxes = boxes_of(cards.locator("rect.card"))
    home = box_of(cards)
    for x, y, box, end in ((x0, y0, boxes[1], "lower"), (x1, y1, boxes[4], "upper")):
        assert x + home["x"] == pytest.approx(box["x"] + box["width"] / 2, abs=1)
        assert box["y"] - 2 <= y + home["y"] <= box["y"] + box["height"] + 40, end
    # 0.25, then 1, of the room below the card that has a bar.
    assert number(cards.locator("rect.fill"), "width") == number(cards.locator("rect.room"), "width")
    low, zero, high, half = warmths(cards.locator("rect.cell"))  # −1, 0, 1 and 0.5
    assert low < 0
    assert low < zero < half < high
    # Two rows of cells stand on the card, in the outline of five.
    outline, cells = box_of(cards.locator("rect.before")), boxes_of(cards.locator("rect.cell"))
    assert outline["height"] == pytest.approx(2.5 * sum(cells[n]["height"] for n in (0, 3)), abs=3)
    assert cells[3]["y"] + cells[3]["height"] == pytest.approx(boxes[2]["y"] - 4, abs=1)


def test_what_the_colours_of_numbers_mean_stands_above_them(still: Page) -> None:
    legend = still.locator(".scene .legend")
    expect(legend).to_have_text("below 0above 0, pale near 0")
    low, high = (sign.evaluate("e => getComputedStyle(e).backgroundColor") for sign in legend.locator("i").all())
    blue, orange = ([int(n) for n in re.findall(r"\d+", colour)] for colour in (low, high))
    assert blue[2] > blue[0]
    assert orange[0] > orange[2]


def test_a_number_is_narrowed_where_another_text_is_cut(demo: Callable[..., Page]) -> None:
    numbers = [(word, word) for word in ("−0.123456789012345678", ">0.999999999999999999")]
    for word, shown in (*numbers, ("very" * 6, "very")):
        page = demo(f"word={word}", viewport={"width": 390, "height": 844})
        text = page.locator(".scene svg").first.locator("text.word").nth(1)
        expect(text).to_contain_text(shown)
        assert (text.text_content() == word) == (word == shown)
        assert box_of(text)["width"] <= box_of(page.locator(".scene svg").first.locator("rect.card").nth(1))["width"]


def test_words_stand_upright_and_whole_in_cards_that_are_too_narrow_for_them(demo: Callable[..., Page]) -> None:
    cards = demo("slots=12&word=outside", viewport={"width": 390, "height": 844}).locator(".scene svg").first
    word, card = cards.locator("text.word").nth(1), cards.locator("rect.card").nth(1)
    expect(word).to_have_text("outside")
    inner, outer = (one.evaluate("(e) => e.getBoundingClientRect().toJSON()") for one in (word, card))
    assert inner["height"] > inner["width"]
    assert outer["top"] <= inner["top"]
    assert inner["bottom"] <= outer["bottom"]
    assert outer["left"] <= inner["left"]
    assert inner["right"] <= outer["right"]
    wide = demo("slots=12&word=outside").locator(".scene svg").first
    assert number(wide.locator("rect.card").nth(1), "height") < number(card, "height")


def test_no_line_reaches_over_the_name_of_a_row_where_it_stands_above_the_row(demo: Callable[..., Page]) -> None:
    cards = demo(viewport={"width": 390, "height": 844}).locator(".scene svg").first
    low = cards.locator("path.line.value").evaluate(
        "(e) => e.getBBox().y + e.getBBox().height + parseFloat(e.getAttribute('stroke-width')) / 2"
    )
    assert low <= cards.locator("text.name", has_text="Writes").evaluate("(e) => e.getBBox().y") + 1


def line_ends(line: Locator) -> list[float]:
    numbers = [float(n) for n in re.findall(r"-?[\d.]+", line.get_attribute("d") or "")]
    return [*numbers[:2], *numbers[-2:]]


def test_bars_are_as_long_as_their_numbers_and_what_was_before_is_dashed(still: Page) -> None:
    choose(still, 1)
    bars = still.locator(".scene svg").nth(1)
    room = number(bars.locator("rect.room").first, "width")
    lengths = [number(bar, "width") / room for bar in bars.locator("rect.fill").all()]
    assert lengths == pytest.approx([0.5, 0.1], abs=0.01)
    before = bars.locator("rect.before")
    assert number(before, "width") / room == pytest.approx(0.25, abs=0.01)
    assert styled(before, "stroke-dasharray") != "none"
    assert bars.locator("text").all_text_contents() == [
        "Bars", "first", "0.50", "girl", "0.10", "of all",
    ]  # fmt: skip
    assert bars.locator("rect.fill.weak").count() == 1  # the strong one is full of colour


def test_the_name_of_a_bar_is_whole(demo: Callable[..., Page]) -> None:
    bars = demo("word=drummed").locator(".scene svg").nth(1)
    name = bars.locator("text.word", has_text="drummed")
    assert box_of(name)["x"] >= box_of(bars)["x"] - 1


def test_a_curve_goes_through_its_points_and_the_ring_rides_on_it(still: Page) -> None:
    choose(still, 1)
    curve = still.locator(".scene svg").nth(2)
    solid = [
        float(n) for n in re.findall(r"-?[\d.]+", curve.locator("path.stroke.query").first.get_attribute("d") or "")
    ]
    (x0, y0, x1, y1, x2, y2) = solid
    assert x1 == pytest.approx((x0 + x2) / 2, abs=0.2)
    assert y1 == pytest.approx((y0 + y2) / 2, abs=0.2)  # 0.5 between 0 and 1
    assert y2 < y0  # up
    knob = curve.locator("circle.knob")
    assert (number(knob, "cx"), number(knob, "cy")) == pytest.approx((x1, y1), abs=0.2)
    dashed = [styled(line, "stroke-dasharray") != "none" for line in curve.locator("path.stroke").all()]
    assert dashed == [False, True, True, False]  # two lines, and what stands beside their names, from the right
    roles = [str(line.get_attribute("class")).split()[1] for line in curve.locator("path.stroke").all()]
    assert roles == ["query", "key", "key", "query"]
    floor, _ = (line.get_attribute("d") for line in curve.locator("path.axis").all())
    assert float(str(floor).split()[1].split("H")[0]) == pytest.approx(y0, abs=0.1)  # at 0, above the lowest number
    dot = curve.locator("circle.spot")  # a quarter of the way, half as high
    assert (number(dot, "cx"), number(dot, "cy")) == pytest.approx((x0 + (x2 - x0) / 4, (y0 + y2) / 2), abs=0.2)
    texts = curve.locator("text").all_text_contents()
    assert {"Curve", "steps", "loss", "a", "b", "word", "none", "10"} <= set(texts)


def test_a_matrix_is_coloured_by_sign_and_size_and_dots_stand_at_their_values(still: Page) -> None:
    choose(still, 2)
    matrix, dots = still.locator(".scene svg").nth(3), still.locator(".scene svg").nth(4)
    first, low, zero, high = warmths(matrix.locator("rect.cell"))  # 1, −1, 0, 1
    assert low < 0
    assert low < zero < high == first
    marked, cell = box_of(matrix.locator("rect.marked")), box_of(matrix.locator("rect.cell").nth(1))
    assert (marked["x"], marked["y"]) == pytest.approx((cell["x"] - 2, cell["y"] - 2), abs=3)
    assert len(boxes_of(dots.locator("rect.field"))) == 2
    assert dots.locator("text").all_text_contents() == ["Dots", "50%", "of three", "low", "high"]
    places = dots.locator("circle.dot").evaluate_all("all => all.map((e) => e.getAttribute('cx'))")
    assert len(places) == 2
    assert places[0] == places[1]  # side by side, one above the other
    heights = dots.locator("circle.dot").evaluate_all("all => all.map((e) => e.getAttribute('cy'))")
    assert heights[0] != heights[1]
    right = number(dots.locator("circle.dot").first, "cx")
    left = number(dots.locator("rect.dot"), "x") + 3.5
    assert number(dots.locator("circle.knob"), "cx") == pytest.approx((left + right) / 2, abs=0.2)  # 0.5 of 0 and 1
    low, high = dots.locator("rect.field").all()
    for _ in range(2):  # they meet at 0.5, with the words above them and, where there is room, beside them
        knob = number(dots.locator("circle.knob"), "cx")
        ends = [number(one, "x") + share * number(one, "width") for one, share in ((low, 1), (high, 0))]
        assert ends == pytest.approx([knob, knob], abs=0.3)
        still.set_viewport_size({"width": 2800, "height": 900})
        expect(low).to_have_attribute("x", "150")


def test_bands_are_as_wide_as_their_numbers_in_one_stream_or_in_lanes_of_their_own(still: Page) -> None:
    bands = still.locator(".scene svg").nth(5)

    def edges(band: int, at: int) -> tuple[float, float]:
        """The upper and the lower edge at a place; an outline is a point, then three points for each step."""
        d = bands.locator("path.band").nth(band).get_attribute("d") or ""
        upper, lower = (re.findall(r"(-?[\d.]+) (-?[\d.]+)(?=[CLZ]|$)", half) for half in re.split("L", d))
        return float(upper[at][1]), float(lower[-1 - at][1])

    def widths() -> list[float]:
        return [edges(band, at)[1] - edges(band, at)[0] for band, at in ((0, 0), (0, 1), (0, 2), (1, 0))]

    whole = widths()[0]
    assert widths() == pytest.approx([whole, 0.25 * whole, 0.25 * whole, 0.5 * whole], abs=0.2)
    assert edges(0, 1)[1] == pytest.approx(edges(1, 0)[0], abs=0.2)  # side by side in the stream
    choose(still, 2)
    becomes(widths, pytest.approx([whole, whole, whole, whole / 2], abs=0.2))
    assert edges(1, 0)[0] > edges(0, 1)[1] + 1  # apart
    assert edges(1, 0) == edges(1, 1)  # straight
    assert [number(rise, "stroke-width") for rise in bands.locator("path.rise").all()] == pytest.approx(
        [whole, whole / 2], abs=0.2
    )
    assert bands.locator("text").all_text_contents() == [
        "Bands", "", "The", "The", "half", "girl", "girl", "all",
    ]  # fmt: skip


def test_a_text_stands_on_the_ruler_at_its_place_and_its_outline_where_it_was(still: Page) -> None:
    ruler = still.locator(".scene svg").nth(6)
    choose(still, 2)
    box, before = ruler.locator("rect.card"), ruler.locator("rect.before")
    ticks = [float((t.get_attribute("d") or "")[1:].split()[0]) for t in ruler.locator("path.axis").all()[1:]]
    place = ticks[1] - ticks[0]
    for numbered in ruler.locator("text.tick").all():
        assert number(numbered, "x") == pytest.approx(ticks[int(numbered.inner_html()) - 1], abs=0.2)
    becomes(lambda: number(box, "x"), pytest.approx(ticks[8] - place / 2, abs=0.2))  # begins at place 9
    assert number(before, "x") == pytest.approx(ticks[0] - place / 2, abs=0.2)
    assert number(box, "width") == number(before, "width") == pytest.approx(2 * place, abs=0.2)
    marks = [float((m.get_attribute("d") or "")[1:].split()[0]) for m in ruler.locator("path.stroke").all()]
    assert marks == pytest.approx(ticks[8:10], abs=0.2)
    for at in (0, 2):  # at both ends there is room for the two names
        choose(still, at)
        becomes(lambda at=at: number(box, "x"), pytest.approx(ticks[4 * at] - place / 2, abs=0.2))
        names, home = [one.bounding_box() for one in ruler.locator("text.name").all()], ruler.bounding_box()
        assert home
        assert names[0]
        assert names[1]
        assert home["x"] <= names[0]["x"] <= names[0]["x"] + names[0]["width"] <= names[1]["x"]
        assert names[1]["x"] + names[1]["width"] <= home["x"] + home["width"] + 2


def test_norms_stand_at_their_slots_and_layers_where_they_have_moved(still: Page) -> None:
    wiring, tower = still.locator(".scene svg").nth(7), still.locator(".scene svg").nth(8)
    places = [(number(slot, "x"), number(slot, "y")) for slot in wiring.locator("rect.slot").all()]
    assert places[0][0] < places[1][0] == places[2][0]  # the stream on the left, the sub-layer's branch on the right
    assert places[0][1] < places[1][1] < places[2][1]  # upwards: before the sub-layer, behind it, after the sum
    for at, (norms, more, share) in enumerate((((0, 0), "0", 0.125), ((2, 2), "0", 0.25), ((2, 1), "1", 0.5))):
        choose(still, at)
        stand = [(number(norm, "x"), number(norm, "y")) for norm in wiring.locator("rect.norm").all()]
        assert stand == [places[norm] for norm in norms]
        expect(wiring.get_by_text("× α")).to_have_attribute("opacity", more)
        first, second = tower.locator("rect.fill").all()
        box = tower.bounding_box()
        assert box
        assert number(first, "x") == 0
        assert number(second, "x") == pytest.approx(share * (box["width"] - number(second, "width") - 8), abs=1)
        assert number(second, "y") < number(first, "y")
        middle = number(second, "x") + number(second, "width") / 2  # the words stand above the highest layer
        assert number(tower.locator("text.number"), "x") == pytest.approx(middle, abs=0.2)


def test_a_square_grows_from_its_corner_with_a_band_and_a_strip_and_the_first_stays(demo: Callable[..., Page]) -> None:
    page = demo()
    square = page.locator(".scene svg").nth(9)
    pairs, first, strip = (square.locator(f"rect.{name}") for name in ("pairs", "before", "strip"))
    unit = number(first, "width")
    for at, times in enumerate((1, 2, 3)):
        choose(page, at)
        becomes(lambda: [number(one, "width") for one in (pairs, strip)], pytest.approx([times * unit] * 2, abs=0.2))
        assert number(pairs, "height") == pytest.approx(times * unit, abs=0.2)
        assert [number(pairs, side) for side in "xy"] == [number(first, side) for side in "xy"]
        assert (square.locator("path.axis").get_attribute("d") or "").count("V") == times - 1
        corner, end = re.findall(r"[MH]([\d.]+)", square.locator("path.diagonal").get_attribute("d") or "")[:2]
        assert float(end) - float(corner) == pytest.approx(unit / 4, abs=0.2)  # half a piece, of two


# Of each role: red, green and blue in the order of their shares, on light and on dark ground; and what has its colour.
COLOURS = {"query": "bgr", "key": "rgb", "value": "gbr", "output": "rbg"}
MARKS = {
    "query": {
        "path.line.query": "stroke", "path.stroke.query": "stroke", ".dot.high": "fill", ".field.high": "fill",
        ".band.strong": "fill",
    },
    "key": {
        "rect.card.asked": "stroke", "path.stroke.key": "stroke", "circle.rug": "fill", "rect.marked": "stroke",
        ".dot.low": "fill", ".field.low": "fill", ".norm": "stroke", ".window": "stroke",
    },
    "value": {"path.line.value": "stroke", "circle.spot": "fill"},  # an axis calls these dots green
    "output": {
        "rect.card.written": "stroke", "text.name.output": "fill", ".fill.output": "fill", ".knob": "stroke",
        ".outlined": "stroke",
    },
}  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_mark_has_the_colour_of_its_role(scheme: str, demo: Callable[..., Page]) -> None:
    page = demo(color_scheme=scheme)
    for role, marks in MARKS.items():
        for mark, style in marks.items():
            shares = rgb(styled(page.locator(f".scene svg {mark}").first, style))
            assert "".join(sorted("rgb", key=lambda c: -shares["rgb".index(c)])) == COLOURS[role], mark


@pytest.mark.parametrize("by", ["choice", "slider", "cards", "cards&lines=1"])
def test_keys_move_the_control_the_answer_follows_and_the_page_hears_where_it_rests(
    by: str, demo: Callable[..., Page]
) -> None:
    page = demo(f"by={by}")
    answer = page.locator(".scene .answer")
    assert answer.text_content() == "At 0.25 girl is read."
    assert answer.locator("b").text_content() == "0.25"
    page.locator(".scene input").first.focus()
    page.keyboard.press("ArrowRight")
    expect(answer).to_have_text("At 0.5 girl is read.")
    expect(page.get_by_text("It rests at 1")).to_be_visible()
    if by.startswith("cards"):
        page.locator(".scene svg").first.locator("rect.card").nth(2).click(force=True)
        expect(answer).to_have_text("At 1.0 girl is read.")
        expect(page.get_by_text("It rests at 2")).to_be_visible()


def test_it_plays_to_its_end_and_stops(demo: Callable[..., Page]) -> None:
    page = demo("by=slider&plays=1")
    play = page.get_by_role("button", name="Play")
    for _ in range(2):  # the second time from its end, where most lessons open
        begun = time.monotonic()
        play.click()
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        expect(page.locator(".scene .answer")).to_have_text("At 1.0 girl is read.")
        expect(play).to_be_visible()
        assert time.monotonic() - begun > 2.5  # two stops, and time to read what is said there


def test_a_press_reaches_the_page_once(demo: Callable[..., Page]) -> None:
    page = demo("press=1")
    press = page.get_by_role("button", name="Start")
    press.evaluate("(e) => { for (let n = 0; n < 24; n++) e.click(); }")
    expect(page.get_by_text("pressed 1 times")).to_be_visible()
    settled(page)
    press.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("pressed 2 times")).to_be_visible()
    expect(press).to_be_focused()


# The width of the first bar in each picture drawn until a moment after it was clicked on something.
WIDTHS = """async (find) => {
    const roots = [...document.querySelectorAll("*")].map((e) => e.shadowRoot);
    const root = roots.find((one) => one?.querySelector(".scene"));
    const bar = root.querySelectorAll("svg")[1].querySelector("rect.fill");
    (root.querySelector(find) ?? document.querySelector(find)).click();
    const widths = [];
    const begin = performance.now();
    while (performance.now() - begin < 1500) {
        await new Promise(requestAnimationFrame);
        widths.push(Number(bar.getAttribute("width")));
    }
    return widths;
}"""


def test_it_moves_through_what_lies_between(demo: Callable[..., Page]) -> None:
    page = demo("", reduced_motion="no-preference")
    bar, room = (page.locator(f".scene svg >> nth=1 >> rect.{name} >> nth=0") for name in ("fill", "room"))
    seen = page.evaluate(WIDTHS, "fieldset label:nth-of-type(3) input")
    assert seen == sorted(seen)  # it grows and never jumps back
    assert len(set(seen)) > (3 if len(seen) > 20 else 2)  # a busy browser draws few pictures, but one on the way
    assert number(bar, "width") == max(seen) == number(room, "width")  # at last it is 1, all of its room


def test_a_line_on_its_way_to_other_rows_is_drawn(demo: Callable[..., Page]) -> None:
    page = demo("lines=1", reduced_motion="no-preference")
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.evaluate(WIDTHS, "fieldset label:nth-of-type(2) input")
    expect(page.get_by_text("It rests at 1")).to_be_visible()
    assert faults == []


def test_it_is_drawn_as_large_as_the_type_beside_it(demo: Callable[..., Page]) -> None:
    page = demo("by=cards", viewport={"width": 1280, "height": 1300})
    heights = []
    for size in (16, 24):
        page.add_style_tag(content=f"html {{ font-size: {size}px; }}")
        page.get_by_text("Another sentence").click()
        settled(page)
        heights.append(box_of(page.locator(".scene svg text.word").first)["height"])
        page.locator(".scene svg").first.locator("rect.card").nth(2).click(force=True)  # it stands where it is drawn
        expect(page.locator(".scene .answer")).to_have_text(re.compile("At (1.0|0.5) girl"))
        page.locator(".scene input").first.check(force=True)
    assert heights[1] == pytest.approx(1.5 * heights[0], rel=0.05)


@pytest.mark.parametrize("what", ["", "press=1"])
def test_another_sentence_stands_there_at_once_and_what_learns_moves_on(what: str, demo: Callable[..., Page]) -> None:
    page = demo(what, reduced_motion="no-preference")
    bar = page.locator(".scene svg >> nth=1 >> rect.fill >> nth=0")
    before = number(bar, "width")
    seen = page.evaluate(WIDTHS, "[data-testid=stCheckbox] input")
    settled(page)
    assert number(bar, "width") == pytest.approx(before / 2, abs=0.1)
    between = set(seen) - {before, number(bar, "width")}
    assert bool(between) == bool(what)


def test_texts_stay_texts(demo: Callable[..., Page]) -> None:
    page = demo("hostile=1")
    assert has_run(page) == []
    assert page.locator(".scene img").count() == 0
    expect(page.locator(".scene .answer")).to_contain_text("<img src=x onerror=window.pwned=1>")


@pytest.mark.parametrize("word", ["a ** b ** c", "*", "***"])
def test_asterisks_of_a_text_are_shown_and_never_bold(word: str, demo: Callable[..., Page]) -> None:
    answer = demo(f"word={word}").locator(".scene .answer")
    assert answer.text_content() == f"At 0.25 {word} is read."
    assert answer.locator("b").all_text_contents() == ["0.25"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(scheme: str, demo: Callable[..., Page]) -> None:
    page = demo("by=slider&press=1", color_scheme=scheme)
    assert lasting(lambda: axe_faults(page, '[data-testid="stMain"]')) == []
