"""What a component marks, joins by a line, names or colours is the right thing: read back from the page."""

import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.kit import box_of, rgb, styled, wear

pytestmark = pytest.mark.browser


def test_the_headers_of_the_chosen_head_stand_out(visit: Callable[..., Page]) -> None:
    page = visit("components", ".heads button", "heads=1")
    for layer, head, name in ((1, 3, "head 4"), (2, 0, "head 1"), (0, 4, "average")):  # it stands behind the four heads
        page.locator(".heads button").nth(layer * 5 + head).click()
        expect(page.locator(".heads span.selected")).to_have_text([name, f"layer {layer + 1}"], use_inner_text=True)


def test_lines_of_the_tree_lead_from_the_beginning_to_what_extends_it(lesson: Callable[..., Page]) -> None:
    """Whichever node is chosen: each line of its way starts at the right edge of one node and ends at the next."""
    tree = lesson("inference", "method=Beam search").locator(".st-key-beam_tree")
    rows = set()
    third = tree.locator(".node[style*='left: 15.6rem']")  # of the third step
    expect(third.first).to_be_visible()
    for node in third.all():  # all are drawn with the first
        node.click()
        expect(node).to_have_attribute("aria-pressed", "true")
        expect(tree.locator(".node.on")).to_have_count(3)  # drawn anew, once the server has heard of the click
        way = tree.locator(".node.on").evaluate_all(
            "nodes => nodes.map((node) => [parseFloat(node.style.left), parseFloat(node.style.top)])"
        )
        lines = [line.get_attribute("d") or "" for line in tree.locator("path.on").all()]
        ends = [[float(n) for n in re.findall(r"[\d.]+", line)] for line in lines]
        middle = 1.1  # of a node's height, in rem
        expected = [[x, y + middle, u, v + middle] for (x, y), (u, v) in pairwise(way)]
        np.testing.assert_allclose([[end[0] - 6.6, *end[1:2], *end[-2:]] for end in ends], expected, atol=1e-6)
        rows.add(tuple(y for _, y in way))
        node.press("ArrowLeft")
        expect(tree.locator(".node.on").nth(1)).to_be_focused()  # a key goes back along the line
    assert any(len(set(tops)) > 1 for tops in rows)  # a way that leads from one row to another


def test_letters_beside_the_arrows_have_the_colours_of_the_words(visit: Callable[..., Page]) -> None:
    """On the map too a query is blue, a key is orange, a value is green; and blue is what the encoder hands on."""
    page = visit("architecture", ".map svg .block")
    for scheme in ("light", "dark"):
        wear(page, scheme, 1280)  # type: ignore[arg-type]
        for letter, largest in (("Q", 2), ("K", 0), ("V", 1)):
            mark = page.locator(".map .marks text").get_by_text(letter, exact=True)
            assert int(np.argmax(rgb(styled(mark, "fill")))) == largest, letter
        assert int(np.argmax(rgb(styled(page.locator(".map .line.memory"), "stroke")))) == 2


def test_on_the_line_of_the_course_what_is_done_is_green(lesson: Callable[..., Page]) -> None:
    bar = lesson("masking").locator(".tw-course i:not(.here)").first
    bar.evaluate("e => e.classList.add('done')")
    red, green, blue = rgb(styled(bar, "background-color"))
    assert green > blue > red


def test_the_ramp_of_the_machine_leads_from_blue_to_orange(lesson: Callable[..., Page]) -> None:
    page = lesson("masking")
    for scheme in ("light", "dark"):
        ramp = styled(wear(page, scheme, 1280).locator(".ramp").first, "background-image")  # type: ignore[arg-type]
        low, *_, high = (rgb(colour) for colour in re.findall(r"rgb\([^)]*\)", ramp))
        assert low[2] > low[0]
        assert high[0] > high[2]


def test_names_of_rows_stay_in_sight_while_a_matrix_scrolls(visit: Callable[..., Page], page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    scroller = visit("components", ".matrix tbody td", "t=3&s=40").locator(".matrix .scroller")
    assert scroller.evaluate("box => (box.scrollLeft = 90)") == scroller.evaluate("box => box.scrollLeft")
    for name in scroller.locator("tbody th").all():
        assert box_of(name)["x"] >= box_of(scroller)["x"] - 5


def test_the_readout_names_the_head_of_the_cell(lesson: Callable[..., Page]) -> None:
    """A row is a layer; side by side stand the four heads of the encoder, of the decoder, and of what joins the two."""
    ranking = lesson("multi-head", "heads_trial=Which head matters most").locator(".st-key-ranking")
    ranking.locator("tbody td").last.wait_for()
    for row, column, name in ((0, 2, "layer 1, head 3: "), (2, 5, "layer 3, head 2: "), (1, 11, "layer 2, head 4: ")):
        ranking.locator("tbody tr").nth(row).locator("td").nth(column).hover()
        expect(ranking.locator(".readout")).to_contain_text(name)


def test_the_chosen_beginning_lies_within_its_box_on_a_phone(lesson: Callable[..., Page], page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    tree = lesson("inference", "method=Beam search").locator(".st-key-beam_tree")
    expect(tree.locator(".node[aria-pressed=true]")).to_have_count(1)
    node, scroller = (tree.locator(one).bounding_box() for one in (".node[aria-pressed=true]", ".scroller"))
    assert node
    assert scroller
    assert scroller["x"] <= node["x"]
    assert node["x"] + node["width"] <= scroller["x"] + scroller["width"]
    assert tree.locator(".scroller").evaluate("box => box.scrollLeft") > 0
