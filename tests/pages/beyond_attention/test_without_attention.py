"""What the lesson on state-space layers shows by default, and what it measures."""

import numpy as np
import pytest
import torch

from experiments.attention.price import D_K, ROWS, allocated
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


@pytest.mark.parametrize(("way", "n_steps"), [("convolution", 1), ("recurrence", 2048 // ROWS)])
def test_what_a_way_makes_grows_with_the_places_and_no_step_holds_the_lock_for_long(way: str, n_steps: int) -> None:
    many, few = ([allocated(step) for step in WAYS[way](*torch.randn(3, 1, 1, n, D_K))] for n in (2048, 256))
    assert sum(many) == pytest.approx(8 * sum(few), rel=0.02)  # and not with their square
    assert len(many) == n_steps
    assert max(many) < 45e6  # bytes
