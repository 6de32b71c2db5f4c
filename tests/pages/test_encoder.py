"""The lesson on the encoder: one word in two sentences, a change that travels, its questions."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from experiments.inputs.contextual_vectors import PARTNERS, everyday_words, partner
from tests.oracle.forward import Array, Forward, config, source_ids, tokenizer
from tests.pages.kit import ROOT, component, markdown, opened, values
from ui import engine

PAGE = ROOT / "pages" / "blocks" / "encoder.py"
MONEY, RIVER = "I put my money in the bank.", "We sat on the bank of the river."
CATS, SOFA = "The black cat fights the white cat.", "A white cat sleeps on the black sofa."
STAGES = ["encoder.embedding.tokens", "encoder.embedding.output"]
STAGES += [f"encoder.layers.{n}.add_norm_2.output" for n in range(config()["n_layers"])]


def run(sentence: str) -> Forward:
    return Forward(source_ids(sentence), [2])


def words(sentence: str) -> dict[str, list[int]]:
    """Where the pieces of each word stand, of equal words those of the first."""
    found: dict[str, list[int]] = {}
    at = 0
    for word in re.findall(r"\w+|[^\w\s]", sentence):
        size = len(tokenizer().encode(word, add_special_tokens=False).ids) if word.isalnum() else 1
        if word.isalnum():
            found.setdefault(word, list(range(at, at + size)))
        at += size
    assert at == len(source_ids(sentence)) - 1
    return found


@pytest.mark.parametrize("word", ["", "zebra", "<b>", "x" * 5000, "cat "])
def test_a_word_that_is_not_there_is_the_longest(word: str) -> None:
    data = component(opened(PAGE, sentence=CATS, second=SOFA, word=word), "shared_words")
    assert data["rows"][data["selected"][0]] == "black"


def test_an_empty_box_gets_a_sentence_that_shares_a_long_word() -> None:
    assert partner(engine.trace(MONEY)) == RIVER
    assert partner(engine.trace(RIVER)) == MONEY
    assert partner(engine.trace("I ate an apple")) == "She gave the teacher an apple."
    for sentence in ("I ate an apple", *PARTNERS):
        assert component(opened(PAGE, sentence=sentence), "shared_words")


def test_two_hard_pairs_are_one_click_away() -> None:
    app = opened(PAGE)
    app.button(key="pair_plays").click().run()
    assert app.text_input(key="sentence").value == "He plays basketball every Saturday."
    assert "plays" in component(app, "shared_words")["rows"]
    app.button(key="pair_bank").click().run()
    assert app.text_input(key="second").value == RIVER
    assert "das Ufer" in markdown(app)


def travelled(sentence: str, at: int, word: str, machine: type[Forward]) -> Array:
    before = source_ids(sentence)
    after = [*before[:at], tokenizer().encode(word, add_special_tokens=False).ids[0], *before[at + 1 :]]
    one, two = machine(before, [2]), machine(after, [2])
    return np.stack(
        [np.linalg.norm(two[name] - one[name], axis=1) / np.linalg.norm(one[name], axis=1) for name in STAGES], axis=1
    )


def change(app: AppTest) -> tuple[int, str]:
    piece, word = (box.value for box in app.selectbox)
    return piece, word


def test_another_piece_and_another_word() -> None:
    app = opened(PAGE, sentence=CATS)
    app.selectbox[0].set_value(1).run()
    app.selectbox[1].set_value("old").run()
    assert change(app) == (1, "old")
    assert values(app, "do_before") == pytest.approx(travelled(CATS, 1, "old", Forward), abs=1e-4)
    again = opened(PAGE, sentence=CATS, change=app.query_params["change"])
    assert change(again) == (1, "old")


def test_a_piece_is_not_replaced_by_itself() -> None:
    for sentence in ("The window is open.", "Window", "window"):
        app = opened(PAGE, sentence=sentence)
        at, word = change(app)
        assert source_ids(sentence)[at] != everyday_words(engine.model())[word]
        assert word not in [w for w, id in everyday_words(engine.model()).items() if id == source_ids(sentence)[at]]


@pytest.mark.parametrize("text", ["0.1", "99.1", "1.999", "x", "1", "-1.2", ""])
def test_a_change_that_cannot_be_is_the_default(text: str) -> None:
    assert change(opened(PAGE, sentence=CATS, change=text)) == (7, "window")


def test_everyday_words_are_single_pieces() -> None:
    assert len(everyday_words(engine.model())) > 40
    for word, id in everyday_words(engine.model()).items():
        assert tokenizer().encode(word, add_special_tokens=False).ids == [id]
