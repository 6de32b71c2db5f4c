"""Choosing a layer of one of the stacks, and extra runs of the shipped model with parts of a layer changed."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from experiments.batched_translation import Translated, translate_together
from experiments.passes import forward
from model.interventions import SUBLAYERS, Block, Interventions
from model.tokenizer import Token
from model.trace import Array, Trace
from ui import engine
from ui.controls.segmented import one_of
from ui.course.sentence import EXAMPLES, SURPRISES

Ids = tuple[int, ...]

STACKS = {"Encoder": "encoder", "Decoder": "decoder"}
AFTER = {
    "self_attn": "after self-attention",
    "cross_attn": "after encoder-decoder attention",
    "feed_forward": "after feed-forward",
}


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
        return len(SUBLAYERS[self.stack])

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
        stack = one_of("Stack", list(STACKS), key="stack", goes_along=True)
        layer = one_of("Layer", list(range(1, n_layers + 1)), key="layer", default=n_layers, goes_along=True)
    return Layer(STACKS[stack], layer - 1)


def current_layer() -> Layer:
    """The layer that `choose_layer` is set to, also where that is not on the page (presenter mode)."""
    n_layers = engine.machine().config.n_layers
    stack, layer = (str(st.session_state.get(key) or st.query_params.get(key, "")) for key in ("stack", "layer"))
    number = int(layer) if layer in map(str, range(1, n_layers + 1)) else n_layers
    return Layer(STACKS.get(stack, "encoder"), number - 1)


def choose_add_norm(layer: Layer) -> int:
    """Control for one Add & Norm of a layer; its number in the layer, from 1."""
    # A key for each stack, because they have different options.
    chosen = one_of("Add & Norm", _after(layer), key=f"add_norm_{layer.stack}", default=_after(layer)[-1], wrap=True)
    return _after(layer).index(chosen) + 1


def current_add_norm(layer: Layer) -> int:
    """The number that `choose_add_norm` is set to, also where that is not on the page (presenter mode)."""
    key = f"add_norm_{layer.stack}"
    chosen = st.session_state.get(key) or st.query_params.get(key)
    return _after(layer).index(chosen) + 1 if chosen in _after(layer) else layer.n_sublayers


def _after(layer: Layer) -> list[str]:
    return [AFTER[name] for name in SUBLAYERS[layer.stack]]


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
def _examples() -> Mapping[str, Translated]:
    """All example sentences, run in one batch: one by one they would keep the first visitor waiting."""
    sentences = example_sentences()
    runs = translate_together(engine.machine(), sentences, (".hidden", ".sum"))
    return dict(zip(sentences, runs, strict=True))


def example_run(sentence: str, stack: str) -> tuple[Sequence[Token], Mapping[str, Array]]:
    """Pieces of an example sentence, or of its translation; the hidden units and the sums of both stacks."""
    run = _examples()[sentence]
    return run.src if stack == "encoder" else run.tgt, run.tensors


@functools.cache
def hidden_in_examples(layer: Layer) -> tuple[tuple[str, ...], Array]:
    """All pieces of the example sentences, and the hidden units (N,d_ff) of the feed-forward network for each."""
    runs = [example_run(sentence, layer.stack) for sentence in example_sentences()]
    texts = tuple(token.text for tokens, _ in runs for token in tokens)
    return texts, np.concatenate([tensors[f"{layer.path}.feed_forward.hidden"] for _, tensors in runs])
