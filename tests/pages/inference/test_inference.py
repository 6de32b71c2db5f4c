"""The lesson on inference, by what it would show; searches of the oracle compute its numbers again."""

import re
from functools import cache

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import tests.course  # noqa: F401 - fills the course
from explain import worked_score
from tests.oracle.language.formula import agree
from tests.oracle.language.words import pieces, visible
from tests.oracle.passes import decode
from tests.oracle.passes.decode import Writer
from tests.oracle.passes.forward import EOS
from tests.pages.kit import assert_sound, component, markdown, opened
from ui.course.lesson import COURSE

PAGE = COURSE.lesson("inference").slug
SENTENCE = "The black cat fights the white cat."
BEAM, SAMPLING, CACHE, AT_ONCE = "Beam search", "Sampling", "With and without cache", "All at once"


@cache
def writer(text: str) -> Writer:
    return Writer(text)


@cache
def greedy(text: str, prefix: tuple[int, ...] = ()) -> tuple[int, ...]:
    return decode.greedy(writer(text), prefix)


def at(sentence: str = SENTENCE, **parameters: str) -> AppTest:
    return opened(PAGE, sentence=sentence, **parameters)


def text_of(id: int) -> str:
    """A piece as it is shown."""
    (piece,) = pieces([id])
    return visible(piece.text)


def dotted(ids: tuple[int, ...]) -> str:
    return ".".join(map(str, ids))


def second(text: str, step: int) -> int:
    """The runner-up of a step of greedy search."""
    return int(np.argsort(-writer(text).scores(greedy(text)[:step]))[1])


# --- See: the theatre ------------------------------------------------------------------------------------------------


def test_the_head_it_needs_most_is_one_click_away() -> None:
    page = at(at="4")
    (reason,) = re.findall(r"\*\*Head\.\*\* (.*)", markdown(page))
    (layer, head) = re.findall(r"layer (\d), head (\d)", reason)[0]
    page.button(key="show_head").click().run()
    assert_sound(page)
    assert f"layer {layer}, head {head}" in component(page, "theatre")["source_name"]
    asked = "Looks at your sentence" if "encoder-dec" in reason else "Looks at what it read"
    assert page.query_params["numbers"] == asked


def test_a_sentence_ended_by_hand_says_so() -> None:
    page = at(prefix=dotted((greedy(SENTENCE)[0], EOS)), at="2")
    assert component(page, "theatre")["target"] == ["<sos>", text_of(greedy(SENTENCE)[0]), "<eos>"]
    assert r"You ended the sentence: after \<eos\> nothing more is written." in markdown(page)
    for method in (BEAM, SAMPLING, CACHE, AT_ONCE):
        assert_sound(at(prefix=str(EOS), method=method))


def test_pieces_chosen_for_one_sentence_are_forgotten_in_another() -> None:
    page = at(prefix=str(second(SENTENCE, 0)))
    page.text_input(key="sentence").input("I put my money in the bank.").run()
    assert_sound(page)
    assert "prefix" not in page.query_params
    assert component(page, "theatre")["target"][1:] == [*map(text_of, greedy("I put my money in the bank."))]
    there = second("He runs.", 0)  # an address that brings along a sentence and pieces is followed whole
    page.query_params["sentence"], page.query_params["prefix"] = "He runs.", str(there)
    assert_sound(page.run())
    assert component(page, "theatre")["target"][1] == text_of(there)


@pytest.mark.parametrize(
    ("prefix", "kept", "says"),
    [
        ("99999.-1", 0, "99999, but id 99999 is not in the vocabulary of 8000 entries"),
        ("-1", 0, "id -1 is not in the vocabulary"),
        ("306.1", 1, "id 1 is a sign that is never written"),
        ("306.0.445", 1, "id 0 is a sign that is never written"),
        ("306.2.445", 2, "nothing can follow id 2"),
        ("306.abc", 1, "that is no id of the vocabulary"),
        ("306.4²", 1, "that is no id of the vocabulary"),
        ("306.--5", 1, "that is no id of the vocabulary"),
        ("", 0, ""),
        ("<b>*x*</b>", 0, "that is no id of the vocabulary"),
        (".".join(["306"] * 3000), 100, "101 tokens are given, but a translation ends after 100"),
    ],
)
def test_a_beginning_that_cannot_be_is_left_out_and_that_is_said(prefix: str, kept: int, says: str) -> None:
    page = at(prefix=prefix)
    warnings = [w.value.replace("\\", "") for w in page.warning]
    assert len(warnings) == bool(says)
    assert all(says in warning for warning in warnings)
    asked = prefix.split(".")[:kept]
    assert component(page, "theatre")["target"][1 : kept + 1] == [text_of(int(id)) for id in asked]


@pytest.mark.parametrize(("asked", "step"), [("0", 0), ("99", -1), ("abc", 0), ("-3", 0), ("3.5", 0), ("²", 0)])
def test_a_step_that_cannot_be(asked: str, step: int) -> None:
    data = component(at(at=asked), "theatre")
    assert data["step"] == step % len(data["steps"])


# --- Do: beam search -------------------------------------------------------------------------------------------------


def test_of_a_long_translation_the_last_log_probabilities_are_added_up() -> None:
    terms = [-0.1 * n for n in range(1, 21)]
    added, length, score = worked_score(terms, 0.6)
    assert "8 of them in the last term" in added.says
    assert agree(added.formula) == pytest.approx(sum(terms))
    assert agree(length.formula) == pytest.approx(25 / 6, abs=1e-4)
    assert agree(score.formula) == pytest.approx(decode.penalised(sum(terms), 20, 0.6), abs=1e-3)


# --- Do: sampling ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "name", "asked", "value"),
    [
        (BEAM, "beam", "999", "3"),
        (BEAM, "beam", "0", "3"),
        (BEAM, "alpha", "nan", "1"),
        (SAMPLING, "temperature", "-3", "1"),
        (SAMPLING, "top_p", "<b>", "1"),
        (SAMPLING, "top_k", "1e9", "0"),
        (SAMPLING, "seed", "abc", "0"),
        (SAMPLING, "seed", "inf", "0"),
    ],
)
def test_an_address_that_asks_for_what_cannot_be(method: str, name: str, asked: str, value: str) -> None:
    text = markdown(at(method=method, **{name: asked})).replace("\\", "")
    assert f"The address asks for {name} = {asked}, which cannot be; it is {value}." in text


def test_a_seed_of_five_hundred_digits_breaks_nothing() -> None:
    app = at(method=SAMPLING, seed="9" * 500)
    assert not app.exception
    assert "Drawn: " in markdown(app)


def test_an_address_that_asks_for_what_can_be_is_not_commented() -> None:
    assert "The address asks for" not in markdown(at(method=BEAM, beam="1", alpha="0.0", prefix="306"))
    assert "The address asks for" not in markdown(at(method=SAMPLING, temperature="1.0", top_p="0.90", seed="9999"))
