"""Decoding step by step with a cache gives what one pass gives."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from model.families.encoder_decoder import EncoderDecoder
from model.parts.layers import Memory
from model.tap import Recorder
from tests.small import CONFIG, TARGET


@pytest.mark.parametrize(
    "ends", [range(1, TARGET + 1), (1, 4, 7), (7,)], ids=["one by one", "three by three", "at once"]
)
def test_step_by_step_equals_one_pass(
    any_model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor, ends: range | tuple[int, ...]
) -> None:
    memory = any_model.encode(src_ids)
    cache = any_model.new_cache()
    steps = [any_model.decode(tgt_ids[:, :end], memory, cache) for end in ends]
    assert_close(torch.cat(steps, dim=1), any_model(src_ids, tgt_ids), atol=1e-5, rtol=1e-5)
    assert cache.length == TARGET


def test_a_step_computes_its_own_position_alone_but_attends_to_all(
    model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor
) -> None:
    memory, cache = model.encode(src_ids), model.new_cache()
    model.decode(tgt_ids[:, :4], memory, cache)
    step, whole = Recorder(), Recorder()
    model.decode(tgt_ids[:, :5], memory, cache, step)
    model.decode(tgt_ids[:, :5], memory, tap=whole)
    assert step.tensors.keys() == whole.tensors.keys()
    for name in ("self_attn.weights", "cross_attn.weights", "self_attn.q", "feed_forward.hidden"):
        tap = f"decoder.layers.1.{name}"
        assert_close(step.tensors[tap], whole.tensors[tap].narrow(-2, 4, 1), atol=1e-5, rtol=1e-5)


def test_the_memory_is_projected_once(model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> None:
    memory, cache = model.encode(src_ids), model.new_cache()
    model.decode(tgt_ids[:, :1], memory, cache)
    first = [layer.cross_attn.pair for layer in cache.layers]
    assert None not in first
    assert len(first) == CONFIG.n_layers
    model.decode(tgt_ids[:, :2], memory, cache)
    assert all(layer.cross_attn.pair is pair for layer, pair in zip(cache.layers, first, strict=True))
    model.decode(tgt_ids[:, :3], memory._replace(states=torch.randn_like(memory.states)), cache)
    assert all(layer.cross_attn.pair is pair for layer, pair in zip(cache.layers, first, strict=True))


def test_selected_rows_go_on_as_if_they_had_been_alone(model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> None:
    """Beam search drops hypotheses 0 and 3 and doubles hypothesis 4."""
    rows = torch.tensor([4, 1, 4, 2])
    memory, cache = model.encode(src_ids), model.new_cache()
    model.decode(tgt_ids[:, :3], memory, cache)
    cache.select(rows)
    chosen = tgt_ids[rows]
    chosen[0, 3] += 1  # the doubled hypothesis goes two ways
    step = model.decode(chosen[:, :4], Memory(*(part[rows] for part in memory)), cache)
    expected = model(src_ids[rows], chosen[:, :4])[:, 3:]
    assert_close(step, expected, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(step[0], step[2], atol=1e-3)


def test_the_cache_says_what_it_holds(model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> None:
    cache = model.new_cache()
    assert (cache.shapes, cache.nbytes) == ({}, 0)
    model.decode(tgt_ids[:, :4], model.encode(src_ids), cache)
    heads, d_k, source = CONFIG.n_heads, CONFIG.d_k, src_ids.size(1)
    for layer in range(CONFIG.n_layers):
        assert cache.shapes[f"layers.{layer}.self_attn"] == (heads, 4, d_k)
        assert cache.shapes[f"layers.{layer}.cross_attn"] == (heads, source, d_k)
    # Keys and values in float32, for each layer, row of the batch, position and dimension.
    assert cache.nbytes == 2 * 4 * CONFIG.n_layers * len(src_ids) * (4 + source) * CONFIG.d_model
