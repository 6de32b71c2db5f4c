"""The lesson on encoder-decoder attention: its maps, another German, a hidden word, another memory; all by NumPy."""

import re
from base64 import b64decode

import numpy as np
import pytest

import tests.course  # noqa: F401 - fills the course
from tests.oracle.forward import EOS, SOS, Forward, config, softmax, source_ids, tokenizer, weights
from tests.pages.kit import component, give_answer, markdown, opened, size, table, values
from ui import engine
from ui.course.lesson import COURSE
from ui.views.attention_kinds import READABLE

PAGE = COURSE.lesson("encoder-decoder-attention").slug
APPLE = "I ate an apple"
CATS = "The black cat fights the white cat."  # its German has words of several pieces
LONG = "My neighbour's cat sleeps. " * 30
OWN = "Ich aß einen Apfel."
FRENCH = "J'ai mangé une pomme."


def oracle(sentence: str = APPLE, german: str | None = None, blocked: tuple[int, ...] = ()) -> Forward:
    labels = [token.id for token in engine.trace(sentence).labels]
    if german is not None:
        labels = [*tokenizer().encode(german, add_special_tokens=False).ids, EOS]
    return Forward(source_ids(sentence), labels, blocked=blocked)


def maps(run: Forward) -> np.ndarray:
    """(L,H,T,S)"""
    return np.stack([run[f"decoder.layers.{n}.cross_attn.weights"] for n in range(config()["n_layers"])])


def probabilities(run: Forward) -> np.ndarray:
    return softmax(run.logits)[np.arange(len(run.labels)), run.labels]


def part(text: str, before: str, after: str = "**") -> str:
    return text.split(before)[1].split(after)[0].replace("\\", "")


# --- See and Check ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("view", "name", "expected"),
    [
        ("One head", "decoder.layers.1.cross_attn.weights_2", lambda m: m[1, 2]),
        ("Layer average", "decoder.layers.1.cross_attn.average_None", lambda m: m[1].mean(0)),
        ("Full average", "decoder.cross_attn.average_None", lambda m: m.mean((0, 1))),
    ],
)
def test_a_head_and_the_means(view: str, name: str, expected) -> None:
    app = opened(PAGE, sentence=CATS, layer="2", head="3", view=view)
    np.testing.assert_allclose(values(app, "see_matrix"), expected(maps(oracle(CATS))), atol=1e-5)


@pytest.mark.parametrize("view", ["One head", "Layer average", "Full average"])
def test_whole_words_are_grouped_and_worked_out(view: str) -> None:
    app = opened(PAGE, sentence=CATS, layer="2", head="3", view=view, by_word="true", cell="4.4")
    shown = values(app, "see_words")
    data = component(app, "see_words")
    assert data["rows"] == ["Die", "schwarze", "Katze", "kämpft", "die", "weiße", "Katze", ".", "<eos>"]
    assert data["columns"] == ["The", "black", "cat", "fights", "the", "white", "cat", ".", "<eos>"]
    every = maps(oracle(CATS))
    whole = {"One head": every[1, 2], "Layer average": every[1].mean(0), "Full average": every.mean((0, 1))}[view]
    kaempft, fights = slice(4, 7), slice(3, 5)
    assert [t.text for t in engine.trace(CATS).labels[kaempft]] == ["kä", "mp", "ft"]
    expected = whole[kaempft, fights].sum(1).mean()
    assert shown[3, 3] == pytest.approx(expected, abs=1e-5)
    np.testing.assert_allclose(shown.sum(1), 1, atol=1e-5)
    text = markdown(app)
    assert f"How did this {expected:.4f} come about?" in text
    assert f"= {expected:.4f}" in next(m.value for m in app.markdown if m.value.startswith(r"$\displaystyle"))


def test_the_overview_holds_every_head_and_sets_the_controls() -> None:
    app = opened(PAGE, sentence=CATS)
    data, every = component(app, "cross_heads"), maps(oracle(CATS))
    shown = np.frombuffer(b64decode(data["maps"]), np.uint8).reshape(3, 5, *every.shape[2:])
    assert np.abs(shown[:, :4] - 255 * every).max() < 0.51
    assert np.abs(shown[:, 4] - 255 * every.mean(1)).max() < 0.51
    assert data["selected"] == [2, 0]
    assert component(opened(PAGE, view="Layer average", layer="1"), "cross_heads")["selected"] == [0, -1]
    assert component(opened(PAGE, view="Full average"), "cross_heads")["selected"] is None


def test_it_begins_with_a_weight_between_words() -> None:
    data = component(opened(PAGE, view="Full average"), "see_matrix")
    row, column = data["selected"]
    whole = maps(oracle()).mean((0, 1))
    assert whole.argmax() == 6 * 5 + 4  # <eos> to <eos>, which teaches nothing
    assert whole[row, column] == whole[:5, :4].max()


# --- the learner's own German ----------------------------------------------------------------------------------------


def test_without_german_of_ones_own_one_side_is_empty() -> None:
    app = opened(PAGE)
    np.testing.assert_allclose(values(app, "do_before"), maps(oracle())[2, 0], atol=1e-5)
    assert "Type a German sentence" in app.info[-1].value
    for nothing in ("", "   "):
        assert "Type a German sentence" in opened(PAGE, german=nothing).info[-1].value


def test_own_german_is_read_by_teacher_forcing() -> None:
    app, run = opened(PAGE, german=OWN, layer="2", head="3"), oracle(german=OWN)
    np.testing.assert_allclose(values(app, "do_after"), maps(run)[1, 2], atol=1e-5)
    assert component(app, "do_after")["rows"] == ["Ich", "aß", "einen", "Apfel", ".", "<eos>"]
    given = probabilities(run)
    (bars,) = (e.proto.body for e in app.get("html") if "Your German" in e.proto.body)
    shown = [float(n) for n in re.findall(r'tw-bar-value">([\d.]+)<', bars)]
    assert shown == pytest.approx(list(given), abs=5.1e-5)
    text = markdown(app)
    assert size(part(text, "If each had the same, that would be **")) == pytest.approx(
        np.exp(np.log(given).mean()), abs=5.1e-4
    )
    assert size(part(text, "together have a probability of **")) == pytest.approx(given.prod(), abs=5.1e-4)
    first = run.logits.argmax(-1)
    assert f"**{(first == run.labels).sum()} of {len(given)}** pieces" in text
    assert "a likely translation" in text
    rows = table(app, "your piece")
    assert [float(row[1]) for row in rows] == pytest.approx(list(given), abs=5.1e-5)
    assert [float(row[3]) for row in rows] == pytest.approx(list(softmax(run.logits).max(-1)), abs=5.1e-5)
    assert rows[1][2] == "habe"


def test_the_view_is_that_of_see() -> None:
    app, run = opened(PAGE, german=OWN, view="Full average", by_word="true"), oracle(german=OWN)
    np.testing.assert_allclose(values(app, "do_after"), maps(run).mean((0, 1)), atol=1e-5)


@pytest.mark.parametrize(
    ("german", "says"),
    [
        ("Ich habe einen Apfel gegessen.", "a likely translation"),
        ("Einen Apfel habe ich gegessen.", "would have put **I ate an apple** differently"),
        (FRENCH, "does not take this for a translation"),
        ("Das Haus ist rot.", "does not take this for a translation"),
        ("ฉันชอบสุนัข", "does not take this for a translation"),
        ("<b>$x$</b>", "does not take this for a translation"),
    ],
)
def test_what_the_model_makes_of_it(german: str, says: str) -> None:
    app = opened(PAGE, german=german)
    assert says in markdown(app)
    mean = np.exp(np.log(probabilities(oracle(german=german))).mean())
    assert (mean >= 0.5) == ("a likely translation" in says)
    assert (mean < 0.02) == ("does not take" in says)


def test_german_that_is_too_long_is_cut_and_it_is_said() -> None:
    app = opened(PAGE, german="Katze " * 3000)
    assert values(app, "do_after").shape == (READABLE, 5)
    assert "only its first 100 pieces are read" in markdown(app)


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


def hidden_words(sentence: str) -> tuple[list[str], list[tuple[int, ...]]]:
    """The words and marks of a sentence, and the pieces of each."""
    src = [token for token in engine.trace(sentence).src if token.word >= 0]
    places = [tuple(i for i, t in enumerate(src) if t.word == word) for word in sorted({t.word for t in src})]
    return ["".join(src[i].text for i in found) for found in places], places


def falls(sentence: str) -> np.ndarray:
    """(T,N): what each piece loses without each word."""
    whole = probabilities(oracle(sentence))
    return np.stack(
        [whole - probabilities(oracle(sentence, blocked=found)) for found in hidden_words(sentence)[1]], axis=1
    )


@pytest.mark.parametrize("sentence", [APPLE, CATS])
def test_what_each_piece_needs(sentence: str) -> None:
    trial = {"cross_trial": "Hide an English word", "hide_each": "true"}
    app = opened(PAGE, sentence=sentence, view="Layer average", layer="3", **trial)
    texts, places = hidden_words(sentence)
    lost, looks = falls(sentence), maps(oracle(sentence))[2].mean(0)
    np.testing.assert_allclose(values(app, "do_needs"), lost, atol=1e-4)
    assert component(app, "do_needs")["columns"] == texts
    by_word = np.stack([looks[:, list(found)].sum(1) for found in places], axis=1)
    np.testing.assert_allclose(values(app, "do_looks"), by_word, atol=1e-5)
    labels = [token.text for token in engine.trace(sentence).labels]
    told = [i for i in range(len(labels)) if labels[i] not in (".", "<eos>") and lost[i].max() >= 0.05]
    agree = [i for i in told if looks[i].argmax() in places[lost[i].argmax()]]
    assert f"**{len(agree)} of {len(told)}** pieces of words look most at the word" in markdown(app)


def test_one_hidden_word() -> None:
    app = opened(PAGE, cross_trial="Hide an English word", hide="4")
    assert app.selectbox[0].value == 3
    before, after = probabilities(oracle()), probabilities(oracle(blocked=(3,)))
    np.testing.assert_allclose(values(app, "do_hidden"), [before, after], atol=1e-5)
    text = markdown(app)
    was, is_now = part(text, "**Apfel** (piece 4) loses most: from ", ".\n").split(" to ")
    assert size(was) == pytest.approx(before[3], abs=5.1e-4)
    assert size(is_now) == pytest.approx(after[3], rel=0.1)
    written = part(text, "Written without apple: **")
    assert oracle(german=written, blocked=(3,)).is_greedy()


def test_a_word_that_nothing_needs() -> None:
    app = opened(PAGE, sentence="I ate an apple.", cross_trial="Hide an English word", hide="5")
    assert falls("I ate an apple.")[:, 4].max() < 0.05
    assert "No piece needs **\\.**" in markdown(app)


@pytest.mark.parametrize("nonsense", ["0", "99", "x", "-1", "٣"])
def test_the_word_to_hide_is_the_second_until_another_is_chosen(nonsense: str) -> None:
    assert opened(PAGE, cross_trial="Hide an English word", hide=nonsense).selectbox[0].value == 1
    assert opened(PAGE, cross_trial="Hide an English word", sentence="Go").selectbox[0].value == 0


# --- another memory --------------------------------------------------------------------------------------------------


def held(run: Forward) -> list[np.ndarray]:
    """What might be the memory: the embeddings, and what each encoder layer returns."""
    names = [f"encoder.layers.{n}.add_norm_2.output" for n in range(config()["n_layers"])]
    return [run[name] for name in ("encoder.embedding.output", *names)]


def reading(run: Forward, memory: np.ndarray, labels: list[int]) -> Forward:
    """The same decoder reading another memory, in place."""
    run.memory, run.labels = memory, labels
    run.logits = run.decoder([SOS, *labels[:-1]])
    return run


@pytest.mark.parametrize("letter", ["k", "v"])
def test_every_decoder_layer_reads_the_last_encoder_layer(letter: str) -> None:
    app, run = opened(PAGE, cross_trial="Change the memory", sentence=CATS), oracle(CATS)
    shown = values(app, f"memory_{letter}")
    for layer in range(config()["n_layers"]):
        path = f"decoder.layers.{layer}.cross_attn"
        own = np.concatenate(list(run[f"{path}.{letter}"]), axis=1)
        expected = [np.abs(own - x @ weights()[f"{path}.w_{letter}.weight"].T).max() for x in held(run)]
        np.testing.assert_allclose(shown[layer], expected, atol=1e-4)
    assert shown[:, -1].max() < 1e-5
    assert shown[:, :-1].min() > 0.1
    text = markdown(app)
    assert size(part(text, "the largest difference is **")) < 1e-5
    both = [values(app, f"memory_{one}")[:, :-1].min() for one in "kv"]
    assert size(part(text, "in the others it is **")) == pytest.approx(min(both), abs=5.1e-4)


@pytest.mark.parametrize(("name", "at"), [("the embeddings", 0), ("encoder layer 1", 1), ("encoder layer 2", 2)])
def test_another_memory(name: str, at: int) -> None:
    app = opened(PAGE, cross_trial="Change the memory", memory=name, layer="2", head="3")
    run, labels = oracle(), oracle().labels
    np.testing.assert_allclose(values(app, "do_before"), maps(run)[1, 2], atol=1e-5)
    memory = held(run)[at]
    np.testing.assert_allclose(values(app, "do_after"), maps(reading(run, memory, labels))[1, 2], atol=1e-5)
    written = part(markdown(app), f"Reading {name}: **")
    if "(stopped after" not in markdown(app):
        again = [*tokenizer().encode(written, add_special_tokens=False).ids, EOS]
        assert reading(run, memory, again).is_greedy()


# --- questions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sentence", [APPLE, CATS])
def test_the_questions_are_graded_against_the_numbers(sentence: str) -> None:
    app, every = opened(PAGE, sentence=sentence, layer="2", head="3"), maps(oracle(sentence))
    texts, _ = hidden_words(sentence)
    longest = max(range(len(texts)), key=lambda n: (len(texts[n]), -n))
    best = int(every[1, 2, len(every[0, 0]) // 2].argmax()), int(falls(sentence)[:, longest].argmax())
    for n, piece in enumerate(best):
        next(group for group in app.button_group if group.key == f"{PAGE}/at").set_value(str(n + 1)).run()
        right = next(i for i, option in enumerate(app.radio[0].options) if option.endswith(f"(piece {piece + 1})"))
        assert texts[longest] in app.radio[0].label or n == 0
        assert len(give_answer(app, PAGE, n, right).success) == 1
    assert f"K is (4, {every.shape[3]}, 64)" in give_answer(app, PAGE, 2, 1).success[0].value
    assert len(give_answer(app, PAGE, 3, 1, 3).success) == 1
    assert not app.warning


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
