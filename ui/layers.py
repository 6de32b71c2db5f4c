"""Choosing a layer of one of the stacks, and extra runs of the shipped model with parts of a layer changed."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from model.experiments import forward
from model.interventions import Block, Interventions
from model.tokenizer import EOS_ID, SOS_ID, Token
from model.trace import Array, Trace
from ui import engine
from ui.keep import remember
from ui.sentence import EXAMPLES, SURPRISES

Ids = tuple[int, ...]

STACKS = {"Encoder": "encoder", "Decoder": "decoder"}


@dataclass(frozen=True)
class Layer:
    """One layer of one stack, counted from 0."""

    stack: str
    layer: int

    @property
    def path(self) -> str:
        return f"{self.stack}.layers.{self.layer}"

    @property
    def title(self) -> str:
        """For a heading, counted from 1."""
        return f"{self.stack}, layer {self.layer + 1}"

    @property
    def phrase(self) -> str:
        """Within a sentence."""
        return f"layer {self.layer + 1} of the {self.stack}"

    @property
    def n_sublayers(self) -> int:
        return 2 if self.stack == "encoder" else 3

    @property
    def output(self) -> str:
        """Name of the tensor that the layer passes on."""
        return f"{self.path}.add_norm_{self.n_sublayers}.output"

    def block(self, name: str) -> Block:
        return Block(self.stack, self.layer, name)

    def tokens(self, trace: Trace) -> Sequence[Token]:
        """Tokens that label the rows of its tensors."""
        return trace.src if self.stack == "encoder" else trace.tgt


def choose_layer() -> Layer:
    """Controls for stack and layer, side by side."""
    n_layers = engine.machine().config.n_layers
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="choose_layer"):
        st.segmented_control("Stack", list(STACKS), default="Encoder", required=True, key="stack", bind="query-params")
        st.segmented_control(
            "Layer", list(range(1, n_layers + 1)), default=n_layers, required=True, key="layer", bind="query-params"
        )
    remember(["stack", "layer"])
    return current_layer()


def current_layer() -> Layer:
    """The layer that `choose_layer` is set to, also where that is not on the page (presenter mode)."""
    n_layers = engine.machine().config.n_layers
    stack, layer = (str(st.session_state.get(key) or st.query_params.get(key, "")) for key in ("stack", "layer"))
    number = int(layer) if layer in map(str, range(1, n_layers + 1)) else n_layers
    return Layer(STACKS.get(stack, "encoder"), number - 1)


def ids(trace: Trace) -> tuple[Ids, Ids]:
    """Ids of the source and of the decoder's input."""
    return tuple(token.id for token in trace.src), tuple(token.id for token in trace.tgt)


@functools.lru_cache(maxsize=16)
def changed(src: Ids, tgt: Ids, change: Interventions, keep: tuple[str, ...]) -> Mapping[str, Array]:
    """The tensors with these names of one teacher-forced pass under a change."""
    machine = engine.machine()
    found = forward(machine, src, tgt, change.compile(machine.config.d_k))
    return {name: found[name] for name in keep}


def example_sentences() -> list[str]:
    """Those that the sentence bar offers."""
    return [*(example.sentence for example in EXAMPLES), *SURPRISES]


@functools.cache
def hidden_in_examples(layer: Layer) -> tuple[tuple[str, ...], Array]:
    """All pieces of the example sentences, and the hidden units (N,d_ff) of the feed-forward network for each."""
    machine = engine.machine()
    texts: list[str] = []
    hidden: list[Array] = []
    for sentence in example_sentences():
        if layer.stack == "encoder":  # the translation need not be written
            src = [*machine.tokenizer.encode(sentence), EOS_ID]
            tensors, tokens = forward(machine, src, [SOS_ID]), machine.tokenizer.tokens(src)
        else:
            trace = engine.trace(sentence)
            tensors, tokens = trace.tensors, trace.tgt
        texts += [token.text for token in tokens]
        hidden.append(tensors[f"{layer.path}.feed_forward.hidden"])
    return tuple(texts), np.concatenate(hidden)
