"""Attention in tiles is softmax's, whatever the tiles: a law, and a case by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.attention.tiles import attention_in_tiles

SCORE = st.one_of(st.floats(-80, 80), st.just(-np.inf))


@given(st.floats(-80, 80), st.lists(SCORE, max_size=40), st.integers(1, 50), st.integers(0, 9))
def test_the_last_state_is_what_softmax_gives(first: float, others: list[float], size: int, seed: int) -> None:
    scores = np.array([first, *others])
    values = np.random.default_rng(seed).normal(size=(len(scores), 3))
    states = list(attention_in_tiles(scores, values, size))
    assert len(states) == -(-len(scores) // size)
    for n, state in enumerate(states, 1):
        powers = np.exp(scores[: n * size] - scores[: n * size].max())
        assert state.output == pytest.approx(powers @ values[: n * size] / powers.sum(), abs=1e-9)
        assert state.total == pytest.approx(powers.sum())
        assert state.largest == scores[: n * size].max()


def test_two_tiles_by_hand() -> None:
    first, second = attention_in_tiles(np.array([0.0, np.log(2)]), np.array([[3.0], [6.0]]), 1)
    assert (first.correction, first.total, first.output.tolist()) == (0, 1, [3])
    assert (second.correction, second.total) == (pytest.approx(0.5), pytest.approx(1.5))
    assert second.output.tolist() == pytest.approx([5])  # (0.5 · 3 + 1 · 6) / 1.5


def test_a_tile_that_holds_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^a tile of 0 positions holds nothing$"):
        next(attention_in_tiles(np.ones(2), np.ones((2, 1)), 0))
