"""Lessons on variants open where the most is to be seen."""

import pytest
from streamlit.testing.v1 import AppTest

from model.files.loaded_model import UnknownModelError
from pages.variants import activations_and_gates
from pages.variants.positions_six_ways import moved
from tests.pages.kit import ROUTER, go_to
from ui import engine
from ui.components.scene import Matrix


@pytest.mark.parametrize("sentence", ["I ate an apple", "The old man looks at the sea.", "Go"])
def test_the_sentence_has_moved_to_where_both_that_add_score_otherwise(sentence: str) -> None:
    shown = moved.scene(engine.trace(sentence))
    notes = [panel.note for panel in shown.frames[shown.start].panels[1] if isinstance(panel, Matrix)]
    assert ["was" in note for note in notes] == [False, True, True, False, False, False]
    for note in notes[1:3]:
        now, before = (float(number.replace("−", "-")) for number in note.split(", was "))
        assert abs(now - before) > 0.5


@pytest.mark.parametrize("sentence", ["I ate an apple", "The old man looks at the sea.", "Where do you live?"])
def test_the_curve_it_opens_with_changes_a_word_of_the_translation(sentence: str) -> None:
    trace, name = engine.trace(sentence), activations_and_gates.ACTIVATION.otherwise
    other = activations_and_gates.with_activation(trace, name)
    assert engine.write_anew(trace, other, len(trace.labels) + 5).translation != trace.translation
    shown = activations_and_gates.scene(trace)
    assert not shown.frames[shown.start].answer.endswith("the same.")


def test_a_sibling_that_is_missing_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    known = engine.model

    def model(name: str = "translator") -> object:
        if name == "positions-none":
            raise UnknownModelError("There is no such model.")
        return known(name)

    monkeypatch.setattr(engine, "model", model)
    app = go_to(AppTest.from_file(ROUTER, default_timeout=60), "positions-six-ways").run()
    assert not app.exception
    said = [text.value.replace("\\", "") for text in app.error]
    assert any("positions-none cannot be read (There is no such model.)" in text for text in said), said
    assert {header.value for header in app.header} >= {"Predict", "See", "Do", "Code"}
