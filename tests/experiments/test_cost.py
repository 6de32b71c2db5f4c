"""What each step of writing costs, against torch's own count of operations."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from experiments.cost import attention_work, timed, work
from model.attention import MultiHeadAttention
from model.families.encoder_decoder import EncoderDecoder
from model.loaded import LoadedModel
from model.tokenizer import EOS_ID, SOS_ID, Tokenizer
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
            logits = loaded.model.decode(tgt_ids[:, :t], memory, src_ids, cache=cache)
        assert step.multiplications == counter.get_total_flops() // 2  # it counts the additions as well
        assert step.positions == logits.size(1)


@pytest.mark.parametrize("cached", [True, False])
def test_every_step_is_timed(loaded: LoadedModel, cached: bool) -> None:
    seconds = timed(loaded, SRC, TGT, cached)
    assert len(seconds) == len(TGT)
    assert min(seconds) > 0


@pytest.mark.parametrize("n_pieces", [1, 5, 31])
@torch.no_grad()
def test_one_attention_layer_by_torchs_count(n_pieces: int) -> None:
    attention, x = MultiHeadAttention(42, 3), torch.randn(1, n_pieces, 42)
    with FlopCounterMode(display=False) as counter:
        attention(x, x)
    counts = counter.get_flop_counts()
    found = attention_work(42, n_pieces)
    in_matrices = sum(sum(counts[f"MultiHeadAttention.w_{letter}"].values()) for letter in "qkvo")
    assert found.projections == in_matrices // 2
    assert found.total == counter.get_total_flops() // 2
    assert found.products == found.total - found.projections
