"""Attention against torch's own, and against answers worked out by hand."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from model.parts.attention import MultiHeadAttention, scaled_dot_product_attention
from model.parts.masks import causal_mask, pad_mask
from model.tap import Recorder
from model.text.tokenizer import PAD_ID

B, H, T, S, D_K = 2, 3, 5, 7, 11
D_MODEL = 42


def random_mask(*shape: int) -> Tensor:
    """About half of all places forbidden; every query may attend to the first key at least."""
    mask = torch.rand(shape) < 0.5
    mask[..., 0] = True
    return mask


@pytest.mark.parametrize("mask_shape", [None, (B, 1, 1, S), (1, 1, T, S), (B, H, T, S)])
def test_equals_torch(mask_shape: tuple[int, ...] | None) -> None:
    q, k, v = torch.randn(B, H, T, D_K), torch.randn(B, H, S, D_K), torch.randn(B, H, S, D_K)
    mask = None if mask_shape is None else random_mask(*mask_shape)
    expected = nn.functional.scaled_dot_product_attention(q, k, v, mask)
    assert_close(scaled_dot_product_attention(q, k, v, mask), expected, atol=1e-6, rtol=1e-5)


def test_multi_head_equals_torch() -> None:
    ours = MultiHeadAttention(D_MODEL, H)
    theirs = nn.MultiheadAttention(D_MODEL, H, bias=False, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.w_q.weight, ours.w_k.weight, ours.w_v.weight]))
        theirs.out_proj.weight.copy_(ours.w_o.weight)
    x, memory, mask = torch.randn(B, T, D_MODEL), torch.randn(B, S, D_MODEL), random_mask(B, 1, 1, S)
    expected, expected_weights = theirs(
        x, memory, memory, key_padding_mask=~mask[:, 0, 0], need_weights=True, average_attn_weights=False
    )
    recorder = Recorder()
    assert_close(ours(x, memory, mask, tap=recorder), expected, atol=1e-6, rtol=1e-5)
    assert_close(recorder.tensors["weights"], expected_weights, atol=1e-6, rtol=1e-5)


def test_a_masked_key_gets_nothing_however_low_the_others_score() -> None:
    """The permitted scores are −10⁶ each; a mask that only subtracts much would let the forbidden key win."""
    q, k, v = torch.full((1, 1, 1, 1), 1000.0), torch.full((1, 1, 3, 1), -1000.0), torch.eye(3)[None, None]
    k[0, 0, 1] = 1000
    mask, recorder = torch.tensor([True, False, True]), Recorder()
    heads = scaled_dot_product_attention(q, k, v, mask, recorder)
    assert recorder.tensors["scores"].flatten().tolist() == [-1e6, -math.inf, -1e6]
    assert heads.flatten().tolist() == [0.5, 0, 0.5]


def test_masks_by_hand() -> None:
    ids = torch.tensor([[5, 6, PAD_ID], [7, PAD_ID, PAD_ID]])
    assert pad_mask(ids, PAD_ID).tolist() == [[[[True, True, False]]], [[[True, False, False]]]]
    assert pad_mask(ids, 6).tolist() == [[[[True, False, True]]], [[[True, True, True]]]]  # another sign may be the one
    assert causal_mask(3).tolist() == [[[[True, False, False], [True, True, False], [True, True, True]]]]
    assert causal_mask(3, start=1).tolist() == [[[[True, True, False], [True, True, True]]]]


def test_a_different_d_k_is_named() -> None:
    q, k = torch.randn(B, H, T, 11), torch.randn(B, H, S, 13)
    with pytest.raises(ValueError, match=r"^queries have d_k=11 but keys have d_k=13$"):
        scaled_dot_product_attention(q, k, k)


def test_heads_that_do_not_divide_d_model_are_named() -> None:
    with pytest.raises(ValueError, match=r"^d_model=42 is not divisible by n_heads=5$"):
        MultiHeadAttention(42, 5)
