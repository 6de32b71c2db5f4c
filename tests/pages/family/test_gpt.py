"""The lesson GPT where the LSTM does not come with the app."""

from types import SimpleNamespace
from typing import Any

import pytest

from pages.family.gpt import lesson, questions
from pages.family.gpt.writing import without_mark
from tests.pages.kit import assert_sound, component, markdown, opened

TWO_PIECES: Any = SimpleNamespace(labels=("one", "two", "<eos>"))


@pytest.mark.parametrize(("there", "questions_asked"), [(True, 3), (False, 2)])
def test_without_the_lstm_no_trial_and_no_question_needs_it(
    there: bool, questions_asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lesson, "has_lstm", lambda: there)
    monkeypatch.setattr(questions, "has_lstm", lambda: there)
    monkeypatch.setattr(questions, "read", lambda trace: trace)
    assert len(questions.predict(TWO_PIECES)) == questions_asked
    assert ("Beside an LSTM" in lesson.trials()) == there
    assert {"Write on", "How large they became"} <= {*lesson.trials()}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("The sea was calm.", "The sea was calm"),
        ('He said, "Go!"', 'He said, "Go'),
        ("Is it you?…", "Is it you"),
        ("The dog", "The dog"),
        ("...", "..."),
        ("3.5 m", "3.5 m"),
    ],
)
def test_the_final_mark_is_left_out_and_no_other(text: str, left: str) -> None:
    assert without_mark(text) == left


@pytest.mark.parametrize("sentence", ["I ate an apple", "The boy sees the girl.", "Is it you?", "Go!"])
def test_a_finished_sentence_is_gone_on_with_by_a_word(sentence: str) -> None:
    app = opened("gpt", sentence=sentence)
    begun, first, *_ = component(app, "gpt_theatre")["target"]
    assert begun == sentence.rstrip(".?!")
    assert first.isalpha()
    assert "Fixed by you" not in markdown(app)
    app.toggle(key="gpt_stop").set_value(True).run()
    assert_sound(app)
    assert component(app, "gpt_theatre")["target"][0] == sentence
    assert "So that it does not stop at once" in markdown(app)


def test_a_text_that_fills_every_place_is_said_and_drawn() -> None:
    app = opened("gpt", sentence="one day he ran " * 125)
    assert any("fills all" in one.value for one in app.info)
    assert component(app, "scene")["frames"]
