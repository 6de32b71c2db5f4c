"""Keys and values that decoding need not compute again."""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

KeysValues = tuple[Tensor, Tensor]


class Cache(Protocol):
    """What one attention asks for its keys and values k, v (B,H,S,d_k); `compute` makes those of new positions."""

    def keys_values(self, compute: Callable[[], KeysValues]) -> KeysValues: ...


class NullCache:
    """Remembers nothing: every call computes all keys and values anew, as training does."""

    def keys_values(self, compute: Callable[[], KeysValues]) -> KeysValues:
        return compute()


class FixedCache:
    """For an attention that reads the memory: its keys and values are computed once and never grow.

    The numbers of a head lie side by side, as a product of many heads needs them: else each step would copy them anew.
    """

    pair: KeysValues | None = None

    def keys_values(self, compute: Callable[[], KeysValues]) -> KeysValues:
        if self.pair is None:
            k, v = compute()
            self.pair = k.contiguous(), v.contiguous()
        return self.pair


class GrowingCache:
    """For causal self-attention: the newest positions' keys and values are appended to those of the past."""

    pair: KeysValues | None = None

    def keys_values(self, compute: Callable[[], KeysValues]) -> KeysValues:
        k, v = compute()
        if self.pair:
            k, v = torch.cat([self.pair[0], k], dim=2), torch.cat([self.pair[1], v], dim=2)
        self.pair = k, v
        return self.pair


class LayerCache:
    """The caches of one layer, one for each of its attentions."""

    def __init__(self) -> None:
        self.self_attn = GrowingCache()
        self.cross_attn = FixedCache()


class NullLayerCache:
    """A layer without a cache."""

    self_attn = cross_attn = NullCache()


NULL_CACHE, NULL_LAYER_CACHE = NullCache(), NullLayerCache()  # hold nothing, so all threads may share them


class KeyValueCache:
    """Keys and values of the decoder's past positions, handed to the decoder as an argument.

    Position t's key and value depend on positions 0…t alone (the causal mask sees to it), so they never change once
    computed.

    layers: one LayerCache a layer; length: positions already seen
    """

    def __init__(self, n_layers: int) -> None:
        self.layers = [LayerCache() for _ in range(n_layers)]
        self.length = 0

    def select(self, rows: Tensor) -> None:
        """Keep these batch rows (N), in this order: a batch drops the sentences that have ended, beam search drops
        some hypotheses and doubles others.
        """
        for layer in self.layers:
            for cache in (layer.self_attn, layer.cross_attn):
                if cache.pair:
                    k, v = cache.pair
                    cache.pair = k.index_select(0, rows), v.index_select(0, rows)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of the keys that each attention keeps, for one row of the batch: (H,T,d_k), or (G,T,d_k) with groups of
        heads; the values have the same. Of latent attention that of the latent rows, (1,T,d_c)."""
        return {path: tuple(k.shape[1:]) for path, (k, _) in self._pairs().items()}

    @property
    def nbytes(self) -> int:
        """Memory that all keys and values take, in bytes."""
        return sum(k.nbytes + v.nbytes for k, v in self._pairs().values())

    def _pairs(self) -> dict[str, KeysValues]:
        return {
            f"layers.{n}.{name}": cache.pair
            for n, layer in enumerate(self.layers)
            for name, cache in (("self_attn", layer.self_attn), ("cross_attn", layer.cross_attn))
            if cache.pair
        }


def layer_caches(cache: KeyValueCache | None, n_layers: int) -> Sequence[LayerCache | NullLayerCache]:
    """One cache for each of n layers; without a cache, ones that remember nothing."""
    return cache.layers if cache else [NULL_LAYER_CACHE] * n_layers
