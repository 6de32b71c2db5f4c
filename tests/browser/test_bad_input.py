"""Whatever comes in: a translation or one clear sentence, what was typed stays, nothing is executed, nothing breaks."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import offline
from tests.browser.kit import rerun, settled
from tests.oracle.passes.forward import tokenizer
from tests.oracle.shown.frame import prose as frame
from ui.views.attention_kinds import READABLE

pytestmark = pytest.mark.browser

MARKUP = [
    "<script>window.pwned = 1</script>",
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    '"><svg onload="window.pwned = 1">',
    "[click](javascript:window.pwned=1) **bold** :red[red] $x^2$",
]
TYPED = {
    "empty": "",
    "spaces": "      ",
    "10,000 characters": "a" * 10_000,
    "10,000 characters in words": "I see the old house. " * 476,
    "500 words": " ".join(["dog"] * 500),
    "emoji": "I love 🍎 and 👩‍🔬 and 🇩🇪!",
    "Thai": "ฉันกินแอปเปิ้ลหนึ่งผล",
    "right to left": "אכלתי תפוח",
    "direction marks": "abc \u202edcba\u202c \u2066x\u2069",
    "control characters": "I\x01 ate\x1b[31m an\x7f apple",
    "combining marks": "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘",
    "lone marks": ".",
    "<sos>": "<sos>",
    "<eos> inside": "I ate <eos> an apple",
    "NUL": "\x00",
    **{text[:12]: text for text in MARKUP},
}
ADDRESSES = {
    "numbers too large": "layer=99&head=99.99&map=99.99&cell=99.99",
    "everything wrong": "layer=-1&head=x&map=0.0&cell=1.1.1&attention=None&words=2&stage=%00&step=1e9&present=7",
    "a repeated parameter": "sentence=A+dog.&sentence=A+cat.&map=1.1&map=2.2&cell=1.1&cell=2.2",
    "no valid UTF-8": "sentence=%FF%FE+dog",
    "markup": "sentence=" + quote(MARKUP[0]) + "&map=" + quote(MARKUP[1]),
    "60 kB of sentence": "sentence=" + "dog+" * 15_000,
}


@pytest.fixture(scope="module")
def open_page(browser: Browser, url: str) -> Iterator[Page]:
    """One page for all that is typed."""
    with offline(browser, color_scheme="light") as context:
        page = context.new_page()
        page.goto(url)
        page.locator(".st-key-map tbody td").first.wait_for()
        yield page


def sound(page: Page) -> None:
    """Answered, nothing broken, nothing executed."""
    expect(page.locator(".st-key-translation, .stAlert").first).to_have_text(re.compile(r"\S"))
    settled(page)
    assert page.locator(".stAlert").count() <= 2
    expect(page.locator(".stException")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.evaluate("() => window.pwned") is None
    assert page.locator(".stMain script, .stMain img, .stMain svg[onload], .stMain a[href^=javascript]").count() == 0
    assert "Traceback" not in page.locator("body").inner_text()


@pytest.mark.parametrize("text", TYPED.values(), ids=TYPED)
def test_whatever_is_typed_is_answered_and_stays(text: str, open_page: Page) -> None:
    page = open_page
    box = page.get_by_role("textbox").first
    kept = page.evaluate("text => Object.assign(document.createElement('input'), { value: text }).value", text)
    if box.input_value() == kept:  # tried once more
        rerun(page, lambda: (box.fill("We saw the dog."), box.press("Enter")))
    rerun(page, lambda: (box.fill(text), box.press("Enter")))
    sound(page)
    expect(box).to_have_value(kept)
    if not text.strip("\x00 "):
        expect(page.locator(".stAlert")).to_have_text([frame.line("nothing to translate")])
    if len(text) > 1000:
        expect(page.locator(".stAlert").first).to_contain_text("reads only the first")


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
def test_whatever_stands_in_the_address_is_answered(address: str, page: Page, url: str) -> None:
    page.goto(f"{url}/?{address}")
    sound(page)
    if "dog+dog" in address:
        kept = page.get_by_role("textbox").first.input_value()
        assert len(kept) == 60_000
        assert set(kept.split()) == {"dog"}
        expect(page.locator(".stAlert").first).to_contain_text("reads only the first")


def test_markup_in_the_sentence_is_shown_as_text_everywhere(open_page: Page) -> None:
    page = open_page
    box = page.get_by_role("textbox").first
    for text in MARKUP:
        box.fill(text)
        box.press("Enter")
        labels = page.locator(".st-key-map th[scope=col] span")
        n_tokens = len(tokenizer().encode(text, add_special_tokens=False).ids) + 1
        expect(labels).to_have_count(min(n_tokens, READABLE))
        settled(page)
        shown = "".join(labels.evaluate_all("all => all.map((span) => span.title || span.textContent)"))
        whole = text.replace(" ", "") + "<eos>"
        assert shown.replace("␣", "") == whole[: len(shown.replace("␣", ""))]
