"""What writing a translation costs, one run of the decoder a step: counted from shapes, and measured."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from model.config import ModelConfig
from model.files.loaded_model import LoadedModel


@dataclass(frozen=True)
class StepWork:
    """What one step computes: decoder positions, and multiplications in matrix products."""

    positions: int
    multiplications: int


def work(config: ModelConfig, n_steps: int, n_source: int, cached: bool) -> tuple[StepWork, ...]:
    """What each step computes, with a key-value cache or without: every position once, or all of them at every step."""
    found = []
    for t in range(1, n_steps + 1):
        n_new = 1 if cached else t
        found.append(StepWork(n_new, multiplications(config, n_new, t, n_source, project_memory=t == 1 or not cached)))
    return tuple(found)


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
def timed(loaded: LoadedModel, src: Sequence[int], tgt: Sequence[int], cached: bool) -> tuple[float, ...]:
    """Seconds that each of T steps takes: one run of the decoder, as in inference, with a key-value cache or without.

    Args: src (S), tgt (T) ids, with their special tokens
    """
    model, device = loaded.model, loaded.device.torch
    src_ids, tgt_ids = (torch.tensor([list(ids)], device=device) for ids in (src, tgt))
    memory = model.encode(src_ids)
    cache = model.new_cache() if cached else None
    seconds = []
    for t in range(1, len(tgt) + 1):
        start = time.perf_counter()
        logits = model.decode(tgt_ids[:, :t], memory, cache)
        logits[0, -1].argmax().item()  # a step ends when its token is known
        seconds.append(time.perf_counter() - start)
    return tuple(seconds)


@dataclass(frozen=True)
class AttentionWork:
    """Multiplications of one self-attention layer: in its four matrices, and in QKᵀ and weights times V."""

    projections: int
    products: int

    @property
    def total(self) -> int:
        return self.projections + self.products


def attention_work(d_model: int, n_pieces: int) -> AttentionWork:
    """What one self-attention layer computes for T pieces, all heads together: 4·T·d² and 2·T²·d."""
    return AttentionWork(4 * n_pieces * d_model**2, 2 * n_pieces**2 * d_model)
