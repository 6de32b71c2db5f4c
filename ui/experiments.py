"""Lessons' extra runs of the shipped model, remembered, and thinned to what the page shows."""

import functools
from collections.abc import Mapping

import numpy as np

from model.experiments import Reading, forward, one_at_a_time, read_from, see_padding
from model.heads import log_probabilities_hiding
from model.interventions import Interventions
from model.tap import no_tap
from model.tokenizer import PAD_ID, Token
from model.trace import Array
from ui.engine import machine, turn

Ids = tuple[int, ...]


@functools.lru_cache(maxsize=16)
def causal_mask_lifted(src: Ids, tgt: Ids) -> Mapping[str, Array]:
    """Weights and logits of one pass in which the decoder sees its whole input."""
    off = Interventions(causal_mask_off=True).compile(machine().config.d_k)
    return _thinned(forward(machine(), src, tgt, off))


@functools.lru_cache(maxsize=16)
def padded(src: Ids, tgt: Ids, count: int, masked: bool) -> Mapping[str, Array]:
    """Weights and logits of one pass over the source with `<pad>` tokens behind it, with or without the mask."""
    return _thinned(forward(machine(), [*src, *[PAD_ID] * count], tgt, no_tap if masked else see_padding))


@functools.lru_cache(maxsize=16)
def step_by_step(src: Ids, tgt: Ids) -> Array:
    """logits (T,V), one run of the decoder for each row."""
    return one_at_a_time(machine(), src, tgt)


@functools.lru_cache(maxsize=16)
def other_memory(src: Ids, tgt: Ids, layer: int, max_steps: int) -> Reading:
    """The decoder reading what the encoder held after its first `layer` layers."""
    with turn:
        return read_from(machine(), src, tgt, layer, max_steps)


@functools.lru_cache(maxsize=16)
def words_hidden(src: tuple[Token, ...], labels: tuple[Token, ...]) -> tuple[tuple[int, ...], Array]:
    """The `word` of N source words; each label's probability (N + 1, T), first with all words, then without each."""
    with turn:
        words, log_probabilities = log_probabilities_hiding(machine(), src, labels)
    return words, np.exp(log_probabilities)


def _thinned(tensors: Mapping[str, Array]) -> Mapping[str, Array]:
    return {name: array for name, array in tensors.items() if name.endswith(("weights", "logits"))}
