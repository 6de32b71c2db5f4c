"""What the lesson on the price of attention shows by default, and what it measures."""

import itertools
from types import SimpleNamespace

import pytest
import torch

from experiments.attention import price
from experiments.attention.price import D_K, LENGTHS, RUNS, WAYS, Price, Prices, Way, allocated, measure
from pages.beyond_attention.price_of_attention import scene
from tests.pages.kit import assert_sound, opened
from ui import engine


def sizes(way: Way, length: int) -> list[int]:
    """The bytes that each step makes for a text of this length."""
    return [allocated(step) for step in way(*torch.randn(3, 1, 1, length, D_K))]


def test_it_opens_where_the_square_is_64_times_as_large() -> None:
    shown = scene(engine.trace("I ate an apple"))
    opens, first = shown.frames[shown.start].panels[0][0].sent(), shown.frames[0].panels[0][0].sent()
    assert (first["side"], opens["side"]) == (5, 40)


def test_all_pairs_make_many_times_the_bytes_of_one_state_and_no_step_holds_the_lock_for_long() -> None:
    one, two = 1024, 2048
    taken = {way: {n: sum(sizes(WAYS[way], n)) for n in (one, two)} for way in WAYS}
    assert taken["every pair"][two] > 12.5 * taken["one state"][two]  # and so more than 50 times at 8,192
    growth = {way: by_length[two] / by_length[one] for way, by_length in taken.items()}
    assert growth == pytest.approx({"every pair": 4, "window": 2, "one state": 2}, rel=0.02)
    at_once = {way: max(sizes(WAYS[way], two)) * LENGTHS[-1] / two for way in WAYS}
    assert max(at_once.values()) < 45e6  # bytes that one step makes of the longest text


def test_the_fastest_of_the_runs_and_the_bytes_are_kept_and_it_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(price, "LENGTHS", (300, 600))
    # Ten steps take so many seconds, with seven between two of them: two steps a run at first, then three.
    clock = itertools.accumulate(n for took in itertools.cycle([9, 9, 3, 5, 1, 2, 4, 4, 6, 6]) for n in (7, took))
    monkeypatch.setattr(price, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    prices: Prices = {}
    way = WAYS["every pair"]
    done = list(engine.by_turns(measure(prices, {"every pair": way})))
    assert done == sorted(done)
    assert len(done) == (2 + 3) * (RUNS + 1)  # others have their turn after every step
    assert prices == {"every pair": [Price(1 + 2, sum(sizes(way, 300))), Price(5 + 1 + 2, sum(sizes(way, 600)))]}


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
