"""GPT's and BERT's form get what the translator has: trace, anatomy, Check, interventions and the map."""

import random

import numpy as np
import pytest
import torch

from explain import Numbers, arrays, worked
from model.build import build_network
from model.config import PRESETS
from model.decoding.strategies import Beam, Greedy
from model.interventions import Block, Head, Interventions, Unit
from model.text.tokenizer import CLS_ID, MASK_ID, SEP_ID
from model.trace import EmptySentenceError, Trace, read, trace
from tests.family import FAMILY, SIZES, small
from ui.components.architecture import architecture_data

SENTENCE = "The cat sat on the mat."
STACKS = {"gpt-mini": "decoder", "bert-mini": "encoder"}


def traced(name: str, **more: object) -> Trace:
    return trace(small(name), SENTENCE, decoding=Greedy(max_steps=15), **more)  # type: ignore[arg-type]


def test_they_have_at_most_eight_million_parameters() -> None:
    """By hand: the embeddings; 4·d² + 2·d·d_ff + d_ff + d + 4d a layer; GPT's last norm, or BERT's heads."""
    v, d, f, n = 8000, 256, 1024, 4
    layers = n * (4 * d * d + 2 * d * f + f + d + 4 * d)
    heads = (d * d + d + 2 * d + v) + (d * d + d + 2 * d + 2)
    expected = {"gpt-mini": v * d + 128 * d + layers + 2 * d, "bert-mini": (v + 128 + 2) * d + 2 * d + layers + heads}
    for name in FAMILY:
        assert sum(p.numel() for p in build_network(PRESETS[name]).parameters()) == expected[name] < 8_000_000


@pytest.mark.parametrize("name", FAMILY)
def test_the_anatomy_knows_every_tap_and_its_axes(name: str) -> None:
    one, loaded = traced(name), small(name)
    sizes = {"head": 3, "src": len(one.src), "tgt": len(one.tgt), "d_k": 14, "one": 1, "classes": 2}
    sizes |= {"d_model": 42, "d_ff": 53, "vocab": loaded.tokenizer.vocab_size}
    assert set(one.tensors) == set(loaded.anatomy.tensors)
    for tensor_name, tensor in one.tensors.items():
        assert tensor.shape == tuple(sizes[axis] for axis in loaded.anatomy.axes(tensor_name)), tensor_name
    assert (loaded.anatomy.reads_source, loaded.anatomy.writes_target) == (
        (False, True) if name[0] == "g" else (True, False)
    )


CELLS = [(name, t) for name in FAMILY for t, made in small(name).anatomy.tensors.items() if not t.endswith("mask")]


@pytest.mark.parametrize(("name", "tensor_name"), CELLS)
def test_every_cell_is_worked_out(name: str, tensor_name: str) -> None:
    one, choose = traced(name), random.Random(tensor_name)
    numbers = Numbers(one.tensors, small(name).weights, small(name).anatomy)
    for _ in range(5):
        index = tuple(choose.randrange(size) for size in one.tensors[tensor_name].shape)
        step, true = worked(numbers, tensor_name, index), float(one.tensors[tensor_name][index])
        *lines, last = step.snippet.splitlines()
        scope = {"np": np, "t": arrays(numbers, [step])}
        exec("\n".join(lines), scope)
        own = float(eval(last.partition("  #")[0], scope))
        assert step.value == true or np.isclose(step.value, true, atol=1e-5)
        assert own == true or np.isclose(own, true, atol=2e-5), (tensor_name, index)


@pytest.mark.parametrize("name", FAMILY)
def test_changes_reach_it(name: str) -> None:
    stack = STACKS[name]
    off = traced(name, interventions=Interventions(heads_off=(Head(stack, 1, 2),)))
    assert not off.attention(stack, 1, "heads")[2].any()
    assert off.attention(stack, 1, "heads")[1].any()
    silent = traced(name, interventions=Interventions(blocks_off=(Block(stack, 0, "feed_forward"),)))
    assert not silent.tensors[f"{stack}.layers.0.feed_forward.output"].any()
    unit = traced(name, interventions=Interventions(units_off=(Unit(stack, 1, 52),)))
    assert not unit.tensors[f"{stack}.layers.1.feed_forward.hidden"][:, -1].any()
    bare = traced(name, interventions=Interventions(scale_off=True))
    assert np.allclose(bare.attention(stack, 0, "scaled"), bare.attention(stack, 0, "products"), rtol=1e-5)


@pytest.mark.parametrize("name", FAMILY)
def test_the_map_draws_its_one_stack(name: str) -> None:
    plain = architecture_data(small(name), links={}, trace=traced(name))
    assert len(plain["stacks"]) == 1


def test_gpt_goes_on_writing_with_and_without_a_cache() -> None:
    loaded = small("gpt-mini")
    ids = loaded.tokenizer.encode(SENTENCE)
    one = traced("gpt-mini")
    assert list(one.label_ids[: len(ids)]) == ids
    assert trace(loaded, SENTENCE, decoding=Beam(2, max_steps=12)).labels
    tgt_ids = torch.tensor([one.tgt_ids])
    cache = loaded.model.new_cache()
    steps = [loaded.model.decode(tgt_ids[:, : t + 1], None, tgt_ids, cache=cache) for t in range(tgt_ids.size(1))]
    assert torch.allclose(torch.cat(steps, dim=1), loaded.model(tgt_ids), atol=1e-4)


def test_the_future_changes_nothing_for_gpt_and_something_for_bert() -> None:
    one = torch.tensor([[CLS_ID, 40, 41, 42, SEP_ID]])
    other = torch.tensor([[CLS_ID, 40, 41, 99, SEP_ID]])
    gpt, bert = small("gpt-mini").model, small("bert-mini").model
    assert torch.allclose(gpt(one)[:, :3], gpt(other)[:, :3], atol=1e-5)
    assert not torch.allclose(gpt(one)[:, 3:], gpt(other)[:, 3:], atol=1e-2)
    assert not torch.allclose(bert(one)[0][:, 1], bert(other)[0][:, 1], atol=1e-2)


def test_bert_reads_from_both_sides_and_writes_nothing() -> None:
    loaded = small("bert-mini")
    ids = loaded.tokenizer.encode(SENTENCE)
    one = trace(loaded, SENTENCE)
    assert one.src_ids == (CLS_ID, *ids, SEP_ID)
    assert (one.tgt, one.labels, one.steps, one.translation) == ((), (), (), "")
    assert one.text == SENTENCE
    assert (one.attention("encoder", 0) > 0).all()
    with pytest.raises(EmptySentenceError):
        trace(loaded, "  ")
    long = trace(loaded, "the cat " * 90)
    assert len(long.src) == SIZES["max_len"]
    assert long.n_cut > 0
    with pytest.raises(NotImplementedError, match="EncoderOnly writes nothing"):
        loaded.model.new_cache()


def test_padding_and_the_rows_asked_for_change_nothing_for_bert() -> None:
    model, ids = small("bert-mini").model, torch.tensor([[CLS_ID, 40, MASK_ID, 42, SEP_ID]])
    logits, next_sentence = model(ids)
    padded, with_padding = model(torch.nn.functional.pad(ids, (0, 3)))
    assert torch.allclose(padded[:, :5], logits, atol=1e-5)
    assert torch.allclose(with_padding, next_sentence, atol=1e-5)
    asked, _ = model(ids, rows=ids == MASK_ID)
    assert torch.allclose(asked, logits[:, 2], atol=1e-5)


def test_bert_adds_three_embeddings() -> None:
    loaded, ids, segments = small("bert-mini"), [CLS_ID, 40, SEP_ID, 50, SEP_ID], [0, 0, 0, 1, 1]
    one, w = read(loaded, ids, segments), loaded.weights
    total = w["embedding.matrix.weight"][ids] + w["embedding.segments.weight"][segments]
    total = total + w["embedding.positions.table.weight"][:5]
    assert np.allclose(one.tensors["encoder.embedding.sum"], total, atol=1e-6)
    assert not np.allclose(one.tensors["next_sentence.logits"], read(loaded, ids).tensors["next_sentence.logits"])
