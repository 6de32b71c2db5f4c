"""The lesson on encoder-decoder attention: its maps, another German, a hidden word, another memory; all by NumPy."""

from base64 import b64decode

import numpy as np
import pytest

import tests.course  # noqa: F401 - fills the course
from tests.oracle.forward import EOS, SOS, Forward, config, source_ids, tokenizer
from tests.pages.kit import component, markdown, opened, values
from ui import engine
from ui.course.lesson import COURSE
from ui.views.attention_kinds import READABLE

PAGE = COURSE.lesson("encoder-decoder-attention").slug
APPLE = "I ate an apple"
CATS = "The black cat fights the white cat."  # its German has words of several pieces
LONG = "My neighbour's cat sleeps. " * 30
OWN = "Ich aß einen Apfel."


def oracle(sentence: str = APPLE, german: str | None = None, blocked: tuple[int, ...] = ()) -> Forward:
    labels = [token.id for token in engine.trace(sentence).labels]
    if german is not None:
        labels = [*tokenizer().encode(german, add_special_tokens=False).ids, EOS]
    return Forward(source_ids(sentence), labels, blocked=blocked)


def maps(run: Forward) -> np.ndarray:
    """(L,H,T,S)"""
    return np.stack([run[f"decoder.layers.{n}.cross_attn.weights"] for n in range(config()["n_layers"])])


# --- See and Check ---------------------------------------------------------------------------------------------------


def test_the_overview_holds_every_head_and_sets_the_controls() -> None:
    app = opened(PAGE, sentence=CATS)
    data, every = component(app, "cross_heads"), maps(oracle(CATS))
    shown = np.frombuffer(b64decode(data["maps"]), np.uint8).reshape(3, 5, *every.shape[2:])
    assert np.abs(shown[:, :4] - 255 * every).max() < 0.51
    assert np.abs(shown[:, 4] - 255 * every.mean(1)).max() < 0.51
    assert data["selected"] == [2, 0]
    assert component(opened(PAGE, view="Layer average", layer="1"), "cross_heads")["selected"] == [0, -1]
    assert component(opened(PAGE, view="Full average"), "cross_heads")["selected"] is None


# --- the learner's own German ----------------------------------------------------------------------------------------


def test_the_view_is_that_of_see() -> None:
    app, run = opened(PAGE, german=OWN, view="Full average", by_word="true"), oracle(german=OWN)
    np.testing.assert_allclose(values(app, "do_after"), maps(run).mean((0, 1)), atol=1e-5)


@pytest.mark.parametrize("label", ["Another tense", "Another order", "A wrong translation", "French"])
def test_pairs_are_one_click_away(label: str) -> None:
    app = opened(PAGE, cell="3.3")
    app.button(key=f"offer_{label}").click().run()
    german = app.text_input(key="german").value
    assert german
    assert "cell" not in app.query_params
    if german != "Das Haus ist rot.":
        assert f"**{app.text_input(key='sentence').value}**".replace(".", r"\.") in markdown(app)
    run = oracle(app.text_input(key="sentence").value, german)
    np.testing.assert_allclose(values(app, "do_after"), maps(run)[2, 0], atol=1e-5)


def test_sentences_with_another_order_are_one_click_away() -> None:
    app = opened(PAGE, german=OWN)
    app.button(key="offer_Verb in two parts").click().run()
    assert app.text_input(key="sentence").value == "I'm calling my mother."
    assert app.text_input(key="german").value == ""
    assert values(app, "do_before").shape == (7, 7)


def test_ones_own_sentence_comes_back() -> None:
    app = opened(PAGE, sentence=CATS, german="Katzen.")
    assert not [b for b in app.button if b.label == "Back to my own sentence"]
    app.button(key="offer_Another tense").click().run()
    app.button(key="offer_French").click().run()
    assert "The sentence at the top is now **I ate an apple**" in markdown(app)
    next(b for b in app.button if b.label == "Back to my own sentence").click().run()
    assert [app.text_input(key=key).value for key in ("sentence", "german")] == [CATS, "Katzen."]
    assert not [b for b in app.button if b.label == "Back to my own sentence"]
    app.button(key="offer_French").click().run()
    app.text_input(key="sentence").input("Go").run()
    assert not [b for b in app.button if b.label == "Back to my own sentence"]


# --- a hidden word ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nonsense", ["0", "99", "x", "-1", "٣"])
def test_the_word_to_hide_is_the_second_until_another_is_chosen(nonsense: str) -> None:
    assert opened(PAGE, cross_trial="Hide an English word", hide=nonsense).selectbox[0].value == 1
    assert opened(PAGE, cross_trial="Hide an English word", sentence="Go").selectbox[0].value == 0


# --- another memory --------------------------------------------------------------------------------------------------


def reading(run: Forward, memory: np.ndarray, labels: list[int]) -> Forward:
    """The same decoder reading another memory, in place."""
    run.memory, run.labels = memory, labels
    run.logits = run.decoder([SOS, *labels[:-1]])
    return run


# --- questions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trial", ["Write the German yourself", "Hide an English word", "Change the memory"])
@pytest.mark.parametrize("sentence", ["x", "...", "ภาษาไทย 🍕", "<b>$x$</b>", LONG, "a" + "🐶" * 200], ids=range(6))
def test_any_sentence(sentence: str, trial: str) -> None:
    by_word = trial != "Hide an English word"
    given = {"sentence": sentence, "german": sentence, "by_word": str(by_word).lower()}
    app = opened(PAGE, cross_trial=trial, hide_each="true", **given)
    assert max(values(app, "see_words" if by_word else "see_matrix").shape) <= READABLE


def test_a_state_that_makes_no_sense_is_left_alone() -> None:
    app = opened(
        PAGE, view="Everything", by_word="maybe", memory="x", cross_trial="y", cell="99.99", german="\x00\u202e"
    )
    np.testing.assert_allclose(values(app, "see_matrix"), maps(oracle())[2, 0], atol=1e-5)


def test_the_map_opens_it_and_not_the_scaled_dot_product() -> None:
    assert COURSE.lesson("encoder-decoder-attention").on_map.opens == ("decoder.cross_attn",)
    assert COURSE.lesson("scaled-dot-product").on_map.opens == ()
