"""Attention to fewer keys: the text is cut into blocks, and each is squeezed into a few keys and values (Linformer)."""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from model.anatomy.describe import Scribe, describe
from model.parts.attention import (
    MultiHeadAttention,
    describe_joined,
    describe_projections,
    describe_weighted_sum,
    scaled_dot_product_attention,
)
from model.parts.positions import Positions
from model.tap import Tap


def squeeze(x: Tensor, weights: Tensor) -> Tensor:
    """Each block of b positions becomes r rows, weighted sums of its own; behind the text stand zeros.

    Args:    x (B,H,S,d_k); weights (r,b)
    Returns: (B,H,R,d_k), R being r for each block
    Source:  Wang et al. 2020 (Linformer), Eq. 7: EK and FV. Differs: block by block, so that a text of any length can
             be read, and a decoder can see finished blocks alone
    """
    block = weights.size(-1)
    missing = -x.size(-2) % block
    blocks = pad(x, (0, 0, 0, missing)).unflatten(-2, ((x.size(-2) + missing) // block, block))
    return (weights @ blocks).flatten(-3, -2)


class SqueezedAttention(MultiHeadAttention):
    """Multi-head attention to squeezed keys: every query sees those of all blocks, R in all.

    Taps:    q (B,H,T,d_k); k, v (B,H,S,d_k); those of positions; squeezed_k, squeezed_v (B,H,R,d_k);
             products, scaled, scores, weights (B,H,T,R); heads (B,H,T,d_k); concat, output (B,T,d_model)
    Raises:  ValueError if n_squeezed does not divide block
    Source:  Wang et al. 2020 (Linformer), §4, with one E and one F a layer for all heads ("headwise"). Differs: see
             squeeze
    """

    def __init__(
        self, d_model: int, n_heads: int, block: int, n_squeezed: int, positions: Positions | None = None
    ) -> None:
        super().__init__(d_model, n_heads, positions)
        if block < 1 or n_squeezed < 1 or block % n_squeezed:
            raise ValueError(f"block={block} is not divisible by n_squeezed={n_squeezed}")
        # Each squeezed row begins as the mean of its share of the block.
        means = torch.eye(n_squeezed).repeat_interleave(block // n_squeezed, 1) * n_squeezed / block
        self.squeeze_k = nn.Parameter(means.clone())
        self.squeeze_v = nn.Parameter(means)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, tap: Tap) -> Tensor:
        n_squeezed, block = self.squeeze_k.shape
        seen = k.new_ones(1, 1, 1, k.size(-2)) if mask is None else mask[..., -1:, :].to(k.dtype)  # (B,1,1,S)
        k, v = self.squeezed(k * seen.transpose(-2, -1), v * seen.transpose(-2, -1), tap)
        in_blocks = pad(seen, (0, -seen.size(-1) % block)).unflatten(-1, (-1, block))
        return scaled_dot_product_attention(q, k, v, in_blocks.amax(-1).repeat_interleave(n_squeezed, -1) > 0, tap)

    def squeezed(self, k: Tensor, v: Tensor, tap: Tap) -> tuple[Tensor, Tensor]:
        return tap("squeezed_k", squeeze(k, self.squeeze_k)), tap("squeezed_v", squeeze(v, self.squeeze_v))


class CausalSqueezedAttention(SqueezedAttention):
    """Multi-head attention to the squeezed keys of finished blocks, and to the keys of a query's own block so far.

    Taps:    q (B,H,T,d_k); k, v (B,H,S,d_k); those of positions; squeezed_k, squeezed_v (B,H,R,d_k);
             all_k, all_v (B,H,R+S,d_k); products, scaled, scores, weights (B,H,T,R+S); heads (B,H,T,d_k);
             concat, output (B,T,d_model)
    Source:  as SqueezedAttention. Differs: a query's own block is not squeezed, since that would show it what follows;
             all keys stay in the cache
    """

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, tap: Tap) -> Tensor:
        n_squeezed, block = self.squeeze_k.shape
        n_keys = k.size(-2)
        finished = n_keys // block
        squeezed_k, squeezed_v = self.squeezed(k[..., : finished * block, :], v[..., : finished * block, :], tap)
        k, v = tap("all_k", torch.cat([squeezed_k, k], -2)), tap("all_v", torch.cat([squeezed_v, v], -2))
        query = torch.arange(n_keys - q.size(-2), n_keys, device=q.device)[:, None]  # (T,1), its position
        key = torch.arange(n_keys, device=q.device)
        past = torch.arange(finished, device=q.device).repeat_interleave(n_squeezed) < query // block
        own = key // block == query // block  # (T,S)
        own = own & (key <= query) if mask is None else own & mask
        past = past.expand(*own.shape[:-1], -1)
        return scaled_dot_product_attention(q, k, v, torch.cat([past, own], -1), tap)


@describe.register
def _(module: SqueezedAttention, scribe: Scribe, x: str, memory: str, mask: str = "") -> str:
    q, k, v = describe_projections(module, scribe, x, memory)
    columns = scribe.axes(memory)[0]
    keys, values = describe_squeezed(scribe, k, v, columns)
    grid = ("head", scribe.tokens, f"{columns}_squeezed")
    return describe_joined(scribe, describe_weighted_sum(Positions(), scribe, (q, keys, values), grid))


@describe.register
def _(module: CausalSqueezedAttention, scribe: Scribe, x: str, memory: str, mask: str = "") -> str:
    q, k, v = describe_projections(module, scribe, x, memory)
    columns = scribe.axes(memory)[0]
    axes = ("head", f"{columns}_squeezed_and_own", "d_k")
    squeezed = describe_squeezed(scribe, k, v, f"{columns}_finished")
    keys, values = (
        scribe.made(f"all_{name}", "append", first, then, axes=axes)
        for name, first, then in zip("kv", squeezed, (k, v), strict=True)
    )
    grid = ("head", scribe.tokens, axes[1])
    return describe_joined(scribe, describe_weighted_sum(Positions(), scribe, (q, keys, values), grid))


def describe_squeezed(scribe: Scribe, k: str, v: str, columns: str) -> tuple[str, str]:
    """Keys and values of a text, or of its finished blocks, squeezed."""
    axes = ("head", f"{columns}_squeezed", "d_k")
    squeezed_k = scribe.made("squeezed_k", "squeeze", k, weights=("squeeze_k",), axes=axes)
    return squeezed_k, scribe.made("squeezed_v", "squeeze", v, weights=("squeeze_v",), axes=axes)
