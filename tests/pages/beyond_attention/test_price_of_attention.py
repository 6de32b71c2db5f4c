"""What the lesson on the price of attention shows by default, and what it measures."""

import itertools
import time

import pytest
import torch

from experiments.attention.price import D_K, LENGTHS, WAYS, Price, Prices, allocated, measure
from pages.beyond_attention.price_of_attention import scene
from tests.pages.kit import assert_sound, opened
from ui import engine


def test_it_opens_where_the_square_is_64_times_as_large() -> None:
    shown = scene(engine.trace("I ate an apple"))
    opens, first = shown.frames[shown.start].panels[0][0].sent(), shown.frames[0].panels[0][0].sent()
    assert (first["side"], opens["side"]) == (5, 40)


@pytest.mark.timeout(300)
def test_all_pairs_take_20_times_as_long_as_one_state_and_no_step_holds_the_lock_for_long() -> None:
    prices: Prices = {}
    ends = [(time.perf_counter(), done) for done in engine.by_turns(measure(prices))]
    assert [done for _, done in ends] == sorted(done for _, done in ends)
    assert sorted(b - a for (a, _), (b, _) in itertools.pairwise(ends))[-3] < 0.3  # a busy machine may stop a step
    assert {len(times) for times in prices.values()} == {len(LENGTHS)}
    pairs, window, state = (prices[way][-1] for way in ("every pair", "window", "one state"))
    assert pairs.seconds > 20 * state.seconds
    assert pairs.seconds > 4 * window.seconds
    assert pairs.bytes > 50 * state.bytes
    growth = {way: many[-1].bytes / many[-2].bytes for way, many in prices.items()}
    assert growth == pytest.approx({"every pair": 4, "window": 2, "one state": 2}, rel=0.01)


@pytest.mark.parametrize(
    ("way", "numbers"),
    [
        # Of 300 rows in two strips: products, scaled, weights; the heads.
        ("every pair", 3 * 300 * 300 + 300 * D_K),
        # Of queries and keys: elu, plus 1; the state; keys added up; what reads it, twice; what divides; the quotient.
        ("one state", 4 * 300 * D_K + D_K * D_K + D_K + 300 * D_K + 300 * D_K + 300 + 300 * D_K),
    ],
)
def test_the_bytes_of_a_small_case_by_hand(way: str, numbers: int) -> None:
    q, k, v = torch.randn(3, 1, 1, 300, D_K)
    assert sum(allocated(step) for step in WAYS[way](q, k, v)) == 4 * numbers


def test_a_view_asks_for_nothing() -> None:
    x = torch.randn(6, 5)
    assert allocated(lambda: x.T[1:].unsqueeze(0)) == 0
    assert allocated(lambda: x.T.contiguous()) == 6 * 5 * 4


def test_what_is_measured_is_drawn_as_it_comes() -> None:
    app = opened("price-of-attention")
    some, more = Price(1e-5, 7000), Price(2e-5, 30_000)
    app.session_state["price/prices"] = {"every pair": [some, more], "window": [more], "one state": []}
    next(button for button in app.button if button.label == "Measure").click().run()
    assert_sound(app)
    assert sum("tw-plot" in e.proto.body for e in app.get("html")) == 2
