"""Attention that keeps less of every past position: heads that share keys and values, or one latent row for all."""

from dataclasses import replace

import torch
from torch import Tensor

from model.anatomy.describe import Scribe, describe
from model.decoding.cache import NULL_CACHE, Cache, KeysValues
from model.parts.attention import (
    MultiHeadAttention,
    describe_joined,
    describe_weighted_sum,
    scaled_dot_product_attention,
)
from model.parts.base_module import Part
from model.parts.fp16_matmul import Linear
from model.parts.norms import RMSNorm
from model.parts.positions import Positions, Rotary
from model.tap import Tap, no_tap

NORM_EPSILON = 1e-6  # DeepSeek's


class GroupedQueryAttention(MultiHeadAttention):
    """Multi-head attention whose heads share keys and values in groups (GQA). One group for all heads is MQA.

    The cache keeps the keys and values of G groups, not of H heads.

    Taps:    q (B,H,T,d_k); group_k, group_v (B,G,S,d_k); k, v (B,H,S,d_k); those of positions; those of
             scaled_dot_product_attention; concat, output (B,T,d_model)
    Raises:  ValueError if n_groups does not divide n_heads
    Source:  Ainslie et al. 2023, §2.2; one group: Shazeer 2019, §3. Differs: none
    """

    def __init__(self, d_model: int, n_heads: int, n_groups: int, positions: Positions | None = None) -> None:
        super().__init__(d_model, n_heads, positions)
        if n_groups < 1 or n_heads % n_groups:
            raise ValueError(f"n_heads={n_heads} is not divisible by n_groups={n_groups}")
        self.n_groups = n_groups
        self.w_k = Linear(d_model, n_groups * self.d_k, bias=False)
        self.w_v = Linear(d_model, n_groups * self.d_k, bias=False)

    def keys_values(self, memory: Tensor, cache: Cache, tap: Tap) -> KeysValues:
        k, v = super().keys_values(memory, cache, tap)
        k, v = tap("group_k", k), tap("group_v", v)  # (B,G,S,d_k)
        heads = self.n_heads // self.n_groups
        return k.repeat_interleave(heads, 1), v.repeat_interleave(heads, 1)


class LatentAttention(Part):
    """Multi-head latent attention (MLA): keys and values are made anew from one small latent row a position.

    The cache keeps that row and one short key, shared by all heads, that rotary positions turn. Positions would not let
    the latent row alone be kept: a turned key can no longer be made from it by a fixed matrix.

    Args:    x (B,T,d_model) asks; memory (B,S,d_model) answers; mask broadcastable to (B,H,T,S), True = may attend
    Returns: (B,T,d_model)
    Taps:    compressed (B,T,d_c); latent (B,S,d_c); key, rotated_k (B,1,S,d_r); q_content (B,H,T,d_k); q_position,
             rotated_q (B,H,T,d_r); k_content, v (B,H,S,d_k); q (B,H,T,d_k+d_r); k (B,H,S,d_k+d_r); those of
             positions; those of scaled_dot_product_attention; concat, output (B,T,d_model)
    Source:  DeepSeek-AI 2024 (DeepSeek-V2), §2.1.2 and 2.1.3, Eq. 9 to 19, and the norm of §3.1.2. Differs: queries are
             not compressed, as in DeepSeek-V2-Lite
    """

    def __init__(self, d_model: int, n_heads: int, d_latent: int, positions: Positions | None = None) -> None:
        super().__init__()
        self.n_heads, self.d_k, self.d_r = n_heads, d_model // n_heads, max(2, d_model // n_heads // 4 * 2)
        self.positions, self.rotary = positions or Positions(), Rotary()
        self.w_q = Linear(d_model, d_model, bias=False)
        self.w_qr = Linear(d_model, n_heads * self.d_r, bias=False)
        self.w_c = Linear(d_model, d_latent, bias=False)
        self.norm = RMSNorm(d_latent, NORM_EPSILON)
        self.w_kr = Linear(d_model, self.d_r, bias=False)
        self.w_k = Linear(d_latent, d_model, bias=False)
        self.w_v = Linear(d_latent, d_model, bias=False)
        self.w_o = Linear(d_model, d_model, bias=False)

    def split(self, x: Tensor) -> Tensor:
        """(B,T,H·d) → (B,H,T,d): cut each row into one part a head."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def forward(
        self, x: Tensor, memory: Tensor, mask: Tensor | None = None, cache: Cache = NULL_CACHE, tap: Tap = no_tap
    ) -> Tensor:
        def compress() -> KeysValues:
            compressed = tap("compressed", self.w_c(memory))  # (B,T,d_c)
            return self.norm(compressed)[:, None], self.w_kr(memory)[:, None]

        latent, key = cache.keys_values(compress)  # all that is kept of a position
        latent, key = tap("latent", latent[:, 0]), tap("key", key)  # (B,S,d_c), (B,1,S,d_r)
        q_content, q_position = tap("q_content", self.split(self.w_q(x))), tap("q_position", self.split(self.w_qr(x)))
        q_position = self.rotary.rotate("q", q_position, key.size(-2) - x.size(-2), tap)
        key = self.rotary.rotate("k", key, 0, tap)
        k_content, v = tap("k_content", self.split(self.w_k(latent))), tap("v", self.split(self.w_v(latent)))
        q = tap("q", torch.cat([q_content, q_position], -1))  # (B,H,T,d_k+d_r)
        k = tap("k", torch.cat([k_content, key.expand(-1, self.n_heads, -1, -1)], -1))
        bias = self.positions.bias(q.size(-2), k.size(-2), tap)
        heads = scaled_dot_product_attention(q, k, v, mask, tap, bias)
        concat = tap("concat", heads.transpose(1, 2).flatten(-2))  # (B,T,d_model)
        return tap("output", self.w_o(concat))


@describe.register
def _(module: GroupedQueryAttention, scribe: Scribe, x: str, memory: str, mask: str = "") -> str:
    rows, columns = scribe.tokens, scribe.axes(memory)[0]
    q = scribe.made("q", "project", x, weights=("w_q.weight",), axes=("head", rows, "d_k"))
    k, v = (_shared(scribe, name, memory) for name in "kv")
    q = describe(module.positions, scribe.of_part("positions", "rotated_q"), q)
    k = describe(module.positions, scribe.of_part("positions", "rotated_k"), k)
    heads = describe_weighted_sum(module.positions, scribe, (q, k, v), ("head", rows, columns))
    scribe.attends(x, memory, mask, module.n_heads, module.d_k)
    return describe_joined(scribe, heads)


def _shared(scribe: Scribe, name: str, memory: str) -> str:
    columns = scribe.axes(memory)[0]
    weights = (f"w_{name}.weight",)
    group = scribe.made(f"group_{name}", "project", memory, weights=weights, axes=("group", columns, "d_k"))
    return scribe.made(name, "share_in_group", group, axes=("head", columns, "d_k"))


@describe.register
def _(module: LatentAttention, scribe: Scribe, x: str, memory: str, mask: str = "") -> str:
    rows, columns = scribe.tokens, scribe.axes(memory)[0]
    compressed = scribe.made("compressed", "linear", memory, weights=("w_c.weight",), axes=(columns, "d_latent"))
    latent = describe(module.norm, scribe.of_part("norm", "latent"), compressed)
    scribe.tensors[latent] = replace(scribe.tensors[latent], axes=(columns, "d_latent"))
    q_content = scribe.made("q_content", "project", x, weights=("w_q.weight",), axes=("head", rows, "d_k"))
    k_content = scribe.made("k_content", "project", latent, weights=("w_k.weight",), axes=("head", columns, "d_k"))
    v = scribe.made("v", "project", latent, weights=("w_v.weight",), axes=("head", columns, "d_k"))
    q_position = scribe.made("q_position", "project", x, weights=("w_qr.weight",), axes=("head", rows, "d_r"))
    q_position = describe(module.rotary, scribe.of_part("rotary", "rotated_q"), q_position)
    key = scribe.made("key", "project", memory, weights=("w_kr.weight",), axes=("one", columns, "d_r"))
    key = describe(module.rotary, scribe.of_part("rotary", "rotated_k"), key)
    q = scribe.made("q", "side_by_side", q_content, q_position, axes=("head", rows, "d_both"))
    k = scribe.made("k", "side_by_side", k_content, key, axes=("head", columns, "d_both"))
    heads = describe_weighted_sum(module.positions, scribe, (q, k, v), ("head", rows, columns))
    scribe.attends(x, memory, mask, module.n_heads, module.d_k)
    return describe_joined(scribe, heads)
