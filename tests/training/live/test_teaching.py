"""Teaching a copy of a translator: what can be learned, and what is told of it."""

import numpy as np
import pytest

from model.files.loaded_model import load_model
from model.trace import trace
from training.live import teaching
from training.live.teaching import MAX_TOKENS, PairError, Teaching, checked

MODEL = load_model()
APPLE = ("I ate an apple.", "Ich habe den Apfel verputzt.")


def test_pairs_are_read_as_the_model_reads_them_and_each_once() -> None:
    assert checked(MODEL, [("  Good   morning. ", "Moin."), ("", " "), ("Good morning.", "Moin."), APPLE]) == (
        ("Good morning.", "Moin."),
        APPLE,
    )


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        ([APPLE, ("", "Moin.")], "Pair 2 has no English: write both sides."),
        ([("Good morning.", " ")], "Pair 1 has no German: write both sides."),
        ([APPLE, ("word " * 500, "Wort")], f"The English of pair 2 has 500 pieces: write at most {MAX_TOKENS}."),
        ([("", "")] * 5, "There is nothing to learn yet: write at least one pair."),
    ],
)
def test_what_cannot_be_learned_is_told_in_one_sentence(pairs: list[tuple[str, str]], says: str) -> None:
    with pytest.raises(PairError) as error:
        checked(MODEL, pairs)
    assert str(error.value) == says


@pytest.mark.slow  # trains
def test_it_learns_and_tells_the_loss_and_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teaching, "STEPS", 12)
    *_, again = Teaching("translator", (APPLE,), ()).reports(lambda step: False)
    first, *_, last = Teaching("translator", (APPLE,), ("Good morning.",)).reports(lambda step: step.step == 6)
    assert (first.step, last.step) == (0, 12)
    assert again.loss == last.loss
    probabilities = trace(MODEL, APPLE[0], target=APPLE[1]).probabilities
    assert first.loss == pytest.approx(-np.mean(np.log(probabilities)), rel=1e-4)
    assert first.translations == tuple(trace(MODEL, text).translation for text in (APPLE[0], "Good morning."))
    assert last.loss < first.loss / 4
    assert last.translations[0] == APPLE[1]
    assert list(last.gradient_norms) == [
        "embedding",
        *(f"{stack} {n}" for stack in ("encoder", "decoder") for n in (1, 2, 3)),
    ]
