"""Cutting words out by a drag or a click, as the browser reports them, and messages that no browser sends."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.kit import choose_in, component, opened

SLUG, CARDS = "only-what-is-missing", "blanks_of_text"


@pytest.fixture
def app() -> AppTest:
    return opened(SLUG, sentence="The boy sees the girl.", blanks="0")


def drag(app: AppTest, first: int, last: int) -> list[str]:
    """What stands on the cards after a drag from one piece to another."""
    (figure,) = (e for e in app.get("bidi_component") if e.key == CARDS)
    choose_in(app, figure, first, last)
    return [text for text, *_ in component(app, CARDS)["cards"]]


def test_neighbouring_words_become_one_stretch_and_others_their_own(app: AppTest) -> None:
    assert drag(app, 1, 2) == ["The", "<X>", "<X>", "the", "girl", "."]
    assert app.query_params["blanks"] == "2.3"
    assert drag(app, 4, 4) == ["The", "<X>", "<X>", "the", "<Y>", "."]
    assert drag(app, 2, 4) == ["The", "<X>", "<X>", "<X>", "<X>", "."], "what was cut out already stays so"
    assert drag(app, 2, 2) == ["The", "<X>", "sees", "<Y>", "<Y>", "."], "a click puts a word back"
    assert drag(app, 3, 4) == ["The", "<X>", "sees", "the", "girl", "."], "so does a drag over cut words alone"
    assert drag(app, 1, 1) == ["The", "boy", "sees", "the", "girl", "."]
    assert app.query_params["blanks"] == "0"


def test_a_word_goes_whole() -> None:
    app = opened(SLUG, sentence="Frobnicating quokkas sleep.", blanks="0")
    words = [word for _, _, word, _ in component(app, CARDS)["cards"]]
    assert words.count(words[1]) > 1
    cut = drag(app, 1, 1)
    assert [text == "<X>" for text in cut] == [word == words[1] for word in words]


@pytest.mark.parametrize(("first", "last"), [(-1, 2), (3, 1), (0, 6), (99, 99)])
def test_a_run_that_cannot_be_is_not_believed(app: AppTest, first: int, last: int) -> None:
    assert drag(app, first, last) == ["The", "boy", "sees", "the", "girl", "."]
