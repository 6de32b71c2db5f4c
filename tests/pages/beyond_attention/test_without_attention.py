"""What the lesson on state-space layers shows by default, and what it measures."""

import itertools
import time

import numpy as np

from experiments.attention.price import LENGTHS, Prices, measure
from model.families.copying import KINDS
from pages.beyond_attention.without_attention import WAYS, deltas, lettered, scene
from ui import engine


def test_it_opens_where_the_selective_network_is_right_and_the_other_is_lost() -> None:
    shown = scene(engine.trace("I ate an apple"))

    def right(stop: int) -> list[int]:
        cards = [row[1].sent()["rows"][0]["cards"] for row in shown.frames[stop].panels]
        return [sum(card[1] == "written" for card in row) for row in cards]

    assert (shown.frames[shown.start].stop, right(shown.start)) == ("128", [6, 2])
    assert right(0) == [6, 6]


def test_the_step_is_large_at_letters_and_small_in_noise_and_elsewhere_always_the_same() -> None:
    chosen, fixed = (deltas(kind, 128) for kind in KINDS)
    letters = [n for n, _ in lettered(128)]
    noise = np.delete(chosen, letters)
    assert chosen[letters].mean() > 4 * noise.mean()
    assert chosen[letters].min() > np.median(noise)
    assert np.ptp(fixed) == 0


def test_no_step_of_what_is_measured_holds_the_lock_for_long() -> None:
    prices: Prices = {}
    ways = {name: way for name, way in WAYS.items() if name != "every pair"}  # that one's lesson tests it
    ends = [time.perf_counter() for _ in engine.by_turns(measure(prices, ways))]
    assert sorted(b - a for a, b in itertools.pairwise(ends))[-3] < 0.3  # a busy machine may stop a step
    assert {len(times) for times in prices.values()} == {len(LENGTHS)}
    assert all(many[-1].seconds < 64 * many[6].seconds for many in prices.values()), (
        "eight times the places, and no square of it"
    )
