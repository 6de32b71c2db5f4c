"""Pieces put together into words, and their attention with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from figures.grouping import Group, grouped, pieces, words

WORD_OF = st.lists(st.integers(-1, 4), min_size=1, max_size=9).map(sorted)


@st.composite
def attention(draw: st.DrawFn) -> tuple[np.ndarray, list[Group], list[Group]]:
    """Weights (L,H,T,S) whose rows add up to 1, with words for T and for S."""
    rows, columns = draw(WORD_OF), draw(WORD_OF)
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    weights = random.dirichlet(np.ones(len(columns)), size=(2, 3, len(rows)))
    groups = (words([f"<{i}>" for i in range(len(w))], w) for w in (rows, columns))
    return weights, *groups


def test_by_hand() -> None:
    weights = np.array(
        [
            [0.1, 0.2, 0.3, 0.4],
            [0.5, 0.1, 0.1, 0.3],
            [0.0, 0.0, 1.0, 0.0],
        ]
    )
    rows = words(["Ap", "fel", "<eos>"], [0, 0, -1])
    columns = words(["an", "app", "le", "<eos>"], [0, 1, 1, -1])
    assert rows == [Group("Apfel", (0, 1)), Group("<eos>", (2,))]
    assert columns == [Group("an", (0,)), Group("apple", (1, 2)), Group("<eos>", (3,))]
    # "Apfel" gives "apple" the mean of 0.2 + 0.3 and 0.1 + 0.1.
    assert np.allclose(grouped(weights, rows, columns), [[0.3, 0.35, 0.35], [0.0, 1.0, 0.0]])


@given(attention())
def test_rows_still_add_up_to_one(case: tuple[np.ndarray, list[Group], list[Group]]) -> None:
    weights, rows, columns = case
    result = grouped(weights, rows, columns)
    assert result.shape == (2, 3, len(rows), len(columns))
    assert np.allclose(result.sum(-1), 1)


@given(attention())
def test_single_pieces_change_nothing(case: tuple[np.ndarray, list[Group], list[Group]]) -> None:
    weights, *_ = case
    one_by_one = (pieces([str(i) for i in range(n)]) for n in weights.shape[-2:])
    assert np.array_equal(grouped(weights, *one_by_one), weights)


@given(WORD_OF)
def test_words_hold_every_piece_once_and_in_order(word_of: list[int]) -> None:
    groups = words([f"<{i}>" for i in range(len(word_of))], word_of)
    assert [i for group in groups for i in group.pieces] == list(range(len(word_of)))
    assert "".join(group.label for group in groups) == "".join(f"<{i}>" for i in range(len(word_of)))
    for group in groups:
        assert len({word_of[i] for i in group.pieces}) == 1
        assert len(group.pieces) == 1 or word_of[group.pieces[0]] >= 0


def test_special_tokens_stand_alone() -> None:
    assert [g.pieces for g in words(["<sos>", "<eos>", "a", "b"], [-1, -1, 0, 0])] == [(0,), (1,), (2, 3)]


def test_a_group_left_out_takes_its_share_away() -> None:
    weights = np.array([[0.25, 0.75]])
    assert np.allclose(grouped(weights, pieces(["a"]), pieces(["a", "<eos>"])[:1]), [[0.25]])


def test_sequences_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 pieces but 3 word numbers"):
        words(["a", "b"], [0, 0, 1])
