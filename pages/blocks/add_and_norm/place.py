"""Which Add & Norm of a layer the lesson looks at."""

from model.anatomy.structure import Layer, SubLayer
from ui.controls.control import Choice

AFTER = {
    "self_attn": "after self-attention",
    "cross_attn": "after encoder-decoder attention",
    "feed_forward": "after feed-forward",
}


def add_norm_control(layer: Layer) -> Choice[str]:
    """Control for one Add & Norm of a layer; a key for each stack, because they have different options."""
    labels = [AFTER[sublayer.name] for sublayer in layer.sublayers]
    return Choice("Add & Norm", f"add_norm_{layer.stack}", labels, default=labels[-1])


def sublayer_after(layer: Layer, label: str) -> SubLayer:
    """The sub-layer whose Add & Norm has this label."""
    return next(sublayer for sublayer in layer.sublayers if AFTER[sublayer.name] == label)


def current_sublayer(layer: Layer) -> SubLayer:
    """The one that the control is set to."""
    return sublayer_after(layer, add_norm_control(layer).value())


def sum_of(sublayer: SubLayer) -> str:
    """Name of what Add adds up."""
    return f"{sublayer.stack}.layers.{sublayer.layer}.{sublayer.residual}.sum"


def number_of(layer: Layer, sublayer: SubLayer) -> int:
    """Its number in the layer, from 1."""
    return layer.sublayers.index(sublayer) + 1
