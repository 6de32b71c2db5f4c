"""Lessons' extra runs of the shipped model, remembered, and thinned to what the page shows."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.head_roles import log_probabilities_hiding
from experiments.passes import Reading, forward, one_at_a_time, read_from, read_out, see_padding, write_without
from explain import output_of
from figures.statistics import softmax
from model.interventions import Interventions
from model.tap import no_tap
from model.tokenizer import PAD_ID, SOS_ID, Token
from model.trace import Array
from ui.engine import machine, turn

Ids = tuple[int, ...]
LIKELIEST = 10  # entries of a position that are kept


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


@functools.lru_cache(maxsize=64)
def written_without(src: Ids, hidden: Ids) -> str:
    """The translation that the model writes with some source tokens, by index, hidden from both stacks."""
    with turn:
        return machine().tokenizer.decode(write_without(machine(), src, hidden))


@functools.lru_cache(maxsize=16)
def words_hidden(src: tuple[Token, ...], labels: tuple[Token, ...]) -> tuple[tuple[int, ...], Array]:
    """The `word` of N source words; each label's probability (N + 1, T), first with all words, then without each."""
    with turn:
        words, log_probabilities = log_probabilities_hiding(machine(), src, labels)
    return words, np.exp(log_probabilities)


@dataclass(frozen=True)
class Lens:
    """What the model would write if it stopped earlier: after the decoder's embedding or one of its N layers.

    ids, probabilities: the likeliest entries at each of T positions and what they get (N + 1, T, LIKELIEST)
    written:            the probability of what is really written there (N + 1, T)
    """

    ids: NDArray[np.integer]
    probabilities: NDArray[np.floating]
    written: NDArray[np.floating]


@functools.lru_cache(maxsize=16)
def lens(src: Ids, labels: Ids) -> Lens:
    """The logit lens on a translation, read by teacher forcing."""
    layers = range(machine().config.n_layers)
    with turn:
        tensors = forward(machine(), src, (SOS_ID, *labels[:-1]))
    ids, probabilities, written = [], [], []
    for name in ("decoder.embedding.output", *(output_of("decoder", layer) for layer in layers)):
        with turn:
            shares = softmax(read_out(machine(), tensors[name]))
        some = np.argpartition(-shares, LIKELIEST, axis=-1)[:, :LIKELIEST]  # the likeliest, in any order
        order = np.argsort(-np.take_along_axis(shares, some, axis=-1), axis=-1)
        ids.append(np.take_along_axis(some, order, axis=-1))
        probabilities.append(np.take_along_axis(shares, ids[-1], axis=-1))
        written.append(shares[np.arange(len(labels)), list(labels)])
    return Lens(np.stack(ids), np.stack(probabilities), np.stack(written))


def _thinned(tensors: Mapping[str, Array]) -> Mapping[str, Array]:
    return {name: array for name, array in tensors.items() if name.endswith(("weights", "logits"))}
