"""N layers, one after the other (Vaswani et al. 2017, §3.1)."""

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor, nn

from model.anatomy.describe import Scribe, describe
from model.anatomy.structure import Stack
from model.decoding.cache import KeyValueCache, layer_caches
from model.parts.base_module import Part
from model.parts.layers import DecoderLayer, EncoderLayer, Memory
from model.tap import Tap, no_tap, under


class Encoder(Part):
    """N encoder layers, and a last norm if they do not end in one. With a causal mask and a cache they make a
    decoder-only stack. The same layers may be gone through several times (Lan et al. 2019, §3.1: one layer, N times).

    Args:    x (B,S,d_model); mask (B,1,1,S), True = may attend; cache
    Returns: (B,S,d_model), for a decoder the memory
    Taps:    mask (B,1,1,S); layers.N.* (each time with a new number); with norm: normed (B,S,d_model)
    """

    def __init__(self, layers: Sequence[EncoderLayer], norm: nn.Module | None = None, times: int = 1) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = norm
        self.times = times

    def forward(self, x: Tensor, mask: Tensor, cache: KeyValueCache | None = None, tap: Tap = no_tap) -> Tensor:
        mask = tap("mask", mask)
        layers = [*self.layers] * self.times
        caches = layer_caches(cache, len(layers))
        for n, (layer, layer_cache) in enumerate(zip(layers, caches, strict=True)):
            x = layer(x, mask, layer_cache, under(f"layers.{n}", tap))
        return tap("normed", self.norm(x)) if self.norm else x


class Decoder(Part):
    """N decoder layers, which read the same memory, and a last norm if they do not end in one.

    Args:    x (B,T,d_model); mask (1,1,T,T), True = may attend; memory (B,S,d_model) with its mask (B,1,1,S); cache
    Returns: (B,T,d_model)
    Taps:    mask (1,1,T,T); memory_mask (B,1,1,S); layers.N.*; with norm: normed (B,T,d_model)
    """

    def __init__(self, layers: Sequence[DecoderLayer], norm: nn.Module | None = None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(
        self, x: Tensor, mask: Tensor, memory: Memory, cache: KeyValueCache | None = None, tap: Tap = no_tap
    ) -> Tensor:
        mask = tap("mask", mask)
        memory = memory._replace(mask=tap("memory_mask", memory.mask))
        caches = layer_caches(cache, len(self.layers))
        for n, (layer, layer_cache) in enumerate(zip(self.layers, caches, strict=True)):
            x = layer(x, mask, memory, layer_cache, under(f"layers.{n}", tap))
        return tap("normed", self.norm(x)) if self.norm else x


@describe.register(Encoder)
@describe.register(Decoder)
def _(module: Encoder | Decoder, scribe: Scribe, x: str, *others: str) -> str:
    stream, first = x, len(scribe.layers)
    times = module.times if isinstance(module, Encoder) else 1
    for n, (at, layer) in enumerate([*enumerate(module.layers)] * times):
        weights = scribe.under(f"layers.{at}").module
        stream = describe(layer, replace(scribe.under(f"layers.{n}", weights), layer=n), stream, *others)
    if module.norm:
        stream = describe(module.norm, scribe.of_part("norm", "normed"), stream)
    embedding, layers = scribe.name("embedding"), tuple(scribe.layers[first:])
    scribe.stacks.append(Stack(scribe.stack, scribe.tokens, embedding, x, layers, stream))
    return stream
