"""What the lesson on the price of attention shows by default, and what it measures."""

import itertools
import time

import pytest

from experiments.attention.price import LENGTHS, Seconds, measure
from pages.beyond_attention.price_of_attention import scene
from tests.pages.kit import assert_sound, opened
from ui import engine


def test_it_opens_where_the_square_is_64_times_as_large() -> None:
    shown = scene(engine.trace("I ate an apple"))
    opens, first = shown.frames[shown.start].panels[0][0].sent(), shown.frames[0].panels[0][0].sent()
    assert (first["side"], opens["side"]) == (5, 40)


@pytest.mark.timeout(300)
def test_all_pairs_take_20_times_as_long_as_one_state_and_no_step_holds_the_lock_for_long() -> None:
    seconds: Seconds = {}
    ends = [(time.perf_counter(), done) for done in engine.by_turns(measure(seconds))]
    assert [done for _, done in ends] == sorted(done for _, done in ends)
    assert sorted(b - a for (a, _), (b, _) in itertools.pairwise(ends))[-3] < 0.3  # a busy machine may stop a step
    assert {len(times) for times in seconds.values()} == {len(LENGTHS)}
    assert seconds["every pair"][-1] > 20 * seconds["one state"][-1]
    assert seconds["every pair"][-1] > 4 * seconds["window"][-1]


def test_what_is_measured_is_drawn_as_it_comes() -> None:
    app = opened("price-of-attention")
    app.session_state["price/seconds"] = {"every pair": [1e-5, 2e-5], "window": [1e-4], "one state": []}
    next(button for button in app.button if button.label == "Measure").click().run()
    assert_sound(app)
    assert any("tw-plot" in e.proto.body for e in app.get("html"))
