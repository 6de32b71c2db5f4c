"""Where a layer's feed-forward network is, and the hidden units worth showing."""

from figures.feed_forward import strongest_units
from model.anatomy.structure import Layer, SubLayer
from model.trace import Trace
from ui.views.attention_kinds import READABLE

SHOWN = 16  # hidden units, or dimensions, that a matrix shows


def network_of(trace: Trace, layer: Layer) -> SubLayer:
    return trace.model.anatomy.sublayer(layer.stack, layer.index, "feed_forward")


def shown_units(trace: Trace, layer: Layer) -> list[int]:
    """A few units that each piece drives most."""
    return strongest_units(trace.tensors[f"{network_of(trace, layer).path}.hidden"][:READABLE], SHOWN) or [0]
