"""What the components draw, count and save is what they were given: read back from pixels, files and names."""

import csv
import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.components.conftest import SENTENCE, colours, darkens_with
from tests.browser.conftest import ROOT
from tests.browser.kit import contrast, rgb, settled, styled, wear
from ui.engine import trace

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def demo(visit: Callable[..., Page]) -> Callable[[str], Page]:
    """demo(query) → the page with a matrix, drawn."""
    return partial(visit, "components", ".matrix tbody td")


def saved(page: Page, kind: str) -> str:
    with page.expect_download() as download:
        page.get_by_role("button", name=kind, exact=True).click()
    return Path(download.value.path()).read_text(encoding="utf-8-sig")


def test_the_csv_leaves_out_what_is_masked_and_nothing_else(demo: Callable[[str], Page]) -> None:
    _, *lines = csv.reader(saved(demo("t=5&s=7&masked=1"), "CSV").splitlines())
    assert [[number != "" for number in line[1:]] for line in lines] == np.tri(5, 7, dtype=bool).tolist()


def test_the_saved_picture_marks_the_chosen_cell(demo: Callable[[str], Page]) -> None:
    rects = [node.attrib for node in ElementTree.fromstring(saved(demo("cell=1,4"), "SVG")).iter(f"{SVG}rect")]
    (ring,) = (rect for rect in rects if "stroke" in rect)
    marked = rects[1 + 1 * 6 + 4]  # the first is the ground
    for side in ("x", "y", "width", "height"):
        assert float(ring[side]) == pytest.approx(float(marked[side]), abs=3), side


def test_every_number_of_the_saved_picture_can_be_read(demo: Callable[[str], Page]) -> None:
    nodes = list(ElementTree.fromstring(saved(demo("scale=weight"), "SVG")))
    cells = [(a.get("fill", ""), b.get("fill", "")) for a, b in pairwise(nodes) if b.get("text-anchor") == "middle"]
    on_cells = [contrast(rgb(ground), rgb(ink)) for ground, ink in cells[-36:]]
    assert min(on_cells) >= 4.5


@pytest.mark.parametrize("scale", ["weight", "signed"])
def test_the_legend_of_the_saved_picture_runs_from_low_to_high(demo: Callable[[str], Page], scale: str) -> None:
    texts = [
        (float(node.attrib["x"]), str(node.text))
        for node in ElementTree.fromstring(saved(demo(f"scale={scale}"), "SVG")).iter(f"{SVG}text")
    ]
    *_, low, high = [text for _, text in texts]
    assert texts[-2][0] < texts[-1][0]
    assert (low, high) == (("0", "1") if scale == "weight" else (f"−{high}", low.removeprefix("−")))
    if scale == "signed":
        assert high == f"{np.abs(np.random.default_rng(0).normal(size=(6, 6)) * 3).max():.{len(high.split('.')[1])}f}"


def test_a_line_divides_every_group_of_columns_from_the_next(demo: Callable[[str], Page]) -> None:
    """On the page and in the saved picture."""
    page = demo("t=3&s=7&group=3")
    lines = "cells => cells.map((cell) => parseFloat(getComputedStyle(cell).borderLeftWidth))"
    widths = np.array(page.locator(".matrix tbody td").evaluate_all(lines)).reshape(3, 7)
    assert np.argwhere(widths > widths[:, :1]).tolist() == [[row, column] for row in range(3) for column in (3, 6)]
    rects = [node.attrib for node in ElementTree.fromstring(saved(page, "SVG")).iter(f"{SVG}rect")]
    cells = np.array([float(rect["x"]) for rect in rects[1:8]])
    high = 2.9 * (float(rects[8]["y"]) - float(rects[1]["y"]))  # nearly three rows
    drawn = [
        float(rect["x"]) for rect in rects if float(rect["width"].rstrip("%")) == 2 and float(rect["height"]) > high
    ]
    assert [int((cells < x).sum()) for x in drawn] == [3, 6]
    every = demo("t=3&s=150&group=12&labels=long").locator(".matrix").get_attribute("data-every")
    assert int(every or 0) in range(12, 150, 12)  # where not every column has room for its name, groups have


def test_masked_cells_alone_are_hatched(demo: Callable[[str], Page]) -> None:
    """On the page and in the saved picture, whose legend has a hatched box of its own."""
    page = demo("t=5&s=7&masked=1&hatched=left out")
    cells = page.locator(".matrix tbody td")
    hatched = cells.evaluate_all("cells => cells.map((cell) => getComputedStyle(cell).backgroundImage !== 'none')")
    assert hatched == (~np.tri(5, 7, dtype=bool)).ravel().tolist()
    assert styled(page.locator(".masked-key i"), "background-image") != "none"
    figure = ElementTree.fromstring(saved(page, "SVG"))
    assert len(list(figure.iter(f"{SVG}path"))) == sum(hatched) + 1
    assert "left out" in [text.text for text in figure.iter(f"{SVG}text")]


@pytest.mark.parametrize("s", [9, 200])
def test_every_small_map_is_that_of_its_head_with_rows_downwards(demo: Callable[[str], Page], s: int) -> None:
    """Where several columns share a pixel, it shows the largest of them."""
    t = 6
    random = np.random.default_rng(0)
    random.normal(size=(t, s))  # what the matrix shows
    weights = np.exp(random.normal(size=(3, 4, t, s)) * 3)
    weights /= weights.sum(-1, keepdims=True)
    weights = np.concatenate([weights, weights.mean(1, keepdims=True)], axis=1).reshape(-1, t, s)
    canvases = demo(f"heads=1&t={t}&s={s}").locator(".heads canvas")
    expect(canvases).to_have_count(15)
    n = min(s, canvases.first.evaluate("canvas => canvas.width"))
    groups = [slice(i * s // n, -(-(i + 1) * s // n)) for i in range(n)]
    for canvas, one in zip(canvases.all(), weights, strict=True):
        darkens_with(canvas, np.stack([one[:, group].max(1) for group in groups], axis=1), least=20)


def test_positive_is_orange_and_negative_is_blue(demo: Callable[[str], Page]) -> None:
    page = demo("scale=signed")
    values = (np.random.default_rng(0).normal(size=(6, 6)) * 3).ravel()
    for scheme in ("light", "dark"):
        cells = wear(page, scheme, 1280).locator(".matrix tbody td")  # type: ignore[arg-type]
        expect(cells).to_have_count(36)
        for cell, value in zip(cells.all(), values, strict=True):
            red, _, blue = rgb(styled(cell, "background-color"))
            if abs(value) > 2:
                assert (red > blue) == (value > 0), (scheme, value)


@pytest.mark.parametrize("width", [1280, 480])
def test_the_maps_legend_names_the_ends_of_its_colours(visit: Callable[..., Page], page: Page, width: int) -> None:
    """Beside the drawing where there is room, else above it."""
    page.set_viewport_size({"width": width, "height": 900})
    visit("architecture", ".map svg .block")
    expect(page.locator(".map .marks image")).to_have_count(2)
    bars = page.locator(".map .marks image").all()
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


def test_the_tree_says_what_became_of_each_beginning(lesson: Callable[..., Page]) -> None:
    """Struck out, at the end of a dashed line: dropped. Thick frame: ended."""
    page = lesson("inference", "method=Beam search")
    expect(page.locator(".st-key-beam_tree .node[aria-pressed=true]")).to_have_count(1)
    nodes = page.locator(".st-key-beam_tree .node").evaluate_all(
        """nodes => nodes.map((node) => [
            node.title.split(": ").at(-1).split(",")[0],
            [...node.children].some((part) => getComputedStyle(part).textDecorationLine === "line-through"),
            parseFloat(getComputedStyle(node).borderTopWidth),
        ])"""
    )
    assert page.locator(".st-key-beam_tree .heads span").all_inner_texts()[:2] == ["step 1", "step 2"]
    assert {said for said, *_ in nodes} == {"kept", "ended here", "dropped"}
    first = page.locator(".st-key-beam_tree .node .small").all_inner_texts()[:3]
    logits = trace(SENTENCE).tensors["logits"][0].astype(float)
    likely = np.sort(logits - np.log(np.exp(logits).sum()))[::-1]
    assert first == [f"{value:.2f}".replace("-", "−").replace("−0.00", "0.00") for value in likely[:3]]
    thin = min(frame for *_, frame in nodes)
    for said, struck, frame in nodes:
        assert struck == (said == "dropped")
        assert (frame > thin) == (said == "ended here")
    heads, columns = (
        page.locator(f".st-key-beam_tree {one}").evaluate_all("all => all.map((e) => e.getBoundingClientRect().left)")
        for one in (".heads span", ".node")
    )
    assert heads == pytest.approx(sorted({*columns})[: len(heads)], abs=3)
    lines = page.locator(".st-key-beam_tree path:not(.on)").evaluate_all(
        "all => all.map((line) => [line.getAttribute('class'), getComputedStyle(line).strokeDasharray !== 'none'])"
    )
    assert {True, False} == {dashed for _, dashed in lines}
    assert all(dashed == ("pruned" in state) for state, dashed in lines)


def test_a_piece_of_the_theatre_leads_to_the_step_that_wrote_it(lesson: Callable[..., Page]) -> None:
    theatre = lesson("inference", "at=5").locator(".st-key-theatre")
    pieces = theatre.locator(".strip").last.locator("button")
    for n in (4, 2, 1):  # pieces further on cannot be seen yet
        pieces.nth(n).click()
        expect(theatre.locator(".count")).to_have_text(re.compile(rf"^Step {n} of "))
        expect(pieces.nth(n)).to_have_attribute("aria-current", "step")


def test_the_newest_pairs_of_the_cache_stand_out(lesson: Callable[..., Page]) -> None:
    theatre = lesson("inference").locator(".st-key-theatre")
    read, source = (theatre.locator(".cache .pairs").nth(n) for n in (0, 1))
    fresh = "rows => rows.map((pair) => pair.classList.contains('fresh'))"
    expect(read.locator(".pair")).to_have_count(1)
    n_source = theatre.locator(".strip").first.locator("li").count()
    assert read.locator(".pair").evaluate_all(fresh) == [True]
    assert source.locator(".pair").evaluate_all(fresh) == [True] * n_source
    key, value = dict.fromkeys(re.findall(r"rgb\(.*?\)", styled(read.locator(".pair"), "background-image")))
    assert [int(np.argmax(rgb(colour))) for colour in (key, value)] == [0, 1]  # orange and green, as is said above
    for _ in range(2):
        theatre.get_by_role("button", name="Step forward").click()
    expect(theatre.locator(".count")).to_have_text(re.compile("^Step 3 of "))
    expect(read.locator(".pair")).to_have_count(3)
    assert read.locator(".pair").evaluate_all(fresh) == [False, False, True]
    assert source.locator(".pair").evaluate_all(fresh) == [False] * n_source


def test_the_theatre_shows_the_weights_of_its_step_and_in_which_each_piece_was_written(
    lesson: Callable[..., Page],
) -> None:
    theatre = lesson("inference", "at=3&layer=2").locator(".st-key-theatre")
    expect(theatre.locator(".count")).to_have_text(re.compile("^Step 3 of "))
    traced = trace(SENTENCE)
    for strip, kind, n in zip(theatre.locator(".strip").all(), ("cross", "decoder"), (len(traced.src), 3), strict=True):
        shown = strip.locator(".small").all_inner_texts()[:n]
        mean = traced.attention(kind, 1)[:, 2, :n].mean(0)
        assert all(re.fullmatch(r"<0\.01|\d\.\d\d", text) for text in shown)
        assert [float(text.lstrip("<")) for text in shown] == pytest.approx(mean, abs=0.0101)
    kinds = "all => all.map((e) => ['now', 'ahead'].filter((kind) => e.classList.contains(kind)).join())"
    assert theatre.locator(".strip").last.locator("button").evaluate_all(kinds)[:5] == ["", "", "", "now", "ahead"]
    shown = [piece.is_visible() for piece in theatre.locator(".strip").last.locator("button").all()[:5]]
    assert shown == [True] * 4 + [False]
    titles = [piece.get_attribute("title") for piece in theatre.locator(".strip").last.locator("button").all()]
    assert titles == ["the start sign", *(f"written in step {n}" for n in range(1, len(titles)))]
    read = " ".join(theatre.locator(".strip").last.locator(".text").all_text_contents()[:3])
    expect(theatre.get_by_text("The likeliest pieces after")).to_contain_text(f"after “{read}”, with")


def test_the_map_draws_each_probability_as_a_bar(visit: Callable[..., Page], page: Page) -> None:
    visit("architecture", ".map svg .block", f"sentence={SENTENCE}")
    bars = page.locator('.map [data-block="output.softmax"] .bars')
    expect(bars).to_have_attribute("d", re.compile("^M"))
    settled(page)
    drawn = np.array([float(height) for height in re.findall(r"v-([\d.]+)", bars.get_attribute("d") or "")])
    probabilities = np.array(trace(SENTENCE).probabilities)
    high = drawn.max() / probabilities.max()
    assert drawn == pytest.approx(probabilities * high, abs=max(1.0, 0.01 * high))
    assert np.ptp(drawn) > 0.2 * high


# Of a page with bars: the rows, and in each its bar and its number.
BARS = {
    "decoder-and-output": ("[aria-label^='The ten likeliest next pieces'] li", ".tw-bar-room", ".tw-bar-value"),
    "": ("ol.tw-pieces li", ".tw-bar", ".tw-p"),
}


@pytest.mark.parametrize("slug", BARS)
def test_a_bar_is_as_long_as_its_number_says(slug: str, page: Page, serve: Callable[..., str]) -> None:
    rows, bar, number = BARS[slug]
    page.goto(f"{serve(ROOT / 'app.py')}/{slug}")
    page.locator(rows).last.wait_for()
    for row in settled(page).locator(rows).all():
        (part,) = re.findall(r"([\d.]+)%", styled(row.locator(bar), "background-image"))
        says = row.locator(number).first.inner_text().lstrip("<>")
        assert float(part) / 100 == pytest.approx(float(says), abs=10 ** -len(says.partition(".")[2]))


def test_what_a_row_of_the_triangle_may_not_see_is_hatched(lesson: Callable[..., Page]) -> None:
    cells = lesson("masking").locator(".tw-triangle td:not(.next)")
    hatched = cells.evaluate_all(
        "cells => cells.map((cell) => [cell.textContent, getComputedStyle(cell).backgroundImage !== 'none'])"
    )
    assert {hidden for _, hidden in hatched} == {True, False}
    assert all(hidden == (text == "−∞") for text, hidden in hatched)


@pytest.mark.parametrize("step", ["2 Sublayer(x)", "4 the norm"])
def test_columns_reach_from_where_they_begin_to_where_they_end(lesson: Callable[..., Page], step: str) -> None:
    """Bars, and lines around a dot; one series beside the other, each in the colour beside its name."""
    chart = lesson("add-and-norm", f"norm_step={step}").locator(".tw-columns").first
    columns = chart.evaluate(
        """chart => [...chart.querySelectorAll("li")].map((li) => [...li.querySelectorAll("i")].map((mark) => {
            const room = li.getBoundingClientRect(), box = mark.getBoundingClientRect();
            return [
                (room.bottom - box.bottom) / room.height, (room.bottom - box.top) / room.height, box.left - room.left,
                ...["--from", "--to"].map((name) => Number(mark.style.getPropertyValue(name))),
            ];
        }))"""
    )
    assert len(columns) == len(trace(SENTENCE).src)
    for column in columns:
        for low, high, _, start, end in column:
            assert (low, high) == pytest.approx((start, end), abs=0.01)
        lefts = [mark[2] for mark in column]
        assert lefts == sorted(lefts)
        assert len({round(left) for left in lefts}) == len(lefts)
    dots = """all => all.map((line) => [
        parseFloat(getComputedStyle(line, "::after").bottom) + 3, line.clientHeight,
        ...["--at", "--from", "--to"].map((name) => Number(line.style.getPropertyValue(name))),
    ])"""
    for bottom, high, at, start, end in chart.locator("i.line").evaluate_all(dots):
        assert bottom == pytest.approx(high * (at - start) / (end - start), abs=1)
    chart.locator("li").nth(1).hover()
    assert [words.is_visible() for words in chart.locator("li b").all()[:3]] == [False, True, False]
    drawn, named = (
        chart.locator(marks).evaluate_all(
            "(all, part) => all.map((e) => getComputedStyle(e, part).background.match(/rgb\\([^)]*[1-9][^)]*\\)/)[0])",
            part,
        )
        for marks, part in (("li:first-child i", None), ("figcaption span", "::before"))
    )
    assert drawn == named[: len(drawn)]
    assert len({*named}) == len(named)


def test_boxes_have_the_colours_of_the_words(lesson: Callable[..., Page]) -> None:
    """A query is blue, a key is orange, a value is green."""
    page = lesson("query-key-value", "part=X")
    for scheme in ("light", "dark"):
        boxes = wear(page, scheme, 1280).locator(".tw-flow")  # type: ignore[arg-type]
        for kind, largest in (("query", 2), ("key", 0), ("value", 1)):
            assert int(np.argmax(rgb(styled(boxes.locator(f".{kind} s").first, "border-top-color")))) == largest, kind
