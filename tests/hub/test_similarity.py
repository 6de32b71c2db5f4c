"""Likeness of heads: laws that any such measure must obey, and cases one can work out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from hub import similarity as similarities
from hub.attention import AttentionMaps
from hub.similarity import places, similarity


def maps(weights: np.ndarray, kind: str = "encoder", name: str = "t") -> AttentionMaps:
    rows, columns = (tuple(f"{name}{i}" for i in range(n)) for n in weights.shape[2:])
    return AttentionMaps(
        kind, weights.astype(np.float32), rows, columns, tuple(range(len(rows))), tuple(range(len(columns)))
    )


def some(seed: int, layers: int, heads: int, t: int, s: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(s), (layers, heads, t))


def test_other_sentences_are_compared_by_place() -> None:
    eye = [maps(np.eye(n)[None, None], name=str(n)) for n in (4, 6)]
    found, cell_by_cell = similarity(*eye)
    assert not cell_by_cell
    assert found[0, 0, 0, 0] == pytest.approx(1)


def test_the_places_of_an_oblong_map_lie_along_its_own_diagonal_and_share_out_everything() -> None:
    assert places(maps(np.eye(7)[None, None, ::2], "cross"))[0, 0].tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert places(maps(some(1, 2, 3, 4, 7), "cross")).sum(-1) == pytest.approx(1)


def test_the_same_columns_under_other_rows_are_no_same_cells() -> None:
    one = maps(some(1, 2, 3, 4, 5))
    assert not similarity(one, replace(one, rows=tuple("abcd")))[1]
    assert not similarity(one, replace(one, columns=tuple("abcde")))[1]


def test_too_many_cells_are_not_compared_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = maps(some(1, 2, 3, 5, 5)), maps(some(2, 2, 3, 5, 5))
    monkeypatch.setattr(similarities, "MAX_CELLS", 2 * 3 * 2 * 3 * 5 * 5)
    assert similarity(one, two)[1]
    monkeypatch.setattr(similarities, "MAX_CELLS", 2 * 3 * 2 * 3 * 5 * 5 - 1)
    result, cell_by_cell = similarity(maps(some(1, 2, 3, 5, 5)), two)
    assert not cell_by_cell
    shares = [places(each).reshape(6, -1) for each in (one, two)]
    assert np.allclose(result.reshape(6, 6), np.minimum(shares[0][:, None], shares[1]).sum(-1))
