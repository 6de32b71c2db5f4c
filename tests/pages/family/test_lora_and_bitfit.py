"""The learner adapts the translator: what it learned is looked into and worked out."""

from types import SimpleNamespace

import numpy as np
import pytest

from pages.family.lora_and_bitfit import adapt
from tests.pages.kit import (
    assert_sound,
    column_chart,
    component,
    markdown,
    notices,
    opened,
    press,
    run_here,
    size,
    table,
    values,
)
from training.live import adapting
from training.live.processes import LiveTraining
from training.live.styles import FORMAL

SLUG = "lora-and-bitfit"


@pytest.fixture(autouse=True)
def _short_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapting, "STEPS", 5)
    monkeypatch.setattr(LiveTraining, "run", run_here)


def test_what_was_learned_is_looked_into_and_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapt, "trace_anew", lambda *given: SimpleNamespace(translation="What it writes now."))
    app = opened(SLUG, rank="3", inside="BAx")
    press(app, "Start", "lora")
    assert notices(app) == ["The training is over."]
    assert "**Step 5 of 5:**" in markdown(app)
    _, training = app.session_state["lora"]
    last = training.reports[-1]
    # As many singular values as the rank are not 0.
    assert "Not 0: **3 of 256**. You chose r = 3." in markdown(app)
    path = "decoder.layers.0.cross_attn.w_q"
    up_matrix, down_matrix = (last.learned[f"{path}.{name}.weight"].astype(float) for name in ("up", "down"))
    largest = np.linalg.svd(adapting.ALPHA / 3 * up_matrix @ down_matrix, compute_uv=False)[:20]
    assert [size(cell) for _, cell in table(app, "", "singular value")][:3] == pytest.approx(largest[:3], rel=0.06)
    bars = column_chart(app, "The 20 largest singular values")["singular value"]
    assert bars == pytest.approx(list(largest / largest[0]), abs=1e-3)
    # Check: BAx is the product of Ax and B, and the sum adds α/r times of it.
    up = values(app, "see_matrix")
    app.button_group(key="inside").set_value("Ax").run()
    assert_sound(app)
    down = values(app, "see_matrix")
    assert (down.shape[1], up.shape[1]) == (3, 8)
    assert np.linalg.matrix_rank(np.hstack([down, up]), tol=1e-4) <= 3
    assert component(app, "see_matrix")["rows"][0] == "<sos>"


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("0", "With rank 0, A and B hold no numbers, so nothing could be learned: take 1 or more."),
        ("300", "A matrix of 256 rows and 256 columns has rank 256 at most: write a number from 1 to 16."),
        ("64", "Rank 64 could be learned, but not here: write a whole number from 1 to 16."),
        ("9" * 4000, "A rank is a whole number: write one from 1 to 16."),
    ],
)
def test_a_rank_that_cannot_be_is_told_and_the_page_goes_on(typed: str, says: str) -> None:
    app = opened(SLUG, rank=typed)
    assert notices(app) == [says]
    assert "Start" not in [one.label for one in app.button]
    app.text_input(key="rank").set_value("2").run()
    assert_sound(app)
    assert "Start" in [one.label for one in app.button]


@pytest.mark.parametrize(
    ("english", "written", "says"),
    [
        ("They are here.", "Sie sind hier.", "it has no *you*"),  # a "Sie" that speaks to nobody
        ("Are you here?", "Sind Sie hier?", "was in this style already"),
        ("I love you.", "Ich liebe dich.", "does not reach every sentence"),
    ],
)
def test_why_a_sentence_stays_as_it_was(english: str, written: str, says: str) -> None:
    assert says in adapt.unchanged(FORMAL, english, written)
