"""Position schemes: the sinusoidal table and its properties, rotary, and what attention does with a scheme."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close
from transformers.models.roformer.modeling_roformer import RoFormerSelfAttention

from model.parts.attention import MultiHeadAttention
from model.parts.masks import causal_mask
from model.parts.positions import Positions, Rotary, Sinusoidal, rotation, sinusoidal_encoding
from model.tap import Recorder

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


@pytest.mark.parametrize("start", [0, 7])
@pytest.mark.parametrize("name", ["q", "k"])
def test_rotary_turns_each_pair_by_its_angle(name: str, start: int) -> None:
    x, recorder = torch.randn(2, 3, 5, 14), Recorder()
    turned = Rotary().rotate(name, x, start, recorder)
    assert_close(turned, turned_by_hand(x, start), atol=1e-5, rtol=1e-5)
    assert turned is recorder.tensors[f"rotated_{name}"]
    assert recorder.tensors.keys() == {f"rotated_{name}"}


def test_rotary_is_as_exact_far_away_as_near() -> None:
    """At position 100,000 an angle in single precision would be off by some 0.004."""
    x = torch.randn(1, 1, 3, 14)
    assert_close(Rotary().rotate("q", x, 100_000), turned_by_hand(x, 100_000), atol=1e-5, rtol=1e-5)


def test_rotary_products_depend_on_the_distance_alone() -> None:
    q, k, rotary = torch.randn(1, 1, 1, 14), torch.randn(1, 1, 1, 14), Rotary()
    products = [float((rotary.rotate("q", q, m + 3) * rotary.rotate("k", k, m)).sum()) for m in (0, 1, 8, 90)]
    assert products == pytest.approx([products[0]] * 4, abs=1e-4)
    other = float((rotary.rotate("q", q, 4) * rotary.rotate("k", k, 0)).sum())
    assert other != pytest.approx(products[0], abs=1e-3)


@pytest.mark.parametrize("scheme", [Positions(), Rotary()])
def test_schemes_add_nothing_where_they_do_not_act(scheme: Positions) -> None:
    x = torch.randn(2, 5, 42)
    assert scheme.embed(x, 3) is x
    assert scheme.bias(3, 5) is None
    if not isinstance(scheme, Rotary):
        assert scheme.rotate("q", x, 3) is x


def test_attention_turns_queries_and_keys() -> None:
    """Beside torch's own attention, given queries and keys that were turned by hand."""
    attention, x, mask = MultiHeadAttention(42, 3, Rotary()), torch.randn(2, 5, 42), causal_mask(5)
    q, k, v = (attention.split(w(x)) for w in (attention.w_q, attention.w_k, attention.w_v))
    heads = nn.functional.scaled_dot_product_attention(turned_by_hand(q, 0), turned_by_hand(k, 0), v, mask)
    expected = attention.w_o(heads.transpose(1, 2).flatten(-2))
    assert_close(attention(x, x, mask), expected, atol=1e-5, rtol=1e-5)


def test_rotary_turns_as_roformer_does() -> None:
    q, k = torch.randn(2, 3, 5, 14), torch.randn(2, 3, 5, 14)
    angle = torch.arange(5)[:, None] / 10000 ** (torch.arange(0, 14, 2) / 14)
    table = torch.cat([angle.sin(), angle.cos()], dim=-1)[None, None]
    theirs = RoFormerSelfAttention.apply_rotary_position_embeddings(table, q, k)
    for name, x, expected in zip("qk", (q, k), theirs, strict=True):
        assert_close(Rotary().rotate(name, x), expected, atol=1e-5, rtol=1e-5)


def test_rotary_needs_pairs() -> None:
    with pytest.raises(ValueError, match=r"^d_k=7 is odd; rotary positions turn pairs of dimensions$"):
        Rotary().rotate("q", torch.randn(1, 2, 3, 7))
