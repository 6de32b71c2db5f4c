"""The learner adapts the translator: what it learned is measured, worked out, merged, and set beside BitFit."""

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from experiments.family.low_rank import merging_changes
from model.trace import trace
from pages.family.lora_and_bitfit import adapt
from pages.family.lora_and_bitfit.choosing import adapted
from tests.oracle.decode import translated
from tests.oracle.words import text_of
from tests.pages.kit import assert_sound, column_chart, component, markdown, notices, opened, size, table, values
from training.live import adapting, processes
from training.live.processes import LiveTraining
from ui import engine
from ui.text import magnitude

SLUG = "lora-and-bitfit"


def here(training: LiveTraining[Any]) -> Iterator[float]:
    """In this process, each report due, whatever the clock says: processes and clocks have tests of their own."""
    for report in training.task.reports(lambda step: True):
        training._take(report)
        yield report.step / training.task.n_steps
    training._take(processes.DONE)


@pytest.fixture(autouse=True)
def _short_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapting, "STEPS", 5)
    monkeypatch.setattr(LiveTraining, "run", here)


def press(app: AppTest, label: str, slot: str) -> None:
    next(one for one in app.button if one.label == label).click().run()
    job, _ = app.session_state[slot]
    end = time.monotonic() + 240
    while job.look() in ("waiting", "running"):
        assert time.monotonic() < end
        time.sleep(0.05)
    app.run()
    assert_sound(app)


def test_what_was_learned_is_measured_worked_out_merged_and_set_beside_bitfit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapt, "trace_anew", lambda *given: SimpleNamespace(translation="What it writes now."))
    app = opened(SLUG, rank="3", inside="BAx")
    press(app, "Start", "lora")
    assert notices(app) == ["The training is over."]
    assert "**Step 5 of 5:**" in markdown(app)
    _, training = app.session_state["lora"]
    first, *_, last = training.reports
    said = translated("I ate an apple")
    assert table(app, "your sentence", "before", "now") == [
        ["I ate an apple", text_of(said.labels), "What it writes now."]
    ]
    # The score is that of the table below it.
    rows = table(app, "English", "before", "now", "wanted")
    exact = sum(now == wanted for _, _, now, wanted in rows)
    formal = sum(style(now) for _, _, now, _ in rows)
    assert f"Of {len(rows)} held-out sentences, **{formal}** are in the style and **{exact}** word" in markdown(app)
    # As many singular values as the rank are not 0.
    assert "**3 of 256** are not 0. You chose r = 3." in markdown(app)
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
    # Merged, it has as many numbers as before and writes the same.
    app.button_group(key="trial").set_value("Merge it").run()
    assert_sound(app)
    beside, merged, before = table(app, "", "numbers in the model")
    assert beside[2] == merged[2]
    assert merged[1] == before[1] != beside[1]
    _, difference = merging_changes(trace(adapted(engine.model(), training), "I ate an apple"))
    assert f"Largest difference of a logit, beside and merged: **{magnitude(difference)}**." in markdown(app)
    # BitFit stands beside it.
    app.button_group(key="trial").set_value("BitFit").run()
    press(app, "Train", "bitfit")
    lora, bitfit = table(app, "", "numbers that learned")
    assert size(lora[3]) == pytest.approx(last.loss, rel=0.05)
    assert last.loss != pytest.approx(first.loss, rel=0.05)
    assert (lora[:3], bitfit[:3]) == (["LoRA, r = 3", f"{18 * 2 * 3 * 256:,}", "5"], ["BitFit", "11,520", "5"])


def style(german: str) -> bool:
    words = german.rstrip(".?!").split()
    return any(word in ("Sie", "Ihnen", "Ihr", "Ihre") for word in words) and not {"du", "dir", "dich"} & set(words)


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
