"""The sentences one click away."""

import pytest

from ui import engine
from ui.course.sentence import DEFAULT

ABOUT = engine.model().about
EXAMPLES, SURPRISES = ABOUT.examples, ABOUT.surprises

SENTENCES = [*(example.sentence for example in EXAMPLES), *SURPRISES]


def test_every_sentence_stands_once_and_the_default_comes_first() -> None:
    assert len(set(SENTENCES)) == len(SENTENCES)
    assert EXAMPLES[0].sentence == DEFAULT
    assert len({example.label for example in EXAMPLES}) == len(EXAMPLES)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_sentence_is_translated_to_the_end(sentence: str) -> None:
    trace = engine.trace(sentence)
    assert trace.finished
    assert len(trace.translation.split()) > 2
