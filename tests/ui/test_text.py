"""Whatever was typed comes out as text: in HTML, in Markdown."""

import html
import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ui.text import chance, in_html, in_markdown, legible, magnitude, number, visible

ANY = st.text()
SIGNS = st.text(alphabet="\\`*_{}[]()<>#+-.!|~$:&@=^\"'/ \n\tab1;%", max_size=30)
HOSTILE = [
    "<script>window.pwned = 1</script>",
    "</script><img src=x onerror=alert(1)>",
    "**bold** _it_ `code` ~~gone~~",
    "[text](javascript:alert(1)) ![x](http://example.com/x.png)",
    ":red[text] :material/home: :smile: $x^2$ $$y$$",
    "# title\n- list\n1. one\n> quote\n---\n| a | b |\n|---|---|",
    "    indented code",
    "&lt;b&gt; &amp; <b>",
    "<https://example.com> https://example.com",
]


def is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co")


def plain_text_of(markdown: str) -> str:
    """The text that a Markdown parser finds. Fails if it finds anything but text in one paragraph."""
    blocks = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(markdown)
    assert [b.type for b in blocks] in ([], ["paragraph_open", "inline", "paragraph_close"]), markdown
    inside = [part for b in blocks for part in b.children or []]
    assert {part.type for part in inside} <= {"text"}, markdown
    return "".join(part.content for part in inside)


@given(ANY.filter(lambda text: not any(map(is_control, text))))
def test_html_gives_the_text_back(text: str) -> None:
    assert html.unescape(in_html(text)) == text


@given(ANY)
def test_html_holds_no_markup_and_no_control_characters(text: str) -> None:
    result = in_html(text)
    assert not set(result) & set("<>\"'")
    assert not [c for c in result if is_control(c) and c not in "\u200c\u200d"]


@given(ANY | SIGNS | st.sampled_from(HOSTILE))
def test_markdown_gives_the_text_back_and_nothing_else(text: str) -> None:
    words = " ".join(visible(text).split())
    assert plain_text_of(in_markdown(text)).replace("\u2060", "") == (
        words or "␣" * bool(text)
    )  # a piece may be a space alone


@pytest.mark.parametrize(
    "text", ["**bold**", "<b>", "`code`", "[a](b)", "# title", "- a", "&lt;", "1. one", "~~gone~~"]
)
def test_markup_that_is_not_escaped_would_be_seen(text: str) -> None:
    with pytest.raises(AssertionError):
        assert plain_text_of(text) == text


def test_direction_and_control_characters_are_shown() -> None:
    assert visible("a\u202eb\x00c\x1b") == "a‹U+202E›b‹U+0000›c‹U+001B›"
    assert visible("👩\u200d🔬") == "👩\u200d🔬"


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [(0.12345, 4, "0.1235"), (-1.5, 2, "−1.50"), (-0.00001, 4, "0.0000"), (3, 0, "3"), (-0.0, 1, "0.0")],
)
def test_numbers_have_a_true_minus_and_no_negative_zero(value: float, digits: int, expected: str) -> None:
    assert number(value, digits) == expected


def test_a_chance_that_decimals_would_show_as_0_or_1_is_called_neither_impossible_nor_sure() -> None:
    values = (0.0, 1e-9, 0.000049, 0.000051, 0.25, 0.99994, 0.99996, 0.9999991, 1.0)
    shown = ["0.0000", "<0.0001", "<0.0001", "0.0001", "0.2500", "0.9999", ">0.9999", "1.0000", "1.0000"]
    assert [chance(value) for value in values] == shown
    assert [chance(value, 2) for value in (0.004, 0.006, 0.994, 0.996)] == ["<0.01", "0.01", "0.99", ">0.99"]


def test_a_number_that_four_decimals_would_show_as_0_is_told_by_its_size() -> None:
    values = (0.0, 3.24e-6, -4.9e-5, 5.1e-5, -0.25)
    assert [legible(value) for value in values] == ["0.0000", "3.2 · 10⁻⁶", "−4.9 · 10⁻⁵", "0.0001", "−0.2500"]


def test_infinities_are_numbers_too() -> None:
    assert [number(-math.inf), number(math.inf, 2)] == ["−∞", "∞"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.000"), (0.1234, "0.123"), (-2, "−2.000"), (1.25e-7, "1.2 · 10⁻⁷"), (-3e8, "−3.0 · 10⁸"), (math.inf, "∞")],
)
def test_any_size_in_a_few_characters(value: float, text: str) -> None:
    assert magnitude(value) == text
