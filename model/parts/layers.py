"""One layer of each stack (Vaswani et al. 2017, §3.1, Figure 1)."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from torch import Tensor, nn

from model.anatomy.describe import Scribe, describe
from model.anatomy.structure import Layer, SubLayer
from model.decoding.cache import NULL_LAYER_CACHE, LayerCache, NullLayerCache
from model.parts.base_module import Part
from model.tap import Tap, no_tap, under


class Memory(NamedTuple):
    """What a decoder reads: the encoder's final output (B,S,d_model), and which of its rows may be attended to
    (B,1,1,S). Where there is no encoder S is 0.
    """

    states: Tensor
    mask: Tensor


class EncoderLayer(Part):
    """Self-attention, then feed-forward, each with its residual. With a causal mask it is a decoder-only layer.

    Args:    x (B,S,d_model); mask broadcastable to (B,H,S,S), True = may attend; cache: this layer's own
    Returns: (B,S,d_model)
    Taps:    self_attn.*, add_norm_1.*, feed_forward.*, add_norm_2.*
    Source:  Vaswani et al. 2017, §3.1, left half of Figure 1
    """

    def __init__(
        self, self_attn: nn.Module, add_norm_1: nn.Module, feed_forward: nn.Module, add_norm_2: nn.Module
    ) -> None:
        super().__init__()
        self.self_attn = self_attn
        self.add_norm_1 = add_norm_1
        self.feed_forward = feed_forward
        self.add_norm_2 = add_norm_2

    def forward(
        self, x: Tensor, mask: Tensor, cache: LayerCache | NullLayerCache = NULL_LAYER_CACHE, tap: Tap = no_tap
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, mask, cache.self_attn, under("self_attn", tap))

        def transform(x: Tensor) -> Tensor:
            return self.feed_forward(x, under("feed_forward", tap))

        x = self.add_norm_1(x, attend, under("add_norm_1", tap))
        return self.add_norm_2(x, transform, under("add_norm_2", tap))


class DecoderLayer(Part):
    """Masked self-attention, attention to the encoder's output, feed-forward, each with its residual.

    Args:    x (B,T,d_model); mask broadcastable to (B,H,T,T), True = may attend; memory; cache: this layer's own
    Returns: (B,T,d_model)
    Taps:    self_attn.*, add_norm_1.*, cross_attn.*, add_norm_2.*, feed_forward.*, add_norm_3.*
    Source:  Vaswani et al. 2017, §3.1, right half of Figure 1
    """

    def __init__(
        self,
        self_attn: nn.Module,
        add_norm_1: nn.Module,
        cross_attn: nn.Module,
        add_norm_2: nn.Module,
        feed_forward: nn.Module,
        add_norm_3: nn.Module,
    ) -> None:
        super().__init__()
        self.self_attn = self_attn
        self.add_norm_1 = add_norm_1
        self.cross_attn = cross_attn
        self.add_norm_2 = add_norm_2
        self.feed_forward = feed_forward
        self.add_norm_3 = add_norm_3

    def forward(
        self,
        x: Tensor,
        mask: Tensor,
        memory: Memory,
        cache: LayerCache | NullLayerCache = NULL_LAYER_CACHE,
        tap: Tap = no_tap,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, mask, cache.self_attn, under("self_attn", tap))

        def read(x: Tensor) -> Tensor:
            return self.cross_attn(x, memory.states, memory.mask, cache.cross_attn, under("cross_attn", tap))

        def transform(x: Tensor) -> Tensor:
            return self.feed_forward(x, under("feed_forward", tap))

        x = self.add_norm_1(x, attend, under("add_norm_1", tap))
        x = self.add_norm_2(x, read, under("add_norm_2", tap))
        return self.add_norm_3(x, transform, under("add_norm_3", tap))


@describe.register
def _(module: EncoderLayer, scribe: Scribe, x: str, mask: str) -> str:
    def attend(x: str) -> str:
        return describe(module.self_attn, scribe.under("self_attn"), x, x, mask)

    def transform(x: str) -> str:
        return describe(module.feed_forward, scribe.under("feed_forward"), x)

    return describe_sublayers(module, scribe, x, self_attn=attend, feed_forward=transform)


@describe.register
def _(module: DecoderLayer, scribe: Scribe, x: str, mask: str, memory: str, memory_mask: str) -> str:
    def attend(x: str) -> str:
        return describe(module.self_attn, scribe.under("self_attn"), x, x, mask)

    def read(x: str) -> str:  # a row is about the token that is written next
        labels = replace(scribe.under("cross_attn"), tokens="labels")
        return describe(module.cross_attn, labels, x, memory, memory_mask)

    def transform(x: str) -> str:
        return describe(module.feed_forward, scribe.under("feed_forward"), x)

    return describe_sublayers(module, scribe, x, self_attn=attend, cross_attn=read, feed_forward=transform)


def describe_sublayers(layer: nn.Module, scribe: Scribe, x: str, **sublayers: Callable[[str], str]) -> str:
    """The sub-layers of a layer in their order, the n-th within its residual add_norm_n."""
    described, stream = [], x
    for n, (name, sublayer) in enumerate(sublayers.items(), 1):
        described.append(describe_sublayer(layer, scribe, stream, f"add_norm_{n}", name, sublayer))
        stream = described[-1].result
    scribe.layers.append(Layer(scribe.stack, scribe.layer, tuple(described), x, stream))
    return stream


def describe_sublayer(
    layer: nn.Module, scribe: Scribe, stream: str, residual: str, name: str, sublayer: Callable[[str], str]
) -> SubLayer:
    ends: list[str] = []  # what the sub-layer reads and what it writes, which the residual alone knows

    def watched(x: str) -> str:
        ends.extend((x, sublayer(x)))
        return ends[1]

    result = describe(layer.get_submodule(residual), scribe.under(residual), stream, watched)
    return scribe.sublayer(name, residual, stream, ends[0], ends[1], result)
