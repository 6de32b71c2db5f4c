"""The lesson on self-attention: the maps, a hidden piece, and what it says about its two hard sentences."""

import re
from base64 import b64decode

import numpy as np
import pytest

from pages.attention.self_attention import coreference
from tests.oracle.forward import Forward, config, source_ids
from tests.pages.kit import component, markdown, opened, table, values
from ui import engine

PAGE = "self-attention"
WIDE = "The animal didn't cross the street because it was too wide."
TIRED = "The animal didn't cross the street because it was too tired."
MONEY = ["I put my money in the bank.", "The bank is closed today."]
RIVER = ["We sat on the bank of the river.", "The bank of the river was steep."]
IT, BANK = "What “it” means", "Two meanings of “bank”"  # under Do


def texts(sentence: str) -> list[str]:
    return [token.text for token in engine.trace(sentence).src]


def oracle(sentence: str, blocked: tuple[int, ...] = (), labels: list[int] | None = None) -> Forward:
    return Forward(source_ids(sentence), labels or [t.id for t in engine.trace(sentence).labels], blocked=blocked)


def weights(run: Forward) -> np.ndarray:
    """(L,H,S,S) of the encoder."""
    return np.stack([run[f"encoder.layers.{n}.self_attn.weights"] for n in range(config()["n_layers"])])


def test_the_piece_to_hide_is_the_second_until_another_is_chosen() -> None:
    assert opened(PAGE).selectbox[0].value == 1
    assert opened(PAGE, hide="4").selectbox[0].value == 3
    for nonsense in ("0", "99", "x", "-1", "٣"):
        assert opened(PAGE, hide=nonsense).selectbox[0].value == 1
    assert opened(PAGE, sentence="Go").selectbox[0].value == 0  # the only piece but <eos>


def test_a_hidden_piece_is_seen_by_nobody() -> None:
    app = opened(PAGE, hide="4", layer="2", head="3")
    before, after = values(app, "do_before"), values(app, "do_after")
    assert np.allclose(before, weights(oracle("I ate an apple"))[1, 2], atol=1e-4)
    assert np.allclose(after, weights(oracle("I ate an apple", blocked=(3,)))[1, 2], atol=1e-4)
    assert (after[:, 3] == 0).all()
    hidden = np.frombuffer(b64decode(component(app, "do_after")["hidden"]), np.uint8).reshape(after.shape)
    assert hidden[:, 3].all()
    assert hidden.sum() == len(hidden)
    assert f"got {before[:, 3].mean():.4f} of a row" in markdown(app)


def test_the_translation_without_it_is_the_likeliest_under_the_oracle() -> None:
    app = opened(PAGE, hide="4")
    (_, before), (name, said) = table(app, "", "translation")
    assert before == engine.trace("I ate an apple").translation
    assert name == "without piece 4, apple"
    ids = engine.model().tokenizer.encode(said)
    run = oracle("I ate an apple", blocked=(3,), labels=[*ids, 2])
    assert run.is_greedy()


def test_the_control_follows_the_sentence() -> None:
    app = opened(PAGE, hide="4")
    app.text_input(key="sentence").input("Go").run()
    assert app.selectbox[0].value == 0
    app.text_input(key="sentence").input(WIDE).run()
    assert len(app.selectbox[0].options) == len(texts(WIDE))


@pytest.mark.parametrize(
    ("averages", "said"),
    [
        (((0.2, 0.1), (0.1, 0.2)), "changes over with the meaning"),
        (((0.2, 0.1), (0.2, 0.1)), "On average the street gets more **both times**"),
        (((0.1, 0.2), (0.1, 0.2)), "On average the animal gets more **both times**"),
        (((0.1, 0.2), (0.2, 0.1)), "the wrong way round"),
    ],
)
def test_the_verdict_follows_the_numbers(averages: tuple[tuple[float, float], ...], said: str) -> None:
    assert said in coreference.verdict(averages)


def test_the_german_pronouns_are_judged() -> None:
    app = opened(PAGE, self_trial=IT)
    right = [
        pronoun in re.findall(r"\w+", engine.trace(sentence).translation)
        for pronoun, sentence in (("sie", WIDE), ("es", TIRED))
    ]
    said = [cells[-1] for cells in table(app, "too", "the model writes")]
    assert said == ["right" if one else "wrong" for one in right]
    texts = [cells[1] for cells in table(app, "too", "the model writes")]
    assert texts == [engine.trace(sentence).translation for sentence in (WIDE, TIRED)]


def test_the_two_banks() -> None:
    app = opened(PAGE, self_trial=BANK)
    names = ["encoder.embedding.tokens"]
    names += [f"encoder.layers.{n}.add_norm_2.output" for n in range(config()["n_layers"])]
    money, river = (
        [[oracle(sentence)[name][texts(sentence).index("bank")] for name in names] for sentence in pair]
        for pair in (MONEY, RIVER)
    )

    def alike(pairs: list[tuple[list[np.ndarray], list[np.ndarray]]]) -> np.ndarray:
        cosines = [
            [a @ b / (np.linalg.norm(a) * np.linalg.norm(b)) for a, b in zip(one, two, strict=True)]
            for one, two in pairs
        ]
        return np.mean(cosines, axis=0)

    same = alike([(money[0], money[1]), (river[0], river[1])])
    other = alike([(m, r) for m in money for r in river])
    assert np.allclose(values(app, "banks"), [same, other], atol=1e-5)
    text = markdown(app)
    assert f"the cosine is {same[-1]:.2f} where the meaning is the same and {other[-1]:.2f}" in text
    assert ("barely tells the two banks apart" in text) == (same[-1] - other[-1] < 0.1)
    assert ("takes the river for a bank too" in text) == ("Bank" in engine.trace(RIVER[0]).translation)


@pytest.mark.parametrize(
    ("trial", "button", "sentence", "word"), [(IT, "look_it", WIDE, "it"), (BANK, "look_bank", RIVER[0], "bank")]
)
def test_a_hard_sentence_is_one_click_away(trial: str, button: str, sentence: str, word: str) -> None:
    app = opened(PAGE, self_trial=trial)
    app.button(key=button).click().run()
    assert app.text_input(key="sentence").value == sentence
    assert f"**{word}**. It looks most at" in markdown(app)


def test_the_overview_holds_every_head() -> None:
    data = component(opened(PAGE, sentence=WIDE), "encoder_heads")
    shown = np.frombuffer(b64decode(data["maps"]), np.uint8).reshape(weights(oracle(WIDE)).shape)
    assert np.abs(shown - 255 * weights(oracle(WIDE))).max() < 0.51
