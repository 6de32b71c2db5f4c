"""The map in Chromium: reachable by keyboard and pointer, true, calm, readable."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.components.conftest import darkens_with
from tests.browser.kit import axe_faults, box_of, contrast, lasting, rgb, settled
from tests.house.toy import toy
from ui import engine
from ui.components.architecture.plan import Plan, plan_of
from ui.engine import trace

pytestmark = pytest.mark.browser

TRANSLATOR = engine.model()
PLANS = {"translator": plan_of(TRANSLATOR.anatomy, TRANSLATOR.about), "toy": plan_of(toy().anatomy, toy().about)}
DEMO = Path(__file__).with_name("architecture_demo.py")
LINKED = [
    *("tokenize", "encoder.embedding", "encoder.positions", "encoder.self_attn", "encoder.stack"),
    *("decoder.embedding", "decoder.positions", "decoder.self_attn", "decoder.cross_attn"),
]
LONG = (
    "The old man who lives next door told me that he had seen a big black dog running across the street "
    "before the rain began to fall."
)
HOSTILE = '<img src=x onerror="window.pwned=1"></script><script>window.pwned=1</script>'


@pytest.fixture
def shown(serve: Callable[..., str]) -> Callable[..., Locator]:
    """shown(page, **query parameters) → the map."""

    def show(page: Page, **query: str) -> Locator:
        page.goto(f"{serve(DEMO)}/?{urlencode(query)}")
        found = page.locator(".map")
        found.locator("svg .block").last.wait_for()
        settled(page)
        return found

    return show


def block(the_map: Locator, name: str) -> Locator:
    return the_map.locator(f'g[data-block="{name}"]')


def told(the_map: Locator) -> Locator:
    """What it says below itself."""
    return the_map.locator(".about p.on")


def focused(page: Page) -> str | None:
    """The block that has the focus."""
    return page.evaluate(
        """() => {
          let node = document.activeElement;
          while (node?.shadowRoot) node = node.shadowRoot.activeElement;
          return node?.dataset?.block ?? null;
        }"""
    )


@pytest.mark.parametrize("model", PLANS)
def test_every_block_is_drawn_described_and_joined_in_its_place(page: Page, shown, model: str) -> None:
    the_map = shown(page, model=model)
    expect(the_map).to_have_attribute("aria-label", "Map of the Transformer")
    expect(the_map.locator("g.block")).to_have_count(len(PLANS[model].ids))
    drawn = the_map.locator("g.block").evaluate_all("nodes => nodes.map(n => n.dataset.block)")
    assert tuple(drawn) == PLANS[model].ids
    for each in PLANS[model].blocks:
        expect(block(the_map, each.id)).to_be_visible()
        text = the_map.locator("#" + block(the_map, each.id).get_attribute("aria-describedby"))
        assert each.words.does in text.text_content()
    blocks_stand_one_on_the_other_and_a_layer_in_its_frame(the_map, PLANS[model])
    lines_lead_from_where_the_data_say_to_where_they_say(the_map, PLANS[model])


def body(the_map: Locator, name: str) -> dict[str, float]:
    """The box of a block as drawn, or of the frame of a stack."""
    box = box_of(the_map.locator(f'rect.floor[data-block="{name}"], g[data-block="{name}"]:not(.stack) .body'))
    return box | {"bottom": box["y"] + box["height"], "right": box["x"] + box["width"]}


def blocks_stand_one_on_the_other_and_a_layer_in_its_frame(the_map: Locator, plan: Plan) -> None:
    for column in plan.columns:
        ids = [each.id for each in (*column.inputs, *column.layer, *column.outputs)]
        boxes = [body(the_map, name) for name in ids]
        for lower, upper in pairwise(boxes):
            assert upper["bottom"] < lower["y"]
            assert upper["x"] == pytest.approx(lower["x"], abs=0.1)
        frame = body(the_map, column.frame.id)
        inside = [frame["y"] < box["y"] and box["bottom"] < frame["bottom"] for box in boxes]
        assert inside == [each in column.layer for each in (*column.inputs, *column.layer, *column.outputs)]
        assert all(frame["x"] < box["x"] and box["right"] < frame["right"] for box in boxes)
    frames = [body(the_map, column.frame.id) for column in plan.columns]
    assert all(left["right"] < right["x"] for left, right in pairwise(frames))


# The corners of every line, from its start to the tip of its arrow, on the screen.
CORNERS = """node => {
  const zoom = node.querySelector("svg").getScreenCTM();
  const point = ([x, y]) => [x * zoom.a + zoom.e, y * zoom.d + zoom.f];
  const parts = (d) => d.split("M").filter(Boolean);
  return [...node.querySelectorAll(".wires .line")].flatMap((path, k) => {
    const tips = parts(path.nextSibling.getAttribute("d")).map((d) => d.split("L")[0].trim().split(/[ ,]/).map(Number));
    return parts(path.getAttribute("d")).map((d, i) => {
      const start = d.split("L")[0].split(/[ ,]/).map(Number);
      return { memory: path.classList.contains("memory"), from: point(start), to: point(tips[i]) };
    });
  });
}"""


def lines_lead_from_where_the_data_say_to_where_they_say(the_map: Locator, plan: Plan) -> None:
    lines = the_map.evaluate(CORNERS)

    def led(start: tuple[float, float], end: tuple[float, float], memory: bool = False) -> bool:
        near = [np.allclose([*line["from"], *line["to"]], [*start, *end], atol=1.5) for line in lines]
        return any(fits and line["memory"] == memory for fits, line in zip(near, lines, strict=True))

    for i, column in enumerate(plan.columns):
        blocks = [*column.inputs, *column.layer, *column.outputs]
        boxes = {each.id: body(the_map, each.id) for each in blocks}
        for lower, upper in pairwise(blocks):
            middle = boxes[lower.id]["x"] + boxes[lower.id]["width"] / 2
            assert led((middle, boxes[lower.id]["y"]), (middle, boxes[upper.id]["bottom"])), upper.id
        left = i == 0 and len(plan.columns) > 1
        for first, last in column.past:
            middle = boxes[first]["x"] + boxes[first]["width"] / 2
            (line,) = (
                line
                for line in lines
                if abs(line["from"][0] - middle) < 1 and 0 < line["from"][1] - boxes[first]["bottom"] < 14
                if abs(line["to"][0] - boxes[last]["x" if left else "right"]) < 1
            )
            assert line["to"][1] == pytest.approx(boxes[last]["y"] + boxes[last]["height"] / 2, abs=1)
    for source, fed in plan.feeds:
        (column,) = (column for column in plan.columns if column.frame.id == source)
        top, to = body(the_map, column.layer[-1].id), body(the_map, fed)
        start = top["x"] + top["width"] / 2, top["y"]
        assert led(start, (to["x"], to["y"] + to["height"] / 2), memory=True)
    assert sum(line["memory"] for line in lines) == len(plan.feeds)
    n_blocks = sum(len((*c.inputs, *c.layer, *c.outputs)) for c in plan.columns)
    assert len(lines) == n_blocks + sum(len(c.past) for c in plan.columns) + len(plan.feeds) + 1  # and up to the text


def test_another_model_in_the_same_place_is_drawn_anew(page: Page, shown) -> None:
    the_map = shown(page)
    the_map.evaluate("node => (node.mine = true)")
    page.get_by_text("Other model").click()
    expect(the_map.locator("g.block")).to_have_count(len(PLANS["toy"].ids))
    drawn = the_map.locator("g.block").evaluate_all("nodes => nodes.map(n => n.dataset.block)")
    assert tuple(drawn) == PLANS["toy"].ids
    assert settled(page).locator(".map").evaluate("node => node.mine")
    block(the_map, "decoder.self_attn").hover()
    expect(told(the_map)).to_have_text(re.compile(r"^Decoder masked self-attention, layer 2\."))


def test_tab_enters_once_and_arrows_go_from_bottom_to_top_and_meet_links_alone(page: Page, shown) -> None:
    the_map = shown(page)
    block(the_map, LINKED[0]).focus()
    order = [focused(page)]
    for _ in LINKED[1:]:
        page.keyboard.press("ArrowUp")
        order.append(focused(page))
    assert order == LINKED
    for key, name in (
        *(("ArrowUp", LINKED[-1]), ("ArrowDown", LINKED[-2]), ("Home", LINKED[0]), ("End", LINKED[-1])),
        *(("ArrowDown", "decoder.self_attn"), ("ArrowLeft", "encoder.self_attn"), ("ArrowRight", "decoder.self_attn")),
        ("ArrowRight", "decoder.self_attn"),
    ):
        page.keyboard.press(key)
        assert focused(page) == name
    expect(the_map.locator("[tabindex='0']")).to_have_count(1)
    page.keyboard.press("Tab")
    assert focused(page) is None
    page.keyboard.press("Shift+Tab")
    assert focused(page) == "decoder.self_attn"
    page.keyboard.press("Shift+Tab")
    assert focused(page) is None
    page.keyboard.press("Tab")
    assert focused(page) == "decoder.self_attn"
    assert block(the_map, "output.softmax").get_attribute("role") == "img"
    label = block(the_map, "encoder.self_attn").get_attribute("aria-label")
    assert label == "Encoder self-attention, layer 3, opens: Scaled dot-product attention"


def test_enter_and_space_open_the_block_with_the_focus(page: Page, shown) -> None:
    the_map = shown(page)
    for key, name in (("Enter", "decoder.cross_attn"), ("Space", "tokenize")):
        block(the_map, name).focus()
        page.keyboard.press(key)
        expect(page.get_by_text(f"Opened: {name}")).to_be_visible()
        assert focused(settled(page)) == name
    expect(page.get_by_text("Called: ['decoder.cross_attn', 'tokenize']")).to_be_visible()
    expect(told(the_map)).to_have_text(re.compile(r"^Tokenization\."))


def test_a_click_opens_a_block_with_a_link_alone(page: Page, shown) -> None:
    the_map = shown(page)
    block(the_map, "output.linear").click()
    block(the_map, "encoder.positions").click()
    expect(page.get_by_text("Opened: encoder.positions")).to_be_visible()
    expect(page.get_by_text("Called: ['encoder.positions']")).to_be_visible()
    page.get_by_text("Other sentence").click()
    expect(page.get_by_text("Opened: None")).to_be_visible()


def test_a_block_that_leads_to_another_page_opens_once(page: Page, shown) -> None:
    the_map = shown(page)
    block(the_map, "encoder.stack").click()
    expect(page.get_by_text("The lesson")).to_be_visible()
    expect(page.get_by_text("Opened: None")).to_be_visible()
    expect(page.get_by_text("Called: ['encoder.stack']")).to_be_visible()
    block(page.locator(".map"), "encoder.embedding").click()
    expect(page.get_by_text("Opened: encoder.embedding")).to_be_visible()


def test_pointing_tells_shape_and_range_of_the_real_tensor(page: Page, shown) -> None:
    the_map = shown(page)
    expect(told(the_map)).to_have_text(re.compile("^Point at a block"))
    height = the_map.bounding_box()["height"]
    tensors = trace("I ate an apple.").tensors
    for name, tensor in (
        ("encoder.self_attn", "encoder.layers.2.self_attn.weights"),
        ("decoder.cross_attn", "decoder.layers.2.cross_attn.weights"),
        ("encoder.positions", "encoder.embedding.positions"),
        ("decoder.feed_forward", "decoder.layers.2.feed_forward.output"),
        ("output.linear", "logits"),
    ):
        block(the_map, name).hover()
        values = tensors[tensor]
        shape = "(" + ", ".join(map(str, values.shape)) + ")"
        low, high = (f"{v:.2f}".replace("-", "−") for v in (values.min(), values.max()))
        expect(told(the_map)).to_contain_text(f"{tensor.rpartition('.')[2]} {shape}, {low} … {high}.")
        assert the_map.bounding_box()["height"] == height
    page.mouse.move(1, 1)
    expect(told(the_map)).to_have_text(re.compile("^Point at a block"))


def test_the_picture_shows_the_weights_of_the_sentence(page: Page, shown) -> None:
    """Darker where the weight is larger: the picture's cells read back are in the order of the weights."""
    the_map = shown(page)
    weights = trace("I ate an apple.").tensors["encoder.layers.2.self_attn.weights"].mean(0)
    darkens_with(block(the_map, "encoder.self_attn").locator("image"), weights, least=40)


def test_another_sentence_is_drawn_in_place_and_the_focus_stays(page: Page, shown) -> None:
    the_map = shown(page)
    target = block(the_map, "encoder.self_attn")
    target.evaluate("node => (node.mine = true)")
    before = target.locator("image").get_attribute("href")
    target.focus()
    page.get_by_text("Other sentence").evaluate("node => node.click()")
    expect(target.locator("image")).not_to_have_attribute("href", before)
    settled(page)
    assert target.evaluate("node => node.mine")
    assert focused(page) == "encoder.self_attn"
    again = trace("The black cat fights the dog")
    expect(the_map.locator(".translation")).to_have_text(again.translation)
    chips = block(the_map, "tokenize").locator("text.source").all_text_contents()
    assert chips == [token.text for token in again.src]


def test_without_links_nothing_takes_the_focus(page: Page, shown) -> None:
    the_map = shown(page, links="none", plain="1")
    assert the_map.locator("[tabindex]").count() == 0
    expect(told(the_map)).to_have_text("Point at a block to see what it is.")


def test_hostile_pieces_stay_text(page: Page, shown) -> None:
    the_map = shown(page, sentence=HOSTILE)
    assert "<" in block(the_map, "tokenize").locator("text.source").all_text_contents()
    title = block(the_map, "tokenize").locator("title").text_content()
    assert title.splitlines()[0] == " ".join(token.text if token.text.strip() else "␣" for token in trace(HOSTILE).src)
    assert page.evaluate("window.pwned") is None
    assert the_map.locator("img, script").count() == 0


def test_a_long_sentence_is_cut_where_there_is_no_room_and_whole_in_the_title(page: Page, shown) -> None:
    the_map = shown(page, sentence=LONG)
    tokens = trace(LONG).src
    shown_chips = block(the_map, "tokenize").locator("text.source").all_text_contents()
    assert re.fullmatch(r"\+\d+", shown_chips[-1])
    assert len(shown_chips) - 1 + int(shown_chips[-1]) == len(tokens)
    title = block(the_map, "tokenize").locator("title").text_content()
    assert title.splitlines()[0] == " ".join(token.text for token in tokens)


# Every text, its size on the screen, and whether it lies in its block and beside the block's picture.
LETTERING = """node => {
  const beside = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1;
  const apart = (a, b) => beside(a, b) || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
  const inside = (a, b) =>
    a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
  const rect = (n) => n.getBoundingClientRect();
  const svg = rect(node.querySelector("svg"));
  const zoom = svg.width / node.querySelector("svg").viewBox.baseVal.width;
  const faults = [];
  const texts = [...node.querySelectorAll("svg text")].filter((t) => t.textContent);
  for (const text of texts) {
    const size = parseFloat(getComputedStyle(text).fontSize) * zoom;
    if (size < 9) faults.push([text.textContent, "size", size]);
    if (!inside(rect(text), svg)) faults.push([text.textContent, "outside the drawing"]);
    const block = text.closest(".block");
    if (text.classList.contains("label")) {
      const body = rect(block.querySelector(".body"));
      if (!inside(rect(text), body)) faults.push([text.textContent, "outside its block"]);
      for (const picture of block.querySelectorAll("image, .bars"))
        if (picture.style.display !== "none" && !apart(rect(text), rect(picture)))
          faults.push([text.textContent, "on its picture"]);
    }
    for (const other of texts)
      if (other !== text && !apart(rect(text), rect(other))) faults.push([text.textContent, "on", other.textContent]);
  }
  return faults;
}"""


@pytest.mark.parametrize(("model", "sentence"), [("translator", "I"), ("translator", LONG), ("toy", "I")])
def test_all_labels_are_readable_and_nothing_scrolls_sideways(page: Page, shown, model: str, sentence: str) -> None:
    the_map = shown(page, sentence=sentence, model=model)
    for width, height in ((1280, 720), (820, 900), (390, 844), (320, 700)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(
            """([node, width]) =>
              innerWidth === width && node.querySelector("svg").width.baseVal.value <= node.clientWidth""",
            arg=[the_map.element_handle(), width],
        )
        settled(page)
        assert lasting(lambda: the_map.evaluate(LETTERING)) == [], f"at {width} × {height}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        svg = box_of(the_map.locator("svg"))
        assert svg["x"] >= 0
        assert svg["x"] + svg["width"] <= width


# Every text with its own colour, and that of what it stands on.
INK = """node => {
  const fill = (n) => getComputedStyle(n).fill;
  const bodyOf = (text) => text.closest(".block").querySelector(".body");
  const pairs = [...node.querySelectorAll(".block .label")].map((text) => [text, bodyOf(text)]);
  for (const text of node.querySelectorAll(".block text:not(.label)")) pairs.push([text, text.previousSibling]);
  const ground = getComputedStyle(node).getPropertyValue("--st-background-color");
  const all = pairs.map(([t, b]) => [t.textContent, fill(t), fill(b)]);
  const others = [...node.querySelectorAll(".marks text, .translation")];
  return [...all, ...others.map((text) => [text.textContent, fill(text), ground])];
}"""


@pytest.mark.parametrize("model", PLANS)
def test_in_each_theme_labels_contrast_with_their_blocks_and_axe_finds_nothing_serious(
    page: Page, shown, model: str
) -> None:
    the_map = shown(page, model=model)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        expect(the_map).to_have_attribute("data-theme", theme)
        colours = settled(page).locator(".map").evaluate(INK)
        assert len(colours) > 10 + 20 * (model == "translator")
        assert [(name, one, other) for name, one, other in colours if contrast(rgb(one), rgb(other)) < 4.5] == []
        assert lasting(lambda: axe_faults(page, '[data-testid="stMain"]')) == [], theme
