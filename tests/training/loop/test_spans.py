"""Hidden spans: what is hidden is written, each behind its own sentinel, and an output is read back or refused."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.text.tokenizer import SENTINELS
from training.loop.noise import Noisy
from training.loop.spans import hide_spans, n_hidden_and_spans, parts, read_spans

FIRST = 1000
SEEDS = st.integers(0, 2**32 - 1)


@given(st.integers(0, 400), SEEDS, st.floats(0, 1), st.floats(1, 8))
def test_source_and_target_hold_the_text_once(n: int, seed: int, share: float, mean: float) -> None:
    ids = range(10, 10 + n)
    source, target = hide_spans(ids, FIRST, seed, share, mean)
    assert (source, target) == hide_spans(ids, FIRST, seed, share, mean)
    n_hidden, n_spans = n_hidden_and_spans(n, share, mean)
    assert (len(source.ids), len(target.ids)) == (n - n_hidden + n_spans, n_hidden + n_spans + 1)
    assert [at for origins in source.origins for at in origins] == [*range(n)]
    signs = [*range(FIRST, FIRST + n_spans + 1)]
    assert [id for id in source.ids if id >= FIRST] == signs[:-1]
    assert [id for id in target.ids if id >= FIRST] == signs
    spans = read_spans(target.ids, FIRST, n_spans)
    assert spans is not None
    assert all(spans), "no span is empty"
    put_in = [id for one in source.ids for id in (spans[one - FIRST] if one >= FIRST else (one,))]
    assert put_in == [*ids]
    for one in (source, target):
        for id, origins in zip(one.ids, one.origins, strict=True):
            assert (id - 10,) == origins or (
                id >= FIRST and origins == tuple(id - 10 for id in (*spans, ())[id - FIRST])
            )


@given(st.integers(0, 400), st.floats(0, 1), st.floats(1, 8))
def test_how_much_is_hidden(n: int, share: float, mean: float) -> None:
    n_hidden, n_spans = n_hidden_and_spans(n, share, mean)
    if n < 2:
        assert (n_hidden, n_spans) == (0, 0)
    else:
        assert n_hidden == min(max(1, round(share * n)), n - 1)
        assert 1 <= n_spans <= min(n_hidden, len(SENTINELS) - 1)


def test_fifteen_per_cent_in_spans_of_three() -> None:
    assert n_hidden_and_spans(60) == (9, 3)
    assert n_hidden_and_spans(5) == (1, 1)
    assert n_hidden_and_spans(47) == (7, 2), "7 / 3 is rounded"
    with pytest.raises(ValueError, match=r"^share=2 is not between 0 and 1$"):
        n_hidden_and_spans(5, share=2)


def test_two_pieces_by_hand() -> None:
    """One of them is hidden: source and target take turns."""
    found = {hide_spans((7, 8), FIRST, seed) for seed in range(20)}
    x, y = FIRST, FIRST + 1
    assert found == {
        (Noisy((x, 8), ((0,), (1,))), Noisy((x, 7, y), ((0,), (0,), ()))),
        (Noisy((7, x), ((0,), (1,))), Noisy((x, 8, y), ((1,), (1,), ()))),
    }
    assert hide_spans((7,), FIRST, 0) == (Noisy((7,), ((0,),)), Noisy((x,), ((),)))


def test_a_span_may_stand_anywhere() -> None:
    counts = Counter(
        at for seed in range(3000) for origins in hide_spans(range(20), FIRST, seed)[1].origins[1:] for at in origins
    )
    shares = [counts[at] / 3000 for at in range(20)]
    assert sum(shares) == pytest.approx(3)
    assert min(shares[2:-2]) > 0.1
    assert shares[0] == pytest.approx(1 / 18, abs=0.02), "one of 18 places for a span of three"


def test_parts_are_all_ways_as_likely() -> None:
    rng = np.random.default_rng(0)
    counts = Counter(tuple(parts(5, 3, rng)) for _ in range(3000))
    assert {*counts} == {(1, 1, 3), (1, 3, 1), (3, 1, 1), (1, 2, 2), (2, 1, 2), (2, 2, 1)}
    assert [many / 3000 for many in counts.values()] == pytest.approx([1 / 6] * 6, abs=0.03)
    assert parts(4, 1, rng) == [4]
    assert parts(0, 0, rng) == []


@pytest.mark.parametrize(
    ("written", "spans"),
    [
        ([1000, 7, 8, 1001, 9, 1002], [(7, 8), (9,)]),
        ([1000, 1001, 9, 1002], [(), (9,)]),
        ([7, 1000, 7, 1001, 9, 1002], None),  # begins with something else
        ([1000, 7, 1001, 9, 1002, 8], None),  # goes on
        ([1000, 7, 1001, 9], None),  # stops early
        ([1001, 7, 1000, 9, 1002], None),  # another order
        ([1000, 7, 1001, 9, 1002, 1003], None),  # one too many
        ([1000, 7, 1001, 9, 1001, 1002], None),  # one twice
        ([], None),
    ],
)
def test_what_is_well_formed(written: list[int], spans: list[tuple[int, ...]] | None) -> None:
    assert read_spans(written, 1000, 2) == spans
