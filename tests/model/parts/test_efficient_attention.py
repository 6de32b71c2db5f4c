"""Attention in a window and through a state, against plain softmax attention and the matrix form."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from model.parts.attention import scaled_dot_product_attention
from model.parts.efficient_attention import (
    CausalLinearAttention,
    causal_linear_as_matrix,
    causal_linear_attention,
    exponential,
    features,
    linear_attention,
    windowed_attention,
)
from model.parts.masks import causal_mask
from model.tap import Recorder

N_KEYS = 23
PADDING = (torch.arange(N_KEYS) < torch.tensor([[23], [17]]))[:, None, None]  # (B,1,1,S)


def q_k_v(n_queries: int = N_KEYS, n_keys: int = N_KEYS, d_k: int = 7) -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(2, 3, n_queries, d_k), torch.randn(2, 3, n_keys, d_k), torch.randn(2, 3, n_keys, d_k)


@pytest.mark.parametrize("reach", [0, 1, 5, 40])
@pytest.mark.parametrize("mask", [None, PADDING, causal_mask(N_KEYS) & PADDING, causal_mask(N_KEYS)[:, :, -3:]])
def test_a_window_is_softmax_attention_under_a_band(reach: int, mask: Tensor | None) -> None:
    rows = N_KEYS if mask is None or mask.size(-2) == 1 else mask.size(-2)
    q, k, v = q_k_v(rows)
    distance = torch.arange(N_KEYS) - torch.arange(N_KEYS)[-rows:, None]
    band = (distance.abs() <= reach) & (True if mask is None else mask)
    expected = scaled_dot_product_attention(q, k, v, band)
    is_empty = ~band.any(-1).expand(2, 3, rows)
    expected[is_empty] = 0
    assert_close(windowed_attention(q, k, v, reach, mask), expected, atol=1e-6, rtol=1e-6)
    assert is_empty.any() == (reach < 6 and mask is not None and not mask.all() and mask.size(0) == 2)


def test_a_query_that_sees_nothing_learns_nothing_wrong() -> None:
    q, k, v = (one.requires_grad_() for one in q_k_v())
    windowed_attention(q, k, v, 2, PADDING).sum().backward()
    assert all(one.grad is not None and one.grad.isfinite().all() for one in (q, k, v))


def matrix_form(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """φ(Q)φ(K)ᵀ where the mask lets it, each row divided by its sum, times V: the square of all pairs."""
    shares = features(q) @ features(k).transpose(-2, -1) * mask
    return shares / shares.sum(-1, keepdim=True) @ v


def test_features_by_hand() -> None:
    x = torch.tensor([-1.0, 0.0, 2.0])
    assert_close(features(x), torch.tensor([0.3678794, 1.0, 3.0]))
    assert_close(exponential(x), torch.tensor([0.3678794, 1.0, 7.3890561]))


@pytest.mark.parametrize("mask", [None, PADDING])
def test_linear_attention_is_its_matrix_form(mask: Tensor | None) -> None:
    q, k, v = q_k_v(11)
    expected = matrix_form(q, k, v, torch.tensor(True) if mask is None else mask)
    assert_close(linear_attention(q, k, v, mask), expected, atol=1e-5, rtol=1e-5)


def test_causal_linear_attention_is_its_matrix_form_and_a_recurrence() -> None:
    q, k, v = q_k_v()
    mask = causal_mask(N_KEYS) & PADDING
    found = causal_linear_attention(q, k, v, mask)
    assert_close(found, matrix_form(q, k, v, mask), atol=1e-5, rtol=1e-5)
    assert_close(causal_linear_as_matrix(q, k, v, mask), found, atol=1e-5, rtol=1e-5)
    assert_close(causal_linear_as_matrix(q[:, :, -3:], k, v, mask), found[:, :, -3:], atol=1e-5, rtol=1e-5)
    state, total = torch.zeros(2, 3, 7, 7), torch.zeros(2, 3, 7)
    for t in range(17):  # before the padding
        key = features(k[:, :, t])
        state, total = state + key[..., :, None] * v[:, :, t, None, :], total + key
        query = features(q[:, :, t])
        read = torch.einsum("bhi,bhij->bhj", query, state) / (query * total).sum(-1, keepdim=True)
        assert_close(found[:, :, t], read, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("phi", [features, exponential])
def test_what_is_trained_as_a_matrix_is_read_as_a_recurrence(phi: Callable[[Tensor], Tensor]) -> None:
    module, x = CausalLinearAttention(12, 3, phi=phi), torch.randn(2, 9, 12)
    mask, taps = causal_mask(9), Recorder()
    trained, read = module.train()(x, x, mask), module.eval()(x, x, mask, tap=taps)
    assert_close(trained, read, atol=1e-5, rtol=1e-5)
    assert taps.tensors["state"].shape == (2, 3, 9, 4, 4)


def test_neither_makes_the_square() -> None:
    """Of 200,000 positions it would take 160 GB."""
    q, k, v = (torch.randn(1, 1, 200_000, 2) for _ in range(3))
    for heads in (windowed_attention(q, k, v, 2), linear_attention(q, k, v), causal_linear_attention(q, k, v)):
        assert heads.shape == q.shape
