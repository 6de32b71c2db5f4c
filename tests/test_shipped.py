"""The model as shipped, beside a second computation from its files (tests/forward.py, tests/decode.py)."""

import pytest

from tests.oracle.decode import german, translated
from ui import engine


@pytest.mark.parametrize("sentence", ["I ate an apple", "My neighbour's cat doesn't like the rain, does it?"])
def test_the_app_translates_as_the_oracle_does(sentence: str) -> None:
    trace, oracle = engine.trace(sentence), translated(sentence)
    assert [t.id for t in trace.src] == oracle.ids["encoder"]
    assert [t.id for t in trace.labels] == oracle.labels
    assert trace.translation == german(sentence)


@pytest.mark.parametrize("sentence", ["I ate an apple", "I ate an apple."])
def test_the_standing_example_translates_correctly(sentence: str) -> None:
    assert engine.trace(sentence).translation in ("Ich habe einen Apfel gegessen.", "Ich aß einen Apfel.")
