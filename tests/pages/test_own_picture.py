"""What a visitor draws: no lesson leaves it in what the server remembers of all visitors."""

import numpy as np
import pytest

from model.kept import Kept
from pages import course  # noqa: F401 - fills the course
from pages.own_picture import DRAWN
from tests.pages.kit import choose_in, component, opened
from ui.course.lesson import COURSE

TRIALS = {
    "pictures-from-text": ("Ask about your drawing",),
    "a-picture-as-words": ("Hide patches", "Looks and effects"),
}
LESSONS = [
    (one.slug, trial)
    for one in COURSE.lessons
    if one.on_map.unkept.startswith(DRAWN)
    for trial in TRIALS.get(one.slug, ("",))
]


@pytest.mark.parametrize(("slug", "trial"), LESSONS)
def test_no_result_that_is_kept_goes_by_a_drawing(slug: str, trial: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = np.zeros((28, 28), np.float32)
    drawn[5:23, 11:17] = np.random.default_rng(1).random((18, 6))
    keys: set[str] = set()
    get = Kept.get
    monkeypatch.setattr(Kept, "get", lambda kept, key, compute: keys.add(repr(key)) or get(kept, key, compute))
    app = opened(slug, **({"try": trial} if trial else {}))
    without = set(keys)
    app.session_state["own_picture"] = drawn
    app.run()
    assert not app.exception
    assert keys == without


def test_clicks_that_were_missed_count_once_and_nonsense_among_them_does_not() -> None:
    app = opened("a-picture-as-words")

    def click(*sent: object) -> tuple[str, int]:
        (patches,) = (e for e in app.get("bidi_component") if e.key == "hide_patches")
        choose_in(app, patches, *sent)  # type: ignore[arg-type]
        return "".join(app.query_params["hide"]), component(app, "hide_patches")["seen"]

    assert click(0, 0, 1) == ("1", 1)
    assert click(0, 2, 3, [0, 0, 1], [0, 1, 2]) == ("1.2.3", 3)  # the first was heard
    assert click(0, 3, 5, "x", [9, 9, 4], [0, 0, "5"], [0, 0], None) == ("1.2.3.4", 5)
    assert click(0, 3, 6, [0, 1, 2], [0, 2, 3], [0, 3, 5]) == ("1.2.3", 6)
    assert click(1, 3, 208, *[[1, 0, 7 + n] for n in range(201)]) == ("1.2.3.8", 208)  # the last 100 of 201, and itself


def test_an_address_that_comes_to_name_a_sample_is_shown_in_place_of_a_drawing() -> None:
    app = opened("a-picture-as-words", digit="2")

    def chosen() -> object:
        return component(app, "drawing")["chosen"]

    assert chosen() == 2
    app.session_state["own_picture"], app.session_state["own_picture.beside"] = np.eye(28, dtype=np.float32), 2
    app.run()
    assert chosen() is None
    app.query_params["digit"] = "7"  # as a teacher's address that a learner follows
    app.run()
    assert chosen() == 7
