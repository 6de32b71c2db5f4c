"""Every number that See and Check of a lesson show, read from the page and computed again by tests/forward.py."""

import random
import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from tests.course import LESSONS
from tests.oracle.forward import Forward, config, softmax, source_ids, weights
from tests.oracle.walk import claims_of
from tests.pages.kit import assert_sound, opened
from tests.truth.cells import check_check, check_grid, check_matrix
from tests.truth.lessons import common
from tests.truth.reading import Seen, Words, part
from ui import engine
from ui.course.lesson import Lesson

SENTENCES = (
    "I ate an apple",
    "Go",  # one token
    "The animal didn't cross the street because it was too wide.",
    "The black cat fights the white cat.",
    "Zoë und Jürgen mögen süße Äpfel aus Österreich.",
    "I like dogs 🐶 and pizza 🍕.",
    "ฉันชอบสุนัข",
    "My neighbour's cat sleeps on the sofa all day long. " * 12,  # more than the model takes
    "<b>$x_1$</b> ‘curly’ *stars* | 3 : 4",
    "We sat on the bank of the river.",
)
STATES = 2  # settings tried for each sentence and page


@cache
def forward(text: str) -> Forward:
    """The oracle's pass; the ids written are the app's, and the oracle must find them the likeliest."""
    labels = [token.id for token in engine.trace(text).labels]
    found = Forward(source_ids(text), labels)
    assert found.is_greedy()
    rows = found["encoder.embedding.tokens"]
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found.keep("cosines", units @ units.T)
    found.keep("probabilities", softmax(found["logits"]))
    for n in range(config()["n_layers"]):
        for path in (f"decoder.layers.{n}.{kind}_attn" for kind in ("self", "cross")):
            found.keep(f"{path}.average", found[f"{path}.weights"].mean(0))
    means = [found[f"decoder.layers.{n}.cross_attn.average"] for n in range(config()["n_layers"])]
    found.keep("decoder.cross_attn.average", np.mean(means, axis=0))
    return found


def of_lesson(lesson: Lesson, what: str) -> Any:
    """What the lesson's own module in tests/truth/lessons, if it has one, holds under this name."""
    name = f"tests.truth.lessons.{lesson.slug.replace('-', '_')}"
    return getattr(import_module(name), what, {}) if find_spec(name) else {}


def check_words(seen: Seen, oracle: Forward, done: set[int], words: Mapping[str, Words]) -> None:
    """Every other text with a number in it has somebody who checks it: the one whose pattern it begins with."""
    for n, text in enumerate(seen.texts):
        if n in done or not re.search(r"\d", re.sub(r"\$.*?\$", "", text)):
            continue
        checks = [check for begins, check in words.items() if re.match(begins, text)]
        assert len(checks) == 1, f"nobody checks the numbers in: {text}"
        checks[0](text, seen, oracle)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("lesson", [one for one in LESSONS if not claims_of(one.slug)], ids=lambda one: one.slug)
def test_every_number_of_see_and_check(lesson: Lesson) -> None:
    app, choose = opened(lesson.slug), random.Random(lesson.slug)
    n_matrices = n_formulas = 0
    for sentence in SENTENCES:
        app.text_input(key="sentence").input(sentence)
        for _ in range(STATES):
            app.query_params["cell"] = f"{choose.randint(1, 6)}.{choose.randint(1, 6)}"
            for name, most in of_lesson(lesson, "COUNTS").items():
                app.query_params[name] = str(choose.randint(1, most))
            for button in part(app, "part_see").buttons:
                button.set_value(choose.choice(button.options))
            app.run()
            assert_sound(app)
            # Texts are shown as the browser gets them: the trace tidies the sentence, the oracle does it on its own.
            oracle, seen = forward(sentence), part(app, "part_see")
            for data in seen.components:
                if "values" in data:
                    check_matrix(data, oracle, of_lesson(lesson, "MATRICES"))
                elif "maps" in data:
                    grid = of_lesson(lesson, "GRID") or "encoder.layers.{}.self_attn"
                    check_grid(data, oracle, grid(seen) if callable(grid) else grid)
                elif set(data) != {"text"}:  # what is said to screen readers, which the claims hold
                    of_lesson(lesson, "OTHER")(data, oracle)
            assert set(seen.charts) <= set(of_lesson(lesson, "CHARTS"))
            check_words(seen, oracle, check_check(seen, oracle), common.WORDS | of_lesson(lesson, "WORDS"))
            n_matrices += len(seen.matrices)
            n_formulas += len(seen.formulas)
    assert n_matrices >= len(SENTENCES)
    assert n_formulas >= len(SENTENCES) // 2


# --- every kind of number, beyond what one walk meets ----------------------------------------------------------------


@pytest.mark.parametrize("sentence", SENTENCES, ids=range(len(SENTENCES)))
def test_every_tensor_of_a_sentence(sentence: str) -> None:
    trace, oracle = engine.trace(sentence), forward(sentence)
    assert [token.id for token in trace.src] == source_ids(sentence)
    for name, tensor in trace.tensors.items():
        if not name.endswith("mask"):
            true = oracle[name]
            assert np.array_equal(np.isfinite(tensor), np.isfinite(true)), name
            assert np.allclose(tensor, true, atol=2e-4, rtol=2e-4), name


def test_the_weights_that_the_app_shows_are_the_shipped_ones() -> None:
    shown = engine.model().weights
    assert shown.keys() == weights().keys()
    for name, true in weights().items():
        assert np.array_equal(shown[name], true), name
