"""Learned positions, and the two schemes that add to the scores for distance: T5's and ALiBi."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import T5Config
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

from model.parts.attention import MultiHeadAttention
from model.parts.masks import causal_mask
from model.parts.positions import Alibi, Learned, RelativeBias, alibi_slopes, relative_bucket

B, T, D_MODEL, N_HEADS = 2, 7, 42, 3


def relative(causal: bool) -> RelativeBias:
    """With a table of its own: fresh ones are nearly 0."""
    scheme = RelativeBias(N_HEADS, causal)
    nn.init.normal_(scheme.table.weight)
    return scheme


def test_learned_positions_end_with_the_table() -> None:
    scheme = Learned(13, D_MODEL)
    assert scheme.max_len == 13
    assert scheme.embed(torch.randn(B, 13, D_MODEL)).shape == (B, 13, D_MODEL)
    message = r"^14 tokens, but this model has learned a vector for 13 positions only$"
    with pytest.raises(ValueError, match=message):
        scheme.embed(torch.randn(B, 7, D_MODEL), start=7)


@pytest.mark.parametrize("causal", [False, True])
def test_buckets_are_those_of_t5(causal: bool) -> None:
    offset = torch.arange(-300, 301)
    theirs = T5Attention._relative_position_bucket(offset, not causal, num_buckets=32, max_distance=128)
    assert relative_bucket(offset, causal).tolist() == theirs.tolist()


@pytest.mark.parametrize("causal", [False, True])
def test_attention_with_a_relative_bias_is_that_of_t5(causal: bool) -> None:
    """T5 does not divide by √d_k: here its queries are made that much smaller."""
    ours, x, mask = MultiHeadAttention(D_MODEL, N_HEADS, relative(causal)), torch.randn(B, T, D_MODEL), None
    config = T5Config(d_model=D_MODEL, d_kv=14, num_heads=N_HEADS, dropout_rate=0, is_decoder=causal)
    config._attn_implementation = "eager"
    theirs = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).eval()
    with torch.no_grad():
        for name in "qkvo":
            getattr(theirs, name).weight.copy_(getattr(ours, f"w_{name}").weight)
        theirs.q.weight /= math.sqrt(14)
        theirs.relative_attention_bias.weight.copy_(ours.positions.get_parameter("table.weight"))
    if causal:
        mask = causal_mask(T)
        hidden = torch.zeros(1, 1, T, T).masked_fill(~mask, torch.finfo(torch.float32).min)
    else:
        hidden = torch.zeros(1, 1, T, T)
    assert_close(ours(x, x, mask), theirs(x, mask=hidden)[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("n_heads", [1, 2, 3, 4, 7, 8, 12])
def test_slopes_are_those_of_bloom(n_heads: int) -> None:
    theirs = build_alibi_tensor(torch.ones(1, 5), n_heads, torch.float32)  # slope · position
    assert alibi_slopes(n_heads) == pytest.approx(theirs[:, 0, 1].tolist(), rel=1e-6)


def test_causal_attention_with_alibi_is_that_of_bloom() -> None:
    """Bloom adds slope · position of the key: off by the same number in a whole row, which changes no weight."""
    attention, x, mask = (
        MultiHeadAttention(D_MODEL, N_HEADS, Alibi(N_HEADS)),
        torch.randn(B, T, D_MODEL),
        causal_mask(T),
    )
    added = build_alibi_tensor(torch.ones(1, T), N_HEADS, torch.float32)[None]
    q, k, v = (attention.split(w(x)) for w in (attention.w_q, attention.w_k, attention.w_v))
    heads = nn.functional.scaled_dot_product_attention(
        q, k, v, added.expand(1, -1, T, -1).masked_fill(~mask, -math.inf)
    )
    assert_close(attention(x, x, mask), attention.w_o(heads.transpose(1, 2).flatten(-2)), atol=1e-5, rtol=1e-5)
