"""The learner's own training on the page: it moves, it stops, and what it leaves is worked out and tried."""

import time
from typing import Any

import numpy as np
import psutil
import pytest
from streamlit.testing.v1 import AppTest

from pages import live_training
from pages.training.train_it_yourself.tiny import SLOT as TINY
from serving import work_queue as queue
from tests.pages.kit import assert_sound, choose_in, component, markdown, notices, opened, table, values
from training.live import processes as live
from training.live.toy import TASKS

SLUG = "train-it-yourself"
pytestmark = pytest.mark.usefixtures("own_fork_server")


def button(app: AppTest, label: str) -> object:
    return next(one for one in app.button if one.label == label)


def until(app: AppTest, says: str) -> AppTest:
    """Look again and again, as the page does by itself."""
    end = time.monotonic() + 60
    while says not in "\n".join([markdown(app), *notices(app)]):
        assert time.monotonic() < end, markdown(app)
        time.sleep(0.3)
        app.run()
    assert_sound(app)
    return app


def test_a_training_moves_stops_is_worked_out_and_tried() -> None:
    app = opened(SLUG, task="copy", letters="Cab 1")
    assert markdown(app).count("First press *Start*.") == 2
    button(app, "Start").click().run()
    until(app, "**Step ")
    assert markdown(app).count("Your model still learns.") == 2
    curves = [e.proto.body for e in app.get("html") if '<figure class="tw-curve"' in e.proto.body]
    assert len(curves) == 2
    grid = component(app, "toy_maps")
    assert (grid["layers"], grid["heads"], grid["height"], grid["width"]) == (1, 2, 9, 9)
    end = time.monotonic() + 60
    while "Step 0 of" in markdown(app):
        assert time.monotonic() < end
        time.sleep(0.3)
        app.run()
    button(app, "Stop").click().run()
    until(app, "The training was stopped. What you saw last is kept.")
    # Check: each loss is minus the logarithm of what the matrix of probabilities says of the right letter.
    losses = values(app, "see_matrix")[:, 0]
    app.button_group(key="inside").set_value("Probabilities").run()
    assert_sound(app)
    shown, data = values(app, "see_matrix"), component(app, "see_matrix")
    right = [data["columns"].index(letter) for letter in data["rows"]]
    assert "".join(data["rows"][:-1]) == "pictures"
    assert np.allclose(losses, -np.log(shown[np.arange(9), right]), rtol=1e-4)
    assert np.allclose(shown.sum(1), 1, atol=1e-5)
    # Do: the letters that can be read, and what is right.
    assert "so it reads “cab”" in markdown(app)
    (said,) = (e.value for e in app.markdown if e.value.startswith("cab →"))
    assert "That is right." in said or f"Right is **{TASKS['copy']('cab')}**." in said
    assert len(table(app, "written")[0]) == 1 + len(component(app, "own_map")["rows"])


@pytest.mark.parametrize(
    ("slug", "label", "says"),
    [
        (SLUG, "Start", "First press *Start*."),
        ("fine-tuning", "Train", "First press *Train* in See."),
        ("lora-and-bitfit", "Start", "First press *Start* in See."),
    ],
)
def test_a_training_that_left_nothing_learns_no_longer(
    slug: str, label: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_training, "submit", lambda *_, **__: queue.Job(iter, state="stopped"))
    app = opened(slug)
    button(app, label).click().run()
    assert "The training was stopped before it began." in notices(app)
    assert says in markdown(app)
    assert "still learns" not in markdown(app)


def press(app: AppTest) -> dict[str, Any]:
    """The button of the first screen, pressed. Returns what it showed before."""
    (scene,) = (one for one in app.get("bidi_component") if one.key == "scene")
    before = component(app, "scene")
    choose_in(app, scene, 1, 0)
    return before


def test_the_first_screen_starts_it_follows_it_and_stops_it() -> None:
    app = opened(SLUG, sentence="Turn me round.")
    assert press(app)["press"] == "Start"
    until(app, "**Step ")
    end = time.monotonic() + 60
    while "Step **0**" in (now := component(app, "scene"))["frames"][0]["answer"]:
        assert time.monotonic() < end
        time.sleep(0.3)
        app.run()
    assert now["press"] == "Stop"
    _, bars, curve = now["frames"][0]["rows"][0]
    assert [bar[0] for bar in bars["bars"]] == [*"oremnrut", "end"]
    assert curve["knob"] == curve["lines"][0][1][-1] != curve["lines"][0][1][0]
    press(app)
    until(app, "The training was stopped. What you saw last is kept.")
    assert component(app, "scene")["press"] == "Start again"
    # Another task below: what stands above is of that one, and not yet trained.
    app.button_group(key="task").set_value("copy").run()
    assert_sound(app)
    assert component(app, "scene")["press"] == "Start"
    assert "is to copy “turnmero”, the beginning of your sentence" in component(app, "scene")["caption"]


def test_presses_in_quick_succession_leave_nothing_behind() -> None:
    app = opened(SLUG)
    for _ in range(6):
        press(app)
    app.run()
    while component(app, "scene")["press"] == "Stop":
        press(app)
        time.sleep(0.5)  # a stop that was still on its way would make the next press a start
        app.run()
    until(app, "The training was stopped")
    end = time.monotonic() + 30  # far less than a training takes that nobody has stopped
    while processes():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_second_click_on_start_that_comes_late_starts_no_second_training() -> None:
    app = opened(SLUG)
    late = button(app, "Start")
    late.click().run()
    job = app.session_state[TINY][0]
    late.click().run()
    assert app.session_state[TINY][0] is job
    job.cancel()


def processes() -> list[psutil.Process]:
    fork_server = live._fork_server._process
    return psutil.Process(fork_server.pid).children() if fork_server else []


def test_a_training_that_nobody_watches_any_more_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the visitor closes the page."""
    app = opened(SLUG, depth="3")
    button(app, "Start").click().run()
    until(app, "**Step ")
    assert processes()
    monkeypatch.setattr(queue, "PATIENCE_SECONDS", 0.5)
    end = time.monotonic() + 60
    while processes():
        assert time.monotonic() < end
        time.sleep(0.05)
    app.run()
    assert "The training was stopped. What you saw last is kept." in notices(app)


def test_another_choice_forgets_the_training() -> None:
    app = opened(SLUG)
    button(app, "Start").click().run()
    until(app, "**Step ")
    app.button_group(key="task").set_value("sort").run()
    assert_sound(app)
    assert [one.label for one in app.button if one.label in ("Start", "Stop")] == ["Start"]


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("ÄÖ 12!", "The model knows the letters a to z alone: type one to 8 of them."),
        ("abcdefghij", "so it reads “abcdefgh”"),
        ("<script>", "so it reads “script”"),
    ],
)
def test_letters_that_cannot_be_read_are_told(typed: str, says: str) -> None:
    app = opened(SLUG, letters=typed)
    assert says in "\n".join([markdown(app), *notices(app)])


def test_an_address_that_asks_for_what_cannot_be_gets_the_default() -> None:
    app = opened(SLUG, task="shuffle", depth="99", n_heads="3", positions="up", rate="1e9")
    chosen = {group.key: group.value for group in app.button_group}
    wanted = {"task": "reverse", "depth": 1, "n_heads": 2, "positions": "sinusoidal", "rate": "0.003"}
    assert {key: chosen[key] for key in wanted} == wanted
