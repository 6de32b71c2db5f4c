"""A translation written once more, one run of the decoder a step: what each step computes, keeps, and takes."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import torch

from model.cache import KeyValueCache
from model.config import ModelConfig
from model.trace import Machine


@dataclass(frozen=True)
class StepWork:
    """What one step of writing cost.

    positions:       decoder positions computed
    multiplications: in matrix products; see `multiplications`
    seconds:         measured, on this machine, this time
    shapes:          of the keys in the cache afterwards, (H,T,d_k) by attention; the values have the same
    cache_bytes:     memory that the cache's keys and values take afterwards
    """

    positions: int
    multiplications: int
    seconds: float
    shapes: Mapping[str, tuple[int, ...]]
    cache_bytes: int


def multiplications(config: ModelConfig, n_new: int, n_read: int, n_source: int, project_memory: bool) -> int:
    """Multiplications in the matrix products of one run of the decoder and the output, by their shapes.

    Args: n_new: positions computed; n_read: positions they may attend to, themselves included; n_source: source
          tokens; project_memory: whether the source's keys and values are computed too, not found in a cache
    """
    d, one = config.d_model, config.d_model**2  # one d_model × d_model matrix, for one position
    self_attn = 4 * n_new * one + 2 * n_new * n_read * d  # W^Q, W^K, W^V, W^O; QKᵀ and weights times V
    cross_attn = 2 * n_new * one + 2 * n_new * n_source * d + (2 * n_source * one if project_memory else 0)
    feed_forward = 2 * n_new * d * config.d_ff
    return config.n_layers * (self_attn + cross_attn + feed_forward) + n_new * d * config.vocab_size


@torch.inference_mode()
def step_by_step(machine: Machine, src: Sequence[int], tgt: Sequence[int], cached: bool) -> tuple[StepWork, ...]:
    """Run the decoder once for each of T inputs, as inference does, with a key-value cache or without.

    Args: src (S), tgt (T) ids, with their special tokens
    """
    model, device = machine.model, machine.device.torch
    src_ids, tgt_ids = (torch.tensor([list(ids)], device=device) for ids in (src, tgt))
    memory = model.encode(src_ids)
    cache = KeyValueCache() if cached else None
    steps = []
    for t in range(1, len(tgt) + 1):
        start = time.perf_counter()
        logits = model.decode(tgt_ids[:, :t], memory, src_ids, cache=cache)
        logits[0, -1].argmax().item()  # a step ends when its token is known
        seconds = time.perf_counter() - start
        n_new = logits.size(1)
        steps.append(
            StepWork(
                n_new,
                multiplications(machine.config, n_new, t, len(src), project_memory=t == 1 or not cached),
                seconds,
                MappingProxyType(cache.shapes if cache else {}),
                cache.nbytes if cache else 0,
            )
        )
    return tuple(steps)
