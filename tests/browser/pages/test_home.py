"""The home page as a learner uses it, in a real Chromium."""

import asyncio
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from benchmarks.answers import BAR_KB, sizes
from tests.browser.conftest import ROOT, offline, served
from tests.browser.kit import axe_faults, becomes, lasting, settled, sideways, wear
from tests.oracle.language.formula import agree
from tests.oracle.passes.decode import german, translated

pytestmark = pytest.mark.browser

APP = ROOT / "app.py"
SENTENCE = "My neighbour's cat doesn't like the rain."
PHONE = {"width": 390, "height": 844}
KINDS = {"encoder": "Encoder", "decoder": "Masked decoder", "cross": "Encoder-decoder"}
PATHS = {
    "encoder": "encoder.layers.{}.self_attn",
    "decoder": "decoder.layers.{}.self_attn",
    "cross": "decoder.layers.{}.cross_attn",
}


# Whether the link to the training lies over the label of the translation.
LABEL_IS_COVERED = """() => {
  const label = document.createRange();
  label.selectNodeContents(document.querySelector("#tw-written"));
  const a = label.getBoundingClientRect(), b = document.querySelector(".st-key-home_learn a").getBoundingClientRect();
  return a.right > b.left && a.left < b.right && a.bottom > b.top && a.top < b.bottom;
}"""


def opened(page: Page, url: str, **parameters: str) -> Page:
    page.goto(f"{url}/?{urlencode(parameters)}")
    return drawn(page)


def drawn(page: Page) -> Page:
    page.locator(".st-key-map tbody td").first.wait_for()
    page.locator(".st-key-heads canvas").first.wait_for()
    page.locator(".st-key-worked .katex").first.wait_for()
    return settled(page)


def box(page: Page) -> Locator:
    return page.get_by_role("textbox").first


def translation(page: Page) -> str:
    return page.locator(".st-key-translation").inner_text().strip()


def headers(page: Page, scope: str) -> list[str]:
    """Labels of the large map's rows ("row") or columns ("col")."""
    labels = page.locator(f".st-key-map th[scope={scope}] span")
    return labels.evaluate_all("all => all.map((span) => span.title || span.textContent)")


def cell(page: Page, row: int, column: int) -> Locator:
    return page.locator(".st-key-map tbody tr").nth(row).locator("td").nth(column)


def head(page: Page, layer: int, head: int) -> Locator:
    return page.locator(".st-key-heads").get_by_role("button", name=f"layer {layer}, head {head}")


def formulas(page: Page) -> list[str]:
    """The LaTeX of the arithmetic shown."""
    source = page.locator('.st-key-worked annotation[encoding="application/x-tex"]')
    return [text.removeprefix(r"\displaystyle").strip() for text in source.all_text_contents()]


def parameters(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def state(page: Page) -> dict[str, object]:
    """Everything on the page that the address must bring back."""
    drawn(page)
    return {
        "box": box(page).input_value(),
        "translation": translation(page),
        "kind": page.get_by_role("radio", checked=True).all_inner_texts(),
        "toggles": page.get_by_role("switch", checked=True).or_(page.get_by_role("checkbox", checked=True)).count(),
        "head": page.locator(".st-key-heads button[aria-pressed=true]").get_attribute("title"),
        "title": page.locator(".st-key-map figcaption").inner_text(),
        "rows": headers(page, "row"),
        "columns": headers(page, "col"),
        "numbers": page.locator(".st-key-map tbody td").all_inner_texts(),
        "cell": page.locator(".st-key-map td[aria-selected=true]").evaluate_all(
            "all => all.map((td) => [td.parentNode.rowIndex, td.cellIndex])"
        ),
        "worked": formulas(page),
    }


def nothing_wrong(page: Page) -> None:
    """No dialog, no error, no traceback."""
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".stException")).to_have_count(0)
    expect(page.locator(".stAlert").filter(has_text=re.compile("error", re.IGNORECASE))).to_have_count(0)


def check_arithmetic(page: Page, sentence: str, kind: str, layer: int, head: int, row: int, column: int) -> None:
    """The three steps shown are sound, and their results are those of the oracle."""
    shown = [agree(formula) for formula in formulas(page)]
    assert len(shown) == 3
    oracle, path = translated(sentence), PATHS[kind].format(layer - 1)
    expected = [float(oracle[f"{path}.{what}"][head - 1, row, column]) for what in ("products", "scaled", "weights")]
    assert shown == pytest.approx(expected, abs=2e-4)
    expect(page.locator(".st-key-worked")).to_contain_text(f"How did this {expected[-1]:.4f} come about")


def test_a_sentence_of_ones_own_is_translated_and_drawn(page: Page, url: str) -> None:
    opened(page, url)
    assert box(page).get_attribute("aria-label") == "English sentence"
    assert box(page).input_value() == "I ate an apple"
    oracle = translated(SENTENCE)
    box(page).fill(SENTENCE)  # no Enter: it is sent by itself
    expect(page.locator(".st-key-translation")).to_have_text(german(SENTENCE))
    drawn(page)
    for kind in ("cross", "encoder"):
        page.get_by_role("radio", name=KINDS[kind], exact=True).click()
        expect(page.locator(".st-key-map th[scope=row]")).to_have_count(
            len(oracle.labels if kind == "cross" else oracle.ids["encoder"])
        )
        settled(page)
        assert "".join(headers(page, "col")) == SENTENCE.replace(" ", "") + "<eos>"
    nothing_wrong(page)


def test_a_head_chosen_in_the_overview_is_shown_large(page: Page, url: str) -> None:
    opened(page, url, sentence=SENTENCE)
    head(page, 2, 3).click()
    expect(page.locator(".st-key-map figcaption")).to_contain_text("layer 2, head 3")
    expect(head(page, 2, 3)).to_have_attribute("aria-pressed", "true")
    weights = translated(SENTENCE)["decoder.layers.1.cross_attn.weights"][2]
    for row, column in ((0, 0), (3, 4), (len(weights) - 1, weights.shape[1] - 1)):
        cell(page, row, column).hover()
        expect(page.locator(".st-key-map .readout")).to_contain_text(f"{weights[row, column]:.4f}")
    expect(page).to_have_url(re.compile(r"map=2\.3(&|$)"))


def test_everything_works_from_the_keyboard(page: Page, url: str) -> None:
    opened(page, url)
    box(page).focus()
    page.keyboard.press("Control+a")
    page.keyboard.type(SENTENCE)
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-translation")).to_have_text(german(SENTENCE))
    drawn(page)

    def tab_until(inside: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("key => document.activeElement.closest(`.st-key-${key}`) !== null", inside):
                return
        raise AssertionError(f"Tab does not lead into {inside}")

    tab_until("heads")
    for key in ("Control+Home", "ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".st-key-map figcaption")).to_contain_text("layer 2, head 3")
    drawn(page)
    tab_until("map")
    for key in ("Control+Home", "ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(re.compile(r"cell=3\.2"))
    drawn(page)
    check_arithmetic(page, SENTENCE, "cross", 2, 3, 2, 1)


@pytest.fixture(scope="module")
def link(browser: Browser, url: str) -> Iterator[tuple[str, dict[str, object]]]:
    """An address made by clicking, without host, and what the page showed then."""
    with offline(browser, color_scheme="light") as context:
        page = opened(context.new_page(), url)
        box(page).fill(SENTENCE)
        expect(page.locator(".st-key-translation")).to_have_text(german(SENTENCE))
        drawn(page)
        page.get_by_role("radio", name=KINDS["encoder"], exact=True).click()
        settled(page).get_by_text("Group pieces into words").click()
        settled(page).get_by_text("Hide <eos>").click()
        page.wait_for_url(re.compile("hide_eos"))
        head(page, 3, 1).click()
        page.wait_for_url(re.compile("map="))
        drawn(page)
        cell(page, 1, 3).click()
        page.wait_for_url(re.compile("cell="))
        page.mouse.move(0, 0)
        shown = state(page)
        yield page.url.removeprefix(url), shown


def test_the_address_reopens_the_state_as_the_first_request_to_a_fresh_server(
    link: tuple[str, dict[str, object]], page: Page
) -> None:
    address, before = link
    with served(APP) as fresh:
        page.goto(fresh + address)
        assert state(page) == before
        nothing_wrong(page)


def test_a_reload_and_a_second_window_show_the_same(
    link: tuple[str, dict[str, object]], page: Page, url: str, new_page: Callable[..., Page]
) -> None:
    address, before = link
    page.goto(url + address)
    assert state(page) == before
    page.reload()
    assert state(page) == before
    other = new_page(color_scheme="dark")
    other.goto(url + address)
    assert state(other) == before
    box(other).fill("A dog.")
    box(other).press("Enter")
    expect(other.locator(".st-key-translation")).to_have_text(german("A dog."))
    assert state(page) == before  # windows do not disturb each other


def test_the_sentence_follows_through_the_course_and_the_back_button_goes_back(page: Page, url: str) -> None:
    opened(page, url, sentence=SENTENCE, map="2.3", cell="1.2")
    before = state(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Scaled dot-product").click()
    page.wait_for_url("**/scaled-dot-product**")
    expect(page.get_by_role("heading", level=1)).to_have_text("Scaled dot-product")
    expect(box(page)).to_have_value(SENTENCE)
    page.get_by_test_id("stSidebar").get_by_role("link", name="About the model").click()
    page.wait_for_url("**/about**")
    expect(page.get_by_role("heading", level=1)).to_have_text("About the model")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Scaled dot-product")
    expect(box(page)).to_have_value(SENTENCE)
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Transformer Walkthrough")
    assert state(page) == before
    nothing_wrong(page)


def test_nothing_is_built_anew_when_a_notice_comes_or_goes(page: Page, url: str) -> None:
    """What is built anew flickers and forgets where the keyboard was."""
    opened(page, url, sentence="A dog.")
    inside = "key => [...document.querySelectorAll(`.st-key-${key} *`)].find((node) => node.shadowRoot)"
    parts = [page.evaluate_handle(inside, key) for key in ("map", "heads")]
    for sentence in ("qwrtz plmkn vbxcz", "I ate an apple", "A dog."):
        box(page).fill(sentence)
        expect(page.locator(".st-key-translation")).to_have_text(german(sentence))
        drawn(page)
        assert [part.evaluate("node => node.isConnected") for part in parts] == [True, True]


def test_a_click_on_an_example_translates_it(page: Page, url: str) -> None:
    opened(page, url)
    page.get_by_role("button", name="A mistake").click()
    sentence = "The animal didn't cross the street because it was too wide."
    expect(box(page)).to_have_value(sentence)
    expect(page.locator(".st-key-translation")).to_have_text(german(sentence))


def test_nothing_serious_for_axe_and_no_sideways_scrolling(page: Page, url: str) -> None:
    opened(page, url, sentence="dog the over blue because seven eat", map="2.3")  # more is said of a doubtful one
    more, line = page.locator(".tw-doubt p"), page.locator(".tw-doubt summary")
    expect(more).to_be_hidden()
    play = page.get_by_role("button", name="Play", exact=True)
    becomes(lambda: play.evaluate("node => node.getBoundingClientRect().bottom <= innerHeight"), True)
    line.focus()
    page.keyboard.press("Enter")
    expect(more).to_be_visible()
    waved = page.locator(".tw-doubtful").evaluate("word => getComputedStyle(word).textDecorationStyle")
    assert waved == "wavy", "told by more than a colour"
    for scheme, width in (("light", 1280), ("dark", 1280), ("dark", 390), ("light", 390)):
        wear(page, scheme, width)  # type: ignore[arg-type]
        assert lasting(lambda: axe_faults(page)) == [], (scheme, width)
        assert sideways(page) == [], (scheme, width)
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        becomes(lambda: page.evaluate(LABEL_IS_COVERED), False)


def test_an_answer_takes_few_bytes_on_the_wire(url: str) -> None:
    """Deflated, without what a browser keeps, and numbers to three digits: see `benchmarks.answers`."""
    stream = url.replace("http", "ws", 1) + "/_stcore/stream"
    with ThreadPoolExecutor(1) as beside:  # the browser's own loop runs in this thread
        (size,) = beside.submit(asyncio.run, sizes(stream, ["The doctor found a big garden last week."])).result()
    assert 60 < size <= BAR_KB
