"""What each step of writing costs, against torch's own count of operations."""

import itertools

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from experiments.writing import cost
from experiments.writing.cost import attention_work, timed, work
from model.decoding.cache import KeyValueCache
from model.families.encoder_decoder import EncoderDecoder
from model.files.loaded_model import LoadedModel
from model.parts.attention import MultiHeadAttention
from model.parts.layers import Memory
from model.text.tokenizer import EOS_ID, SOS_ID, Tokenizer
from tests.small import CONFIG, small_loaded

SRC = (*range(7, 51, 4), EOS_ID)
TGT = (SOS_ID, *range(83, 53, -5))


@pytest.fixture
def loaded(model: EncoderDecoder, tokenizer: Tokenizer) -> LoadedModel:
    return small_loaded(model, tokenizer)


@pytest.mark.parametrize("cached", [True, False])
@torch.no_grad()
def test_multiplications_are_those_that_torch_counts(loaded: LoadedModel, cached: bool) -> None:
    src_ids, tgt_ids = torch.tensor([SRC]), torch.tensor([TGT])
    memory, cache = loaded.model.encode(src_ids), loaded.model.new_cache() if cached else None
    for t, step in enumerate(work(CONFIG, len(TGT), len(SRC), cached), 1):
        with FlopCounterMode(display=False) as counter:
            logits = loaded.model.decode(tgt_ids[:, :t], memory, cache)
        assert step.multiplications == counter.get_total_flops() // 2  # it counts the additions as well
        assert step.positions == logits.size(1)


@pytest.mark.parametrize("cached", [True, False])
def test_every_step_is_timed(loaded: LoadedModel, cached: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on a second with each position computed, and some more between two steps."""
    now, decode = 0.0, loaded.model.decode

    def slow(tgt_ids: Tensor, memory: Memory, cache: KeyValueCache | None) -> Tensor:
        nonlocal now
        logits = decode(tgt_ids, memory, cache)
        assert torch.equal(logits.argmax(-1), decode(tgt_ids, memory).argmax(-1)[:, -logits.size(1) :])
        now += logits.size(1)
        return logits

    def read_clock() -> float:
        nonlocal now
        now += 100 if next(between) else 0
        return now

    between = itertools.cycle((True, False))
    monkeypatch.setattr(loaded.model, "decode", slow)
    monkeypatch.setattr(cost.time, "perf_counter", read_clock)
    assert timed(loaded, SRC, TGT, cached) == tuple(1 if cached else t for t in range(1, len(TGT) + 1))


@pytest.mark.parametrize("n_pieces", [1, 5, 31])
@torch.no_grad()
def test_one_attention_layer_by_torchs_count(n_pieces: int) -> None:
    attention, x = MultiHeadAttention(42, 3), torch.randn(1, n_pieces, 42)
    with FlopCounterMode(display=False) as counter:
        attention(x, x)
    with FlopCounterMode(display=False) as in_matrices:
        for projection in (attention.w_q, attention.w_k, attention.w_v, attention.w_o):
            projection(x)
    found = attention_work(42, n_pieces)
    assert found.projections == in_matrices.get_total_flops() // 2
    assert found.total == counter.get_total_flops() // 2
    assert found.products == found.total - found.projections
