"""How it learned: the slider, Play, and what is said where something does not fit."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.training.how_it_learned import playing, snapshots
from tests.pages.kit import ROUTER, assert_sound, component, go_to, markdown, notices, opened, values

SLUG = "how-it-learned"
STEPS = [0, 50, 100, 200, 400, 700, 1000, 1500, 2000, 3000, 5000, 6000]
LONG = "My neighbour's cat sleeps on the sofa all day long. " * 5


class Clock:
    """Stands in for the time."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(playing, "time", clock)
    return clock


def slider(app: AppTest) -> Any:
    return app.select_slider(key="snapshot")


def button(app: AppTest) -> Any:
    return app.button(key="snapshot_play")


def test_play_shows_every_snapshot_a_second_each_and_stops_at_the_end(clock: Clock) -> None:
    app = opened(SLUG)
    assert button(app).label == "Play"
    button(app).click().run()
    seen = []
    for _ in STEPS:
        assert_sound(app)
        assert button(app).label == "Stop"
        assert "It plays." in markdown(app)
        seen.append(slider(app).value)
        clock.now += 0.3
        app.run()  # a look before the second is over changes nothing
        assert slider(app).value == seen[-1]
        clock.now += 0.7
        app.run()
    assert seen == STEPS
    assert (button(app).label, slider(app).value) == ("Play", 6000)
    assert "It plays." not in markdown(app)


def test_the_map_changes_while_it_plays_and_its_rows_stay(clock: Clock) -> None:
    app = opened(SLUG, snapshot="50")
    before, rows = values(app, "snapshot_map"), component(app, "snapshot_map")["rows"]
    button(app).click().run()
    clock.now += 1
    app.run()
    assert slider(app).value == 100
    assert abs(values(app, "snapshot_map") - before).max() > 0.001
    assert component(app, "snapshot_map")["rows"] == rows


def test_stop_keeps_the_snapshot_and_play_goes_on_from_it(clock: Clock) -> None:
    app = opened(SLUG, snapshot="400")
    button(app).click().run()
    clock.now += 1
    app.run()
    button(app).click().run()
    assert (button(app).label, slider(app).value) == ("Play", 700)
    clock.now += 5
    app.run()
    assert slider(app).value == 700
    button(app).click().run()
    assert (button(app).label, slider(app).value) == ("Stop", 700)


def test_play_at_the_end_begins_anew(clock: Clock) -> None:
    app = opened(SLUG, snapshot="6000")
    button(app).click().run()
    assert (button(app).label, slider(app).value) == ("Stop", 0)


def test_who_comes_back_after_a_while_finds_it_stopped(clock: Clock) -> None:
    app = opened(SLUG)
    button(app).click().run()
    clock.now += 60
    app.run()
    assert button(app).label == "Play"


@pytest.mark.parametrize("asked", ["7", "-1", "6001", "plain", "50.0", " ", "9" * 400])
def test_an_address_that_names_no_snapshot_opens_the_first(asked: str) -> None:
    assert slider(opened(SLUG, snapshot=asked)).value == 0


def test_an_address_that_names_two_snapshots_opens_the_first() -> None:
    app = opened(SLUG, snapshot=["50", "400"])
    assert "After **0** of 6,000 steps" in markdown(app)


def test_a_sentence_that_is_too_long_is_told_in_one_sentence_in_each_part() -> None:
    app = opened(SLUG, sentence=LONG, learned_trial="Teacher forcing")
    told = [one for one in notices(app) if "type a shorter one" in one]
    assert len(told) == 3
    assert "at most 64 pieces, and yours has 71" in told[0]


@pytest.mark.parametrize(
    "sentence", ["</script><script>alert(1)</script>", "**a** $x^2$ :smile: [b](http://c)", "🍎" * 15, "?", "a\u202eb"]
)
@pytest.mark.parametrize("trial", ["Label smoothing", "Teacher forcing", "Dropout"])
def test_any_sentence_is_shown_as_it_is(sentence: str, trial: str) -> None:
    app = opened(SLUG, sentence=sentence, learned_trial=trial, snapshot="100", look="Neighbours of a piece")
    assert "<script>" not in "".join(one.proto.body for one in app.get("html"))


@pytest.mark.parametrize(
    ("left", "says"), [((), "no snapshot is in it"), ((0, 50), "measured on other snapshots")], ids=["none", "some"]
)
def test_missing_snapshots_are_told_in_one_sentence(
    left: tuple[int, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "snapshot_steps", lambda name: left)
    known = (snapshots.steps, snapshots.measured, snapshots.snapshot_control)
    for one in known:
        one.cache_clear()
    app = AppTest.from_file(ROUTER, default_timeout=60)
    go_to(app, SLUG).run()
    for one in known:
        one.cache_clear()
    assert not app.exception
    assert app.error
    told = [one.value.replace("\\", "") for one in app.error]
    assert all(says in one and "git checkout" in one for one in told)


def test_the_learner_can_say_when_the_model_learned_to_align() -> None:
    assert "On 200 sentences **head 2.3** formed first: at step **1,000**" in markdown(opened(SLUG))


def test_the_english_matters_more_and_more() -> None:
    costs = []
    for step in ("0", "100", "400", "6000"):
        (line,) = (
            one.value
            for one in opened(SLUG, snapshot=step, learned_trial="What came first").markdown
            if one.value.startswith("At step")
        )
        costs.append(float(line.split("costs **")[1].split("**")[0].replace("−", "-")))
    assert costs == sorted(costs)
    assert costs[0] < 0.1 < 1 < costs[-1]
