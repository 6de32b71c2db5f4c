"""Grouped queries and latent attention, against those of transformers with the same weights; and what they keep."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import DeepseekV2Config, LlamaConfig
from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2Attention, DeepseekV2RotaryEmbedding
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

from model.decoding.cache import GrowingCache
from model.parts.masks import causal_mask
from model.parts.positions import Rotary
from model.parts.small_cache_attention import GroupedQueryAttention, LatentAttention

D_MODEL, N_HEADS, D_K, D_LATENT, LENGTH = 48, 4, 12, 10, 9
ADDED = torch.zeros(1, 1, LENGTH, LENGTH).masked_fill(~causal_mask(LENGTH), -torch.inf)  # as transformers has masks


def halves(rows: torch.Tensor, n: int) -> torch.Tensor:
    """Llama turns dimension i with i + d/2, the paper neighbours: the same with the rows in another order."""
    return rows.unflatten(0, (n, -1, 2)).transpose(1, 2).flatten(0, 2)


@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_grouped_queries_are_llamas(n_groups: int) -> None:
    own = GroupedQueryAttention(D_MODEL, N_HEADS, n_groups, Rotary())
    config = LlamaConfig(
        hidden_size=D_MODEL, num_attention_heads=N_HEADS, num_key_value_heads=n_groups, attn_implementation="eager"
    )
    theirs, x = LlamaAttention(config, 0), torch.randn(2, LENGTH, D_MODEL)
    with torch.no_grad():
        theirs.q_proj.weight.copy_(halves(own.w_q.weight, N_HEADS))
        theirs.k_proj.weight.copy_(halves(own.w_k.weight, n_groups))
        theirs.v_proj.weight.copy_(own.w_v.weight)
        theirs.o_proj.weight.copy_(own.w_o.weight)
        expected, _ = theirs(x, LlamaRotaryEmbedding(config)(x, torch.arange(LENGTH)[None]), ADDED)
        assert_close(own(x, x, causal_mask(LENGTH)), expected, atol=1e-5, rtol=1e-5)


def test_latent_attention_is_deepseeks() -> None:
    own = LatentAttention(D_MODEL, N_HEADS, D_LATENT)
    nn.init.normal_(own.norm.weight, mean=1.0, std=0.3)
    config = DeepseekV2Config(
        hidden_size=D_MODEL,
        num_attention_heads=N_HEADS,
        num_key_value_heads=N_HEADS,
        q_lora_rank=None,
        kv_lora_rank=D_LATENT,
        qk_nope_head_dim=D_K,
        qk_rope_head_dim=own.d_r,
        v_head_dim=D_K,
        attn_implementation="eager",
    )
    theirs, x = DeepseekV2Attention(config, 0), torch.randn(2, LENGTH, D_MODEL)
    with torch.no_grad():
        queries = own.w_q.weight.unflatten(0, (N_HEADS, -1)), own.w_qr.weight.unflatten(0, (N_HEADS, -1))
        theirs.q_proj.weight.copy_(torch.cat(queries, 1).flatten(0, 1))
        theirs.kv_a_proj_with_mqa.weight.copy_(torch.cat([own.w_c.weight, own.w_kr.weight]))
        theirs.kv_a_layernorm.weight.copy_(own.norm.weight)
        both = own.w_k.weight.unflatten(0, (N_HEADS, -1)), own.w_v.weight.unflatten(0, (N_HEADS, -1))
        theirs.kv_b_proj.weight.copy_(torch.cat(both, 1).flatten(0, 1))
        theirs.o_proj.weight.copy_(own.w_o.weight)
        turns = DeepseekV2RotaryEmbedding(config)(x, torch.arange(LENGTH)[None])
        expected, _ = theirs(x, ADDED, None, turns)
        assert_close(own(x, x, causal_mask(LENGTH)), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("attention", "kept"),
    [
        (GroupedQueryAttention(D_MODEL, N_HEADS, 2), (2 * D_K, 2 * D_K)),
        (GroupedQueryAttention(D_MODEL, N_HEADS, 1), (D_K, D_K)),
        (LatentAttention(D_MODEL, N_HEADS, D_LATENT), (D_LATENT, 6)),
    ],
)
def test_the_cache_keeps_that_many_numbers_a_position(attention: nn.Module, kept: tuple[int, int]) -> None:
    x, cache = torch.randn(2, LENGTH, D_MODEL), GrowingCache()
    whole = attention(x, x, causal_mask(LENGTH))
    steps = [attention(x[:, t : t + 1], x[:, t : t + 1], cache=cache) for t in range(LENGTH)]
    assert_close(torch.cat(steps, 1), whole, atol=1e-5, rtol=1e-5)
    assert cache.pair is not None
    assert tuple(part.numel() // (2 * LENGTH) for part in cache.pair) == kept


def test_heads_that_do_not_fall_into_groups_are_an_error() -> None:
    for n_groups in (0, 3):
        with pytest.raises(ValueError, match=f"^n_heads=4 is not divisible by n_groups={n_groups}$"):
            GroupedQueryAttention(D_MODEL, N_HEADS, n_groups)
