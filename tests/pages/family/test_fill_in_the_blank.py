"""Hiding words by a click, and what is said to odd input."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.kit import assert_sound, choose_in, component, markdown, notices, opened

SLUG, CARDS = "fill-in-the-blank", "blanks_of_text"


def cards(app: AppTest) -> list[list[str]]:
    return [[text, *small] for text, small, _, _ in component(app, CARDS)["cards"]]


def click(app: AppTest, n: int) -> AppTest:
    (figure,) = (e for e in app.get("bidi_component") if e.key == CARDS)
    return choose_in(app, figure, n, n)


def test_a_click_hides_a_word_and_another_shows_it() -> None:
    app = opened(SLUG, sentence="I ate an apple")
    assert cards(app) == [["I"], ["ate"], ["[MASK]", "an"], ["apple"], ["."]]
    # It opens on a word that BERT knows much better than GPT.
    times = re.search(r"BERT finds it ([\d.]+) times as likely as GPT does", markdown(app))
    assert times
    assert float(times[1]) > 5
    click(app, 3)
    assert cards(app) == [["I"], ["ate"], ["[MASK]", "an"], ["[MASK]", "apple"], ["."]]
    assert app.query_params["blanks"] == "3.4"
    click(app, 2)
    click(app, 3)
    assert cards(app) == [["I"], ["ate"], ["an"], ["apple"], ["."]]
    assert any("no blank to fill" in said for said in notices(app))
    click(app, 2)
    assert "blanks" not in app.query_params  # as it opened


def test_an_example_comes_with_its_blank() -> None:
    app = opened(SLUG, sentence="I ate an apple", blanks="1.2")
    next(button for button in app.button if button.label.startswith("The bird flew")).click().run()
    assert_sound(app)
    assert app.text_input(key="sentence").value == "The bird flew out of the window."
    assert [card[1:] for card in cards(app) if card[0] == "[MASK]"] == [["out"]]


@pytest.mark.parametrize("blanks", ["9", "0.1", "1..2", "²", "x", "1," * 500, "1." * 300 + "1"])
def test_an_address_that_cannot_be_opens_the_page_as_it_is(blanks: str) -> None:
    assert cards(opened(SLUG, sentence="I ate", blanks=blanks)) == cards(opened(SLUG, sentence="I ate"))


def test_every_word_hidden_is_said_and_it_goes_on() -> None:
    app = opened(SLUG, sentence="I ate.", blanks="1.2.3")
    assert any("Every word is hidden" in said for said in notices(app))
    assert "Among 8,000 pieces BERT ranks it" in markdown(app)


def test_a_text_of_five_hundred_words_is_cut() -> None:
    app = opened(SLUG, sentence="one day he ran " * 125)
    assert len(cards(app)) <= 100
    assert any("reads only the first" in said for said in notices(app))
