"""Lessons on variants open where the most is to be seen."""

import pytest

from pages.variants import activations_and_gates
from pages.variants.positions_six_ways import moved
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
