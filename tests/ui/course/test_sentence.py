"""The sentences one click away."""

from typing import Any

import pytest

from model.files.loaded_model import TRANSLATOR, LoadedModel
from model.trace import Trace
from tests.pages.kit import notices, opened
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


@pytest.mark.parametrize(("slug", "is_asked"), [("pairs", False), ("gpt", False), ("three-kinds", True)])
def test_the_translator_is_asked_only_where_it_reads_the_sentence(
    slug: str, is_asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    traced = engine.trace_anew

    def noted(loaded: LoadedModel, *rest: Any) -> Trace:
        asked.append(loaded.name)
        return traced(loaded, *rest)

    monkeypatch.setattr(engine, "trace_anew", noted)
    opened(slug, sentence=f"Nobody asked this of {slug}")
    assert (TRANSLATOR in asked) == is_asked


def test_an_empty_sentence_stops_a_lesson_that_reads_it_and_no_other() -> None:
    asked = "There is nothing to {} yet: type a sentence."
    assert not [one for one in notices(opened("learning-without-learning", sentence=" ")) if "nothing to" in one]
    for slug, does in (("pairs", "read"), ("encoder", "translate")):
        assert any(asked.format(does) in one for one in notices(opened(slug, sentence=" "))), slug
