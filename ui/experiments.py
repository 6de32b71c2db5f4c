"""The masking lesson's extra runs of the shipped model, remembered, and thinned to what the page shows."""

import functools
from collections.abc import Mapping

from model.experiments import forward, one_at_a_time, see_padding
from model.interventions import Interventions
from model.tap import no_tap
from model.tokenizer import PAD_ID
from model.trace import Array
from ui.engine import machine

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


def _thinned(tensors: Mapping[str, Array]) -> Mapping[str, Array]:
    return {name: array for name, array in tensors.items() if name.endswith(("weights", "logits"))}
