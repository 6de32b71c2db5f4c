"""Likeness of heads: laws that any such measure must obey, and cases one can work out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub import similarity as similarities
from hub.attention import AttentionMaps
from hub.similarity import PLACES, places, similarity


def maps(weights: np.ndarray, kind: str = "encoder", name: str = "t") -> AttentionMaps:
    rows, columns = (tuple(f"{name}{i}" for i in range(n)) for n in weights.shape[2:])
    return AttentionMaps(
        kind, weights.astype(np.float32), rows, columns, tuple(range(len(rows))), tuple(range(len(columns)))
    )


def some(seed: int, layers: int, heads: int, t: int, s: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(s), (layers, heads, t))


SIZES = st.tuples(st.integers(0, 99), st.integers(1, 2), st.integers(1, 3), st.integers(1, 7), st.integers(1, 7))


@given(size=SIZES, kind=st.sampled_from(["encoder", "cross"]))
def test_places_share_out_everything(size: tuple[int, ...], kind: str) -> None:
    found = places(maps(some(*size), kind))
    assert found.shape == (*size[1:3], len(PLACES))
    assert np.allclose(found.sum(-1), 1, atol=1e-6)


def test_places_of_a_head_that_looks_back() -> None:
    weights = np.zeros((1, 1, 5, 5))
    weights[0, 0, 0, 0] = 1
    weights[0, 0, range(1, 5), range(4)] = 1
    found = dict(zip(PLACES, places(maps(weights))[0, 0], strict=True))
    assert found["the previous"] == pytest.approx(0.8)
    assert found["itself"] == pytest.approx(0.2)


@given(one=SIZES, other=st.integers(100, 199))
def test_likeness_is_symmetric_bounded_and_1_with_itself(one: tuple[int, ...], other: int) -> None:
    left, right = maps(some(*one)), maps(some(other, *one[1:]))
    found, cell_by_cell = similarity(left, right)
    back, _ = similarity(right, left)
    assert cell_by_cell
    assert np.allclose(found, back.transpose(2, 3, 0, 1))
    assert ((found >= 0) & (found <= 1 + 1e-6)).all()
    self_likeness, _ = similarity(left, left)
    for layer, head in np.ndindex(self_likeness.shape[:2]):
        assert self_likeness[layer, head, layer, head] == pytest.approx(1, abs=1e-6)


def test_other_sentences_are_compared_by_place() -> None:
    eye = [maps(np.eye(n)[None, None], name=str(n)) for n in (4, 6)]
    found, cell_by_cell = similarity(*eye)
    assert not cell_by_cell
    assert found[0, 0, 0, 0] == pytest.approx(1)


def test_too_many_cells_are_not_compared_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = maps(some(1, 2, 3, 5, 5)), maps(some(2, 2, 3, 5, 5))
    monkeypatch.setattr(similarities, "MAX_CELLS", 2 * 3 * 2 * 3 * 5 * 5)
    assert similarity(one, two)[1]
    monkeypatch.setattr(similarities, "MAX_CELLS", 2 * 3 * 2 * 3 * 5 * 5 - 1)
    result, cell_by_cell = similarity(maps(some(1, 2, 3, 5, 5)), two)
    assert not cell_by_cell
    shares = [places(each).reshape(6, -1) for each in (one, two)]
    assert np.allclose(result.reshape(6, 6), np.minimum(shares[0][:, None], shares[1]).sum(-1))
