"""Choosing a layer of one of the stacks: the same controls on every lesson, kept in the address."""

from collections.abc import Sequence

import streamlit as st

from model.anatomy.structure import Layer
from model.files.loaded_model import LoadedModel
from model.text.tokenizer import Token
from model.trace import Trace
from ui.controls.segmented import one_of

STACKS = {"Encoder": "encoder", "Decoder": "decoder"}


def title_of(layer: Layer) -> str:
    """A layer in a heading, counted from 1."""
    return f"{layer.stack}, layer {layer.index + 1}"


def phrase_of(layer: Layer) -> str:
    """A layer within a sentence."""
    return f"layer {layer.index + 1} of the {layer.stack}"


def tokens_of_layer(trace: Trace, layer: Layer) -> Sequence[Token]:
    """Tokens that label the rows of a layer's tensors."""
    return trace.tokens(trace.model.anatomy.stack(layer.stack).tokens)


class LayerControl:
    """Stack and layer, side by side; the last layer of the encoder until another is chosen."""

    def draw(self, loaded: LoadedModel) -> Layer:
        stacks = {label: name for label, name in STACKS.items() if name in self._names(loaded)}
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="choose_layer"):
            stack = stacks[one_of("Stack", list(stacks), key="stack", goes_along=True)]
            n = len(loaded.anatomy.stack(stack).layers)
            layer = one_of("Layer", list(range(1, n + 1)), key="layer", default=n, goes_along=True)
        return loaded.anatomy.layer(stack, layer - 1)

    def value(self, loaded: LoadedModel) -> Layer:
        """The layer chosen, also where the control is not on the page (presenter mode)."""
        label, number = (str(st.session_state.get(key) or st.query_params.get(key, "")) for key in ("stack", "layer"))
        stack = STACKS.get(label, "")
        stack = stack if stack in self._names(loaded) else self._names(loaded)[0]
        n = len(loaded.anatomy.stack(stack).layers)
        return loaded.anatomy.layer(stack, (int(number) if number in map(str, range(1, n + 1)) else n) - 1)

    def _names(self, loaded: LoadedModel) -> list[str]:
        return [stack.name for stack in loaded.anatomy.stacks]


LAYER = LayerControl()
