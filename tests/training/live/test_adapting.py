"""Adapting a translator to a style: the pairs, and a short training that moves towards them."""

import pytest

from model.files.loaded_model import load_model
from model.trace import trace
from training.live import adapting
from training.live.adapting import BITFIT, EVERYTHING, LORA, Adapting, adapted_layers
from training.live.styles import FORMAL, OTHERS, STYLES, is_butlers, is_formal

MODEL = load_model()


@pytest.mark.parametrize("name", STYLES)
def test_pairs_are_in_the_style_and_none_is_held_out(name: str) -> None:
    style = STYLES[name]()
    english = [source for source, _ in style.held_out]
    assert len(set(english)) == 16
    assert all(style.follows(target) for _, target in style.held_out)
    assert not set(english) & {source for source, _ in style.pairs}
    spoken_to = [target for source, target in style.pairs if "you" in source.lower()]
    assert all(map(style.follows, spoken_to))
    assert not {*OTHERS} & {*english, *(source for source, _ in style.pairs)}


@pytest.mark.parametrize(
    ("german", "formal"),
    [("Haben Sie Zeit?", True), ("Ich glaube Ihnen.", True), ("Ist das Ihr Hund?", True), ("Hast du Zeit?", False),
     ("Sie sagt, dass du gehst.", False), ("Das ist dein Hund.", False), ("Ich sehe sie.", False)],
)  # fmt: skip
def test_who_is_spoken_to_formally(german: str, formal: bool) -> None:
    assert is_formal(german) == formal


def test_a_butler_ends_with_sir_before_the_last_mark() -> None:
    assert [is_butlers(text) for text in ("Ja, mein Herr.", "Ja, mein Herr", "Mein Herr.")] == [True, False, False]


def test_the_same_choice_learns_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapting, "translations", lambda loaded, texts: ("",) * len(texts))
    one, other = ([*Adapting("translator", FORMAL, n_steps=2).reports(lambda step: False)][-1] for _ in range(2))
    assert one.loss == other.loss


def test_low_rank_is_learned_beside_the_queries_and_values_of_every_attention() -> None:
    assert len(adapted_layers(MODEL)) == 9 * 2
    assert {name.rpartition(".")[2] for name in adapted_layers(MODEL)} == {"w_q", "w_v"}


@pytest.mark.slow
@pytest.mark.parametrize("method", [LORA, BITFIT, EVERYTHING])
def test_a_short_training_moves_towards_the_style_and_leaves_the_model(method: str) -> None:
    task = Adapting("translator", FORMAL, method, 2, n_steps=4)
    first, *_, last = task.reports(lambda step: False)
    held_out = STYLES[FORMAL]().held_out
    assert first.translations[0] == trace(MODEL, held_out[0][0]).translation
    assert not any(map(is_formal, first.translations))
    assert (first.step, last.step, len(last.translations)) == (0, 4, len(held_out))
    assert last.loss < 0.9 * first.loss
    assert first.others[:2] == tuple(trace(MODEL, one).translation for one in OTHERS[:2])
    assert len(last.others) == len(OTHERS)
    # What was reported is what the model is put together from; the whole of one is too much to report.
    assert bool(last.learned) == (method != EVERYTHING)
    if last.learned:
        now = task.network(MODEL, last.learned)
        assert trace(now, held_out[1][0]).translation == last.translations[1]
    assert trace(MODEL, held_out[1][0]).translation == first.translations[1]
