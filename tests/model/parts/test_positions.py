"""Position schemes: the sinusoidal table and its properties, rotary, and what attention does with a scheme."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from model.parts.positions import Rotary, Sinusoidal, rotation, sinusoidal_encoding


@given(st.integers(0, 250), st.integers(0, 20).map(lambda i: 2 * i))
def test_the_formula(position: int, even: int) -> None:
    row = sinusoidal_encoding(251, 42)[position]
    angle = position / 10000 ** (even / 42)
    assert row[even].item() == pytest.approx(math.sin(angle), abs=1e-6)
    assert row[even + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_beyond_the_prepared_length_the_formula_goes_on() -> None:
    positions, x = Sinusoidal(13, 42), torch.randn(3, 7, 42)
    assert_close(positions.embed(x, start=7), x + sinusoidal_encoding(99, 42)[7:14], atol=0, rtol=0)
    assert positions.encoding.shape == (13, 42)


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


def turned_by_hand(x: torch.Tensor, start: int) -> torch.Tensor:
    """Su et al. 2021, §3.2: each pair of numbers is a complex one; at position m it is multiplied with e^(i·m·θ)."""
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    d_k = x.size(-1)
    theta = torch.tensor([10000 ** (-2 * i / d_k) for i in range(d_k // 2)], dtype=torch.float64)
    positions = torch.arange(start, start + x.size(-2), dtype=torch.float64)
    turned = pairs * torch.polar(torch.ones(1, 1, dtype=torch.float64), positions[:, None] * theta)
    return torch.view_as_real(turned).flatten(-2).float()


def test_rotary_is_as_exact_far_away_as_near() -> None:
    """At position 100,000 an angle in single precision would be off by some 0.004."""
    x = torch.randn(1, 1, 3, 14)
    assert_close(Rotary().rotate("q", x, 100_000), turned_by_hand(x, 100_000), atol=1e-5, rtol=1e-5)


def test_rotary_needs_pairs() -> None:
    with pytest.raises(ValueError, match=r"^d_k=7 is odd; rotary positions turn pairs of dimensions$"):
        Rotary().rotate("q", torch.randn(1, 2, 3, 7))
