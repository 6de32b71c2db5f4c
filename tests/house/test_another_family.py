"""The test of the house: a model of another family gets all that the translator has, with no line changed for it."""

import random

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from explain import Numbers, arrays, worked
from model.decoding.strategies import Beam, Greedy
from model.interventions import Block, Head, Interventions, Unit
from model.trace import Trace, trace
from tests.house.toy import D_FF, D_MODEL, N_HEADS, N_LAYERS, toy
from ui.components.architecture import architecture_data

SENTENCE = "The cat sat on the mat."
D_K = D_MODEL // N_HEADS


def traced(**more: object) -> Trace:
    return trace(toy(), SENTENCE, decoding=Greedy(max_steps=12), **more)  # type: ignore[arg-type]


def test_it_is_traced_and_goes_on_writing() -> None:
    one = traced()
    ids = toy().tokenizer.encode(SENTENCE)
    assert list(one.label_ids[: len(ids)]) == ids
    assert one.src == ()
    assert len(one.tgt) == len(one.labels) == 12
    rows = one.attention("decoder", 1).sum(-1)
    assert np.allclose(rows, 1, atol=1e-5)
    logits = one.tensors["logits"]
    written = range(len(ids), 12)
    assert [int(np.argmax(logits[t, 3:])) + 3 if logits[t].argmax() < 2 else int(logits[t].argmax()) for t in written]
    assert trace(toy(), SENTENCE, decoding=Beam(2, max_steps=12)).labels


def test_what_is_given_comes_behind_the_text() -> None:
    ids, given = toy().tokenizer.encode(SENTENCE), (101, 77, 30)
    one = trace(toy(), SENTENCE, decoding=Greedy(max_steps=15, prefix=given))
    assert one.label_ids[: len(ids) + 3] == (*ids, *given)
    assert len(one.labels) == 15


def test_with_a_cache_it_writes_what_it_writes_without() -> None:
    model, ids = toy().model, torch.tensor([[1, *toy().tokenizer.encode(SENTENCE)]])
    whole = model.decode(ids, None, ids)
    cache = model.new_cache()
    steps = [model.decode(ids[:, : t + 1], None, ids, cache=cache) for t in range(ids.size(1))]
    assert torch.allclose(torch.cat(steps, dim=1), whole, atol=1e-5)


def test_its_anatomy_knows_every_tap_and_its_axes() -> None:
    one = traced()
    sizes = {"head": N_HEADS, "tgt": 12, "d_model": D_MODEL, "d_k": D_K, "d_ff": D_FF, "one": 1}
    sizes["vocab"] = toy().tokenizer.vocab_size
    assert set(one.tensors) == set(toy().anatomy.tensors)
    for name, tensor in one.tensors.items():
        assert tensor.shape == tuple(sizes[axis] for axis in toy().anatomy.axes(name)), name


@pytest.mark.parametrize("name", [n for n, made in toy().anatomy.tensors.items() if not n.endswith("mask")])
def test_every_cell_is_worked_out(name: str) -> None:
    """The value that the step ends in, and the lines that compute it again, agree with the tensor."""
    one, choose = traced(), random.Random(name)
    numbers = Numbers(one.tensors, toy().weights, toy().anatomy)
    for _ in range(8):
        index = tuple(choose.randrange(size) for size in one.tensors[name].shape)
        step, true = worked(numbers, name, index), float(one.tensors[name][index])
        *lines, last = step.snippet.splitlines()
        scope = {"np": np, "t": arrays(numbers, [step])}
        exec("\n".join(lines), scope)
        own = float(eval(last.partition("  #")[0], scope))
        assert step.value == true or np.isclose(step.value, true, atol=1e-5)
        assert own == true or np.isclose(own, true, atol=2e-5), (name, index)


def test_changes_reach_it() -> None:
    off = traced(interventions=Interventions(heads_off=(Head("decoder", 1, 2),)))
    assert not off.attention("decoder", 1, "heads")[2].any()
    assert off.attention("decoder", 1, "heads")[1].any()
    silent = traced(interventions=Interventions(blocks_off=(Block("decoder", 0, "feed_forward"),)))
    assert not silent.tensors["decoder.layers.0.feed_forward.output"].any()
    unit = traced(interventions=Interventions(units_off=(Unit("decoder", 1, D_FF - 1),)))
    assert not unit.tensors["decoder.layers.1.feed_forward.hidden"][:, -1].any()
    bare = traced(interventions=Interventions(scale_off=True))
    products = bare.attention("decoder", 0, "products")
    assert np.allclose(bare.attention("decoder", 0, "scaled"), products, rtol=1e-5)
    ahead = traced(interventions=Interventions(causal_mask_off=True))
    assert (ahead.attention("decoder", 0) > 0).all()
    assert len(toy().anatomy.attentions["decoder"]) == N_LAYERS


def test_the_map_draws_its_one_stack() -> None:
    plain = architecture_data(toy(), links={}, trace=traced())
    assert len(plain["stacks"]) == 1
    assert plain["feeds"] == []
    names = " ".join(block["name"] for block in plain["blocks"])
    assert "Decoder masked self-attention" in names
    assert "Encoder" not in names
    assert all("picture" in block for block in plain["blocks"] if "attention, layer" in block["name"])


def page() -> None:
    from model.decoding.strategies import Greedy
    from model.trace import trace
    from tests.house.toy import toy
    from ui.components.matrix import Caption
    from ui.controls.head_control import HEAD
    from ui.controls.layer_control import LAYER
    from ui.course.check import check_cell, checked_matrix
    from ui.views.attention_maps import attention_maps

    one = trace(toy(), "The cat sat on the mat.", decoding=Greedy(max_steps=12))
    attention_maps(one)
    head = HEAD.value(one.model)
    checked_matrix(one, f"{one.path(head)}.rotated_q", Caption("Rotated queries"), head=head.head)
    check_cell(one)
    LAYER.draw(one.model)


def test_the_attention_pages_and_check_show_it() -> None:
    app = AppTest.from_function(page, default_timeout=60).run()
    assert not app.exception
    assert any("turns dimensions" in text.value for text in app.markdown)
