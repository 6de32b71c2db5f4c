"""What each step of writing costs, against torch's own count of operations."""

from itertools import pairwise

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from model.cache import KeyValueCache
from model.device import Device
from model.theatre import step_by_step
from model.tokenizer import EOS_ID, SOS_ID, Tokenizer
from model.trace import Machine
from model.transformer import EncoderDecoder
from tests.small import CONFIG

SRC = (*range(7, 51, 4), EOS_ID)
TGT = (SOS_ID, *range(83, 53, -5))


@pytest.fixture
def machine(model: EncoderDecoder, tokenizer: Tokenizer) -> Machine:
    return Machine(CONFIG, model, model, tokenizer, Device(torch.device("cpu"), "CPU"))


@pytest.mark.parametrize("cached", [True, False])
@torch.no_grad()
def test_multiplications_are_those_that_torch_counts(machine: Machine, cached: bool) -> None:
    src_ids, tgt_ids = torch.tensor([SRC]), torch.tensor([TGT])
    memory, cache = machine.model.encode(src_ids), KeyValueCache() if cached else None
    for t, step in enumerate(step_by_step(machine, SRC, TGT, cached), 1):
        with FlopCounterMode(display=False) as counter:
            machine.model.decode(tgt_ids[:, :t], memory, src_ids, cache=cache)
        assert step.multiplications == counter.get_total_flops() // 2  # it counts the additions as well
        assert step.positions == (1 if cached else t)
        assert step.seconds > 0


def test_the_cache_grows_by_one_position_a_step(machine: Machine) -> None:
    steps = step_by_step(machine, SRC, TGT, cached=True)
    heads, d_k = CONFIG.n_heads, CONFIG.d_k
    for t, step in enumerate(steps, 1):
        assert step.shapes["layers.1.self_attn"] == (heads, t, d_k)
        assert step.shapes["layers.1.cross_attn"] == (heads, len(SRC), d_k)
        assert step.cache_bytes == 2 * 4 * CONFIG.n_layers * (t + len(SRC)) * CONFIG.d_model
    assert len({after.cache_bytes - before.cache_bytes for before, after in pairwise(steps)}) == 1


def test_without_a_cache_nothing_is_kept(machine: Machine) -> None:
    for step in step_by_step(machine, SRC, TGT, cached=False):
        assert (dict(step.shapes), step.cache_bytes) == ({}, 0)
