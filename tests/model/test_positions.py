"""The sinusoidal encoding: its table, and the properties that make it useful."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from model.positions import Sinusoidal, rotation, sinusoidal_encoding

TABLE = """
0.000  1.000  0.000  1.000  0.000
0.841  0.540  0.025  1.000  0.001
0.909 -0.416  0.050  0.999  0.001
0.141 -0.990  0.075  0.997  0.002
-0.757 -0.654 0.100  0.995  0.003
"""  # a row a position, d_model = 5


def test_the_table() -> None:
    expected = torch.tensor([[float(cell) for cell in row.split()] for row in TABLE.strip().splitlines()])
    assert_close(sinusoidal_encoding(5, 5), expected, atol=0.0005001, rtol=0)


@given(st.integers(0, 250), st.integers(0, 20).map(lambda i: 2 * i))
def test_the_formula(position: int, even: int) -> None:
    row = sinusoidal_encoding(251, 42)[position]
    angle = position / 10000 ** (even / 42)
    assert row[even].item() == pytest.approx(math.sin(angle), abs=1e-6)
    assert row[even + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_bounded_and_unique() -> None:
    encoding = sinusoidal_encoding(997, 42)
    assert encoding.abs().max() <= 1
    distances = torch.cdist(encoding, encoding).fill_diagonal_(math.inf)
    assert distances.min() > 0.1


def test_the_product_of_two_positions_depends_on_their_distance_alone() -> None:
    encoding = sinusoidal_encoding(101, 42).double()
    products = encoding @ encoding.T
    for distance in range(100):
        diagonal = products.diagonal(distance)
        assert_close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-5, rtol=0)
    assert products[0, 0] == pytest.approx(21)  # sin² + cos² = 1, for each of d_model / 2 pairs
    assert products[0, 0] > products[0, 1] > products[0, 2]


def test_embed_starts_where_it_is_told() -> None:
    positions = Sinusoidal(13, 42)
    x = torch.randn(3, 5, 42)
    assert_close(positions.embed(x, start=7), x + sinusoidal_encoding(13, 42)[7:12], atol=0, rtol=0)
    assert positions.embed(torch.randn(3, 6, 42), start=7).shape == (3, 6, 42)


def test_beyond_the_prepared_length_both_numbers_are_named() -> None:
    with pytest.raises(ValueError, match=r"^14 tokens, but positions are prepared for 13$"):
        Sinusoidal(13, 42).embed(torch.randn(3, 7, 42), start=7)


def test_the_encoding_is_not_saved_with_the_weights() -> None:
    assert Sinusoidal(13, 42).state_dict() == {}


@pytest.mark.parametrize("offset", [-3, 0, 1, 7, 0.5])
def test_one_rotation_moves_every_position(offset: float) -> None:
    encoding = sinusoidal_encoding(101, 42).double()
    matrix = rotation(offset, 42).double()
    assert_close(matrix @ matrix.T, torch.eye(42).double(), atol=1e-6, rtol=0)
    assert_close(torch.linalg.eigvals(matrix).abs(), torch.ones(42).double(), atol=1e-6, rtol=0)
    if offset == int(offset):
        first, last = max(0, -int(offset)), 101 - max(0, int(offset))
        moved = encoding[first:last] @ matrix.T
        assert_close(moved, encoding[first + int(offset) : last + int(offset)], atol=1e-5, rtol=0)
    else:
        angle = (17 + offset) / 10000 ** (4 / 42)  # a half step is one too
        assert (matrix @ encoding[17])[4].item() == pytest.approx(math.sin(angle), abs=1e-6)


def test_a_rotation_needs_pairs() -> None:
    with pytest.raises(ValueError, match=r"^d_model=5 is odd; sines and cosines come in pairs$"):
        rotation(1, 5)
