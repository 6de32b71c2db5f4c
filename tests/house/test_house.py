"""The test of the house: a model of another family, or of new parts, gets all that the translator has, with no line
changed for it: trace, anatomy, Check, interventions, cache and map."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from explain import RULES, Numbers, arrays, worked
from model import build
from model.config import CHOICES, FAMILIES
from model.decoding.strategies import Beam, Greedy
from model.files import checkpoint
from model.files.loaded_model import LoadedModel, load_folder
from model.interventions import NOTHING, Block, Head, Interventions, Unit
from model.text.tokenizer import EOS_ID
from model.trace import Trace, trace
from tests.family import FAMILY, small, small_tokenizer
from tests.house import parts
from tests.house.toy import toy
from tests.small import CONFIG
from ui.components.architecture import architecture_data

NEW_PARTS = {"attention": parts.ATTENTION, "feed_forward": parts.FEED_FORWARD}
OF_NEW_PARTS = FAMILIES
SENTENCE = "The cat sat on the mat."


@pytest.fixture
def new_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry that each new part needs, and rules of Check for operations that no other part has."""
    monkeypatch.setitem(build.ATTENTIONS, parts.ATTENTION, build.Kind(parts.small_scores, parts.small_scores))
    monkeypatch.setitem(build.FEED_FORWARDS, parts.FEED_FORWARD, parts.two_experts)
    for name, part in NEW_PARTS.items():
        monkeypatch.setitem(CHOICES, name, (*CHOICES[name], part))
    for operation, rule in parts.RULES.items():
        monkeypatch.setitem(RULES, operation, rule)


@pytest.fixture(params=["toy", *FAMILY, *OF_NEW_PARTS])
def loaded(request: pytest.FixtureRequest, tmp_path: Path, new_parts: None) -> LoadedModel:
    if request.param not in OF_NEW_PARTS:
        return toy() if request.param == "toy" else small(request.param)
    tokenizer = small_tokenizer()
    config = replace(CONFIG, **NEW_PARTS, family=request.param, positions="rotary", vocab_size=tokenizer.vocab_size)
    model = build.build_network(config)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    checkpoint.save(tmp_path, config, tokenizer, dict(model.state_dict()))
    return load_folder(tmp_path)  # saved and loaded like any other


def traced(loaded: LoadedModel, change: Interventions = NOTHING) -> Trace:
    return trace(loaded, SENTENCE, decoding=Greedy(15), interventions=change)


def test_what_it_writes_is_the_likeliest_each_time_and_goes_on_with_the_text(loaded: LoadedModel) -> None:
    one = traced(loaded)
    if not loaded.anatomy.writes_target:
        assert (one.labels, one.steps) == ((), ())
        return
    given = [] if loaded.anatomy.reads_source else loaded.tokenizer.encode(SENTENCE)
    logits = one.tensors["logits"].copy()
    logits[:, :EOS_ID] = -np.inf  # <pad> and <sos> are never written
    assert [*one.label_ids] == given + logits.argmax(-1).tolist()[len(given) :]
    assert trace(loaded, SENTENCE, decoding=Beam(2, max_steps=15)).labels


def test_every_tap_is_known_has_its_axes_and_is_worked_out(loaded: LoadedModel) -> None:
    """The value that the step ends in, and the lines that compute it again, agree with the tensor."""
    one, anatomy, config = traced(loaded), loaded.anatomy, loaded.config
    d_ff = config.d_ff * (parts.N_EXPERTS if config.feed_forward == parts.FEED_FORWARD else 1)
    sizes = {"head": 3, "experts": parts.N_EXPERTS, "classes": 2, "one": 1}
    sizes |= {"src": len(one.src), "tgt": len(one.tgt), "labels": len(one.tgt), "d_ff": d_ff, "d_k": config.d_k}
    sizes |= {"d_model": config.d_model, "vocab": loaded.tokenizer.vocab_size}
    assert set(one.tensors) == set(anatomy.tensors)
    assert anatomy.reads_source == bool(one.src)
    assert anatomy.writes_target == bool(one.tgt)
    numbers, random = Numbers(one.tensors, loaded.weights, anatomy), np.random.default_rng(5)
    for name, tensor in one.tensors.items():
        assert tensor.shape == tuple(sizes[axis] for axis in anatomy.axes(name)), name
        for _ in range(0 if name.endswith("mask") else 5):
            index = tuple(int(random.integers(size)) for size in tensor.shape)
            step, true = worked(numbers, name, index), float(tensor[index])
            *lines, last = step.snippet.splitlines()
            scope = {"np": np, "t": arrays(numbers, [step])}
            exec("\n".join(lines), scope)
            own = float(eval(last.partition("  #")[0], scope))
            for value in (step.value, own):
                assert value == true or np.isclose(value, true, rtol=2e-5, atol=2e-5), (name, index)


def left_out(loaded: LoadedModel) -> Iterator[tuple[Interventions, dict[str, str]]]:
    """What is left out, and by name of a value the one that then stands in its place; "" stands for 0."""
    stack, tensors = loaded.anatomy.stacks[-1].name, loaded.anatomy.tensors
    network, attention = f"{stack}.layers.1.feed_forward", f"{stack}.layers.0.self_attn"
    activated = next(
        name for name in (f"{network}.{one}" for one in ("gate", "activated", "hidden")) if name in tensors
    )
    yield Interventions(relu_off=(Block(stack, 1, "feed_forward"),)), {activated: f"{network}.pre_activation"}
    yield Interventions(scale_off=True), {f"{attention}.scaled": f"{attention}.products"}
    rotated = {f"{attention}.rotated_{name}": f"{attention}.{name}" for name in "qk"}
    yield Interventions(positions_off=True), rotated if rotated.keys() <= tensors.keys() else {}
    yield Interventions(blocks_off=(Block(stack, 0, "self_attn"),)), {f"{attention}.output": ""}
    yield Interventions(blocks_off=(Block(stack, 1, "feed_forward"),)), {f"{network}.output": ""}
    if loaded.anatomy.writes_target:
        yield Interventions(causal_mask_off=True), {}


OTHER_LAYER = str.maketrans("01", "10")


def stands_in(one: Trace, name: str, other: str) -> bool:
    return np.array_equal(one.tensors[name], one.tensors[other] if other else np.zeros_like(one.tensors[name]))


def test_changes_reach_it_and_nothing_else(loaded: LoadedModel) -> None:
    stack, plain = loaded.anatomy.stacks[-1].name, traced(loaded)
    for change, stand_ins in left_out(loaded):
        off = traced(loaded, change)
        rows = min(len(one.tensors["logits"]) for one in (off, plain))
        assert not np.allclose(off.tensors["logits"][:rows], plain.tensors["logits"][:rows], atol=1e-4), change
        for name, other in stand_ins.items():
            assert stands_in(off, name, other)
            assert not stands_in(plain, name, other)
            is_of_one_layer = bool(change.relu_off or change.blocks_off)
            assert stands_in(off, name.translate(OTHER_LAYER), other.translate(OTHER_LAYER)) != is_of_one_layer, name
        if change.causal_mask_off:
            assert (off.attention("decoder", 0) > 0).all()
    kind, name = next(reversed(loaded.anatomy.attentions)), f"{stack}.layers.1.feed_forward.hidden"
    assert loaded.anatomy.sublayer(stack, 1, "feed_forward").units == (name, plain.tensors[name].shape[-1])
    *_, other, unit = plain.tensors[name].any(0).nonzero()[0].tolist()  # two that are awake
    off = traced(loaded, Interventions(heads_off=(Head(kind, 1, 2),), units_off=(Unit(stack, 1, unit),)))
    assert off.attention(kind, 1, "heads").any((1, 2)).tolist() == [True, True, False]
    assert off.tensors[name][:, [other, unit]].any(0).tolist() == [True, False]


def test_the_map_draws_its_stacks(loaded: LoadedModel) -> None:
    plain = architecture_data(loaded, links={}, trace=traced(loaded))
    assert len(plain["stacks"]) == len(loaded.anatomy.stacks)
    assert all("picture" in block for block in plain["blocks"] if "attention, layer" in block["name"])


def test_with_a_cache_it_writes_what_it_writes_without(loaded: LoadedModel) -> None:
    model, ids = loaded.model, torch.tensor([[1, *loaded.tokenizer.encode(SENTENCE)]])
    if not loaded.anatomy.writes_target:
        with pytest.raises(NotImplementedError, match="writes nothing"):
            model.new_cache()
        return
    memory = model.encode(ids if loaded.anatomy.reads_source else ids[:, :0])
    cache, ends = model.new_cache(), (1, 2, 4, ids.size(1))
    assert memory.states.size(1) == (ids.size(1) if loaded.anatomy.reads_source else 0)
    steps = torch.cat([model.decode(ids[:, :end], memory, cache) for end in ends], dim=1)
    assert_close(steps, model.decode(ids, memory), atol=1e-4, rtol=1e-4)
    assert cache.shapes["layers.0.self_attn"] == (3, ids.size(1), loaded.config.d_k)


def test_a_config_without_the_new_names_has_the_papers_parts(tmp_path: Path) -> None:
    """Those that were saved before there was a choice."""
    before = {name: value for name, value in asdict(CONFIG).items() if name not in NEW_PARTS}
    (tmp_path / checkpoint.CONFIG).write_text(json.dumps(before))
    assert checkpoint.load_config(tmp_path) == CONFIG
