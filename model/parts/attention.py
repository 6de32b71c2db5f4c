"""Attention: every position gathers what it needs from the others (Vaswani et al. 2017, §3.2)."""

import math

import torch
from torch import Tensor

from model.anatomy.describe import Scribe, describe
from model.decoding.cache import NULL_CACHE, Cache, KeysValues
from model.parts.base_module import Part
from model.parts.fp16_matmul import Linear
from model.parts.positions import Positions
from model.tap import Tap, no_tap


def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, tap: Tap = no_tap, bias: Tensor | None = None
) -> Tensor:
    """Scaled dot-product attention: softmax(QKᵀ/√d_k)V.

    Args:    q (B,H,T,d_k); k, v (B,H,S,d_k); mask broadcastable to (B,H,T,S), True = may attend;
             bias (1,H,T,S) of a relative position scheme, added to the scaled products
    Returns: heads (B,H,T,d_k)
    Taps:    products (QKᵀ), scaled, scores (after the mask), weights: all (B,H,T,S); heads (B,H,T,d_k)
    Raises:  ValueError, naming both sizes, if q and k differ in d_k
    Source:  Vaswani et al. 2017, §3.2.1, Eq. 1. Differs: none
    """
    d_k = q.size(-1)
    if k.size(-1) != d_k:
        raise ValueError(f"queries have d_k={d_k} but keys have d_k={k.size(-1)}")
    products = tap("products", q @ k.transpose(-2, -1))  # (B,H,T,S)
    scores = tap("scaled", products / math.sqrt(d_k))
    if bias is not None:
        scores = tap("biased", scores + bias)
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)  # e^−∞ = 0: no weight
    scores = tap("scores", scores)
    weights = tap("weights", scores.softmax(-1))  # each row adds up to 1
    return tap("heads", weights @ v)  # (B,H,T,d_k)


class MultiHeadAttention(Part):
    """h attentions side by side, each on its own d_k-wide projection, joined by W^O.

    Args:    x (B,T,d_model) asks; memory (B,S,d_model) answers (self-attention: the same tensor);
             mask broadcastable to (B,H,T,S), True = may attend; cache: where past keys and values are kept
    Returns: (B,T,d_model)
    Taps:    q (B,H,T,d_k); k, v (B,H,S,d_k); those of positions; those of scaled_dot_product_attention;
             concat, output (B,T,d_model)
    Raises:  ValueError if n_heads does not divide d_model
    Source:  Vaswani et al. 2017, §3.2.2. Differs: the h matrices W_i^Q stand side by side in one matrix, likewise
             W^K and W^V, so that one product computes all heads
    """

    def __init__(self, d_model: int, n_heads: int, positions: Positions | None = None) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model={d_model} is not divisible by n_heads={n_heads}")
        self.n_heads, self.d_k = n_heads, d_model // n_heads
        self.positions = positions or Positions()
        self.w_q = Linear(d_model, d_model, bias=False)
        self.w_k = Linear(d_model, d_model, bias=False)
        self.w_v = Linear(d_model, d_model, bias=False)
        self.w_o = Linear(d_model, d_model, bias=False)

    def split(self, x: Tensor) -> Tensor:
        """(B,T,d_model) → (B,H,T,d_k): cut each row into one part a head."""
        return x.unflatten(-1, (-1, self.d_k)).transpose(1, 2)

    def keys_values(self, memory: Tensor, cache: Cache, tap: Tap) -> KeysValues:
        """(B,H,S,d_k) twice, of all positions so far; other kinds of attention keep less of them in the cache."""
        return cache.keys_values(lambda: (self.split(self.w_k(memory)), self.split(self.w_v(memory))))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, tap: Tap) -> Tensor:
        """(B,H,T,d_k), what the heads return; other kinds of attention do this in another way."""
        return scaled_dot_product_attention(q, k, v, mask, tap, self.positions.bias(q.size(-2), k.size(-2), tap))

    def forward(
        self, x: Tensor, memory: Tensor, mask: Tensor | None = None, cache: Cache = NULL_CACHE, tap: Tap = no_tap
    ) -> Tensor:
        k, v = self.keys_values(memory, cache, tap)
        q, k, v = tap("q", self.split(self.w_q(x))), tap("k", k), tap("v", v)  # (B,H,T,d_k), (B,H,S,d_k) twice
        positions = self.positions
        q = positions.rotate("q", q, k.size(-2) - q.size(-2), tap)  # with a cache, the queries are the newest positions
        k = positions.rotate("k", k, 0, tap)
        heads = self.attend(q, k, v, mask, tap)
        concat = tap("concat", heads.transpose(1, 2).flatten(-2))  # (B,T,d_model)
        return tap("output", self.w_o(concat))


@describe.register
def _(module: MultiHeadAttention, scribe: Scribe, x: str, memory: str, mask: str = "") -> str:
    rows, columns = scribe.tokens, scribe.axes(memory)[0]
    heads = describe_weighted_sum(
        module.positions, scribe, describe_projections(module, scribe, x, memory), ("head", rows, columns)
    )
    scribe.attends(x, memory, mask, module.n_heads, module.d_k)
    return describe_joined(scribe, heads)


def describe_projections(module: MultiHeadAttention, scribe: Scribe, x: str, memory: str) -> tuple[str, str, str]:
    """Queries, keys and values, turned where the position scheme turns them."""
    queries, keys = ("head", scribe.tokens, "d_k"), ("head", scribe.axes(memory)[0], "d_k")
    q = scribe.made("q", "project", x, weights=("w_q.weight",), axes=queries)
    k = scribe.made("k", "project", memory, weights=("w_k.weight",), axes=keys)
    v = scribe.made("v", "project", memory, weights=("w_v.weight",), axes=keys)
    q = describe(module.positions, scribe.of_part("positions", "rotated_q"), q)
    return q, describe(module.positions, scribe.of_part("positions", "rotated_k"), k), v


def describe_joined(scribe: Scribe, heads: str) -> str:
    """What the heads return, side by side and joined by W^O."""
    concat = scribe.made("concat", "concatenate", heads, axes=(scribe.tokens, "d_model"))
    return scribe.made("output", "linear", concat, weights=("w_o.weight",), axes=(scribe.tokens, "d_model"))


def describe_weighted_sum(
    positions: Positions, scribe: Scribe, q_k_v: tuple[str, str, str], grid: tuple[str, str, str]
) -> str:
    """Scaled dot-product attention; grid: the axes of its weights, (head, rows, columns)."""
    q, k, v = q_k_v
    products = scribe.made("products", "dot", q, k, axes=grid)
    scaled = scribe.made("scaled", "divide_by_sqrt_d_k", products, q, axes=grid, part="scale")
    biased = describe(positions, scribe.of_part("positions", "biased"), scaled)
    scores = scribe.made("scores", "mask", biased, axes=grid)
    weights = scribe.made("weights", "softmax", scores, axes=grid)
    return scribe.made("heads", "weighted_sum", weights, v, axes=(*grid[:2], "d_k"))
