"""The lesson GPT where the LSTM does not come with the app."""

from types import SimpleNamespace
from typing import Any

import pytest

from pages.family.gpt import lesson, questions

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
