"""The lesson on the encoder: one word in two sentences, a change that travels, its questions."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from experiments.inputs.contextual_vectors import PARTNERS, everyday_words, partner
from tests.oracle.forward import Array, Forward, config, source_ids, tokenizer
from tests.pages.kit import ROOT, column_chart, component, markdown, notices, opened, values, verdict
from ui import engine
from ui.views.attention_kinds import READABLE

PAGE = ROOT / "pages" / "blocks" / "encoder.py"
MONEY, RIVER = "I put my money in the bank.", "We sat on the bank of the river."
CATS, SOFA = "The black cat fights the white cat.", "A white cat sleeps on the black sofa."
STAGES = ["encoder.embedding.tokens", "encoder.embedding.output"]
STAGES += [f"encoder.layers.{n}.add_norm_2.output" for n in range(config()["n_layers"])]


class Deaf(Forward):
    """A pass whose encoder has no self-attention."""

    def attention(self, path: str, x: Array, memory: Array, allowed: Array) -> Array:
        found = super().attention(path, x, memory, allowed)
        return 0 * found if path.startswith("encoder") else found


def cosine(a: Array, b: Array) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def run(sentence: str) -> Forward:
    return Forward(source_ids(sentence), [2])


def row(sentence: str, word: str) -> int:
    """Where a word that is one piece stands first."""
    (id,) = tokenizer().encode(word, add_special_tokens=False).ids
    return source_ids(sentence).index(id)


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


def drift(one: str, two: str, word: str) -> list[float]:
    runs = (run(one), row(one, word)), (run(two), row(two, word))
    return [cosine(*(found[name][at] for found, at in runs)) for name in STAGES]


def test_words_of_two_sentences_on_their_way_up() -> None:
    app = opened(PAGE, sentence=CATS, second=SOFA)
    data, shown = component(app, "shared_words"), values(app, "shared_words")
    assert data["rows"] == ["black", "cat", "the", "white", "different"]
    for word, line in zip(data["rows"][:-1], shown, strict=False):
        assert line == pytest.approx(drift(CATS, SOFA, word), abs=1e-5), word
    assert shown[:-1, 0] == pytest.approx(1)
    one, two = run(CATS), run(SOFA)
    for stage, name in enumerate(STAGES):
        pairs = [
            cosine(one[name][here].mean(0), two[name][there].mean(0))
            for i, here in words(CATS).items()
            for j, there in words(SOFA).items()
            if i != j
        ]
        assert shown[-1, stage] == pytest.approx(np.mean(pairs), abs=1e-5)


@pytest.mark.parametrize("word", ["black", "cat", "the", "white"])
def test_a_word_is_chosen_by_the_address(word: str) -> None:
    app = opened(PAGE, sentence=CATS, second=SOFA, word=word)
    data = component(app, "shared_words")
    assert data["rows"][data["selected"][0]] == word
    drawn = column_chart(app, f"Cosines of the two vectors of {word}")
    assert list(drawn) == [word, "two different words"]
    low = min(0.0, *values(app, "shared_words")[[data["selected"][0], -1]].ravel())
    assert drawn[word] == pytest.approx([(n - low) / (1 - low) for n in drift(CATS, SOFA, word)], abs=1e-3)
    said = re.search(r"after the last it is \*\*([−\d.]+)\*\*", markdown(app))
    assert said
    assert float(said[1].replace("−", "-")) == pytest.approx(drift(CATS, SOFA, word)[-1], abs=0.006)
    place = "same place" if row(CATS, word) == row(SOFA, word) else "different places"
    assert f"it stands in {'the ' if place == 'same place' else ''}{place}" in markdown(app)


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


@pytest.mark.parametrize("second", ["Nobody came.", "<b>$x$</b> `;", "ฉันชอบสุนัข", "🐶 🍕", "."])
def test_no_shared_word_is_said(second: str) -> None:
    app = opened(PAGE, sentence="I ate an apple", second=second)
    assert any("share no word" in notice for notice in notices(app))
    assert not [e for e in app.get("bidi_component") if e.key == "shared_words"]
    assert len(app.session_state["asked"][1]) == 3


def test_a_second_sentence_that_is_too_long_is_cut_and_it_is_said() -> None:
    app = opened(PAGE, sentence=CATS, second="My cat sleeps on the black sofa all day long. " * 40)
    assert any("longer than the model can take" in notice for notice in notices(app))
    assert component(app, "shared_words")


@pytest.mark.parametrize("sentence", ["Go", "ฉันชอบสุนัข", "<b>$x_1$</b>", "🐶"])
def test_a_sentence_beside_itself(sentence: str) -> None:
    app = opened(PAGE, sentence=sentence, second=sentence)
    if any(sign.isalnum() for sign in sentence):
        assert values(app, "shared_words")[:-1] == pytest.approx(1, abs=1e-5)


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


def test_how_far_a_change_travels() -> None:
    app = opened(PAGE, sentence=CATS)
    at, word = change(app)
    assert (at, word) == (7, "window")
    heard, deaf = (travelled(CATS, at, word, machine) for machine in (Forward, Deaf))
    assert values(app, "do_before") == pytest.approx(heard, abs=1e-4)
    assert values(app, "do_after") == pytest.approx(deaf, abs=1e-4)
    assert component(app, "do_after")["limit"] == component(app, "do_before")["limit"]
    others = [i for i in range(len(heard)) if i != at]
    assert (heard[others, 2] > 1e-3).all()
    assert (values(app, "do_after")[others] == 0).all()
    assert f"{len(others)} after it and {len(others)} after layer {config()['n_layers']}" in markdown(app)
    assert "The black cat fights the white window." in markdown(app).replace("\\", "")


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


def test_a_long_sentence_is_cut_and_it_is_said() -> None:
    app = opened(PAGE, sentence="My neighbour's cat sleeps. " * 30)
    assert f"Shown: the first {READABLE} of 101 rows" in markdown(app)
    assert len(values(app, "do_after")) == len(values(app, "see_start")) == READABLE


@pytest.mark.parametrize(("one", "two", "word"), [(CATS, SOFA, "the"), (CATS, SOFA, "cat"), (MONEY, RIVER, "bank")])
def test_the_questions_are_graded_against_the_numbers(one: str, two: str, word: str) -> None:
    app = opened(PAGE, sentence=one, second=two, word=word)
    top = drift(one, two, word)[-1]
    different = float(values(app, "shared_words")[-1, -1])
    wanted = (
        2 if row(one, word) == row(two, word) else 1,
        2,
        0 if top > 0.8 else 1 if top > different + 0.1 else 2,
    )
    for n, right in enumerate(wanted, 1):
        assert verdict(app, n, right).startswith("Right.")
