"""The test of the house for parts: a new attention and a new feed-forward network cost a module and an entry each."""

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
from model import build, checkpoint
from model.config import CHOICES
from model.decoding import Greedy
from model.interventions import NOTHING, Block, Head, Interventions, Unit
from model.loaded import LoadedModel, load_folder
from model.trace import Trace, trace
from tests.family import small_tokenizer
from tests.house import parts
from tests.small import CONFIG
from ui.components.architecture import architecture_data

PARTS = {"attention": parts.ATTENTION, "feed_forward": parts.FEED_FORWARD}
FAMILIES = {"encoder_decoder": "cross", "decoder_only": "decoder", "encoder_only": "encoder"}
SENTENCE, UNITS = "The cat sat on the mat.", parts.N_EXPERTS * CONFIG.d_ff


@pytest.fixture(autouse=True)
def with_new_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entries, and the rules of Check for operations that no other part has."""
    monkeypatch.setitem(build.ATTENTIONS, parts.ATTENTION, parts.grouped_query)
    monkeypatch.setitem(build.FEED_FORWARDS, parts.FEED_FORWARD, parts.two_experts)
    for name, part in PARTS.items():
        monkeypatch.setitem(CHOICES, name, (*CHOICES[name], part))
    for operation, rule in parts.RULES.items():
        monkeypatch.setitem(RULES, operation, rule)


@pytest.fixture(params=FAMILIES)
def loaded(request: pytest.FixtureRequest, tmp_path: Path) -> LoadedModel:
    """Saved and loaded like any other; all weights are random."""
    tokenizer = small_tokenizer()
    config = replace(CONFIG, **PARTS, family=request.param, positions="rotary", vocab_size=tokenizer.vocab_size)
    model = build.build_network(config)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    checkpoint.save(tmp_path, config, tokenizer, dict(model.state_dict()))
    return load_folder(tmp_path)


def traced(loaded: LoadedModel, change: Interventions = NOTHING) -> Trace:
    return trace(loaded, SENTENCE, decoding=Greedy(15), interventions=change)


def test_every_tap_is_known_has_its_axes_and_is_worked_out(loaded: LoadedModel) -> None:
    one, anatomy = traced(loaded), loaded.anatomy
    sizes = {"head": 3, "group": parts.N_GROUPS, "experts": parts.N_EXPERTS, "d_ff": UNITS, "d_k": 14, "d_model": 42}
    sizes |= {"src": len(one.src), "tgt": len(one.tgt), "labels": len(one.tgt), "one": 1, "classes": 2}
    sizes["vocab"] = loaded.tokenizer.vocab_size
    assert set(one.tensors) == set(anatomy.tensors)
    assert {made.operation for made in anatomy.tensors.values()} >= parts.RULES.keys()
    numbers, random = Numbers(one.tensors, loaded.weights, anatomy), np.random.default_rng(5)
    for name, tensor in one.tensors.items():
        assert tensor.shape == tuple(sizes[axis] for axis in anatomy.axes(name)), name
        for _ in range(0 if name.endswith("mask") else 3):
            index = tuple(int(random.integers(size)) for size in tensor.shape)
            step, true = worked(numbers, name, index), tensor[index]
            *lines, last = step.snippet.splitlines()
            scope = {"np": np, "t": arrays(numbers, [step])}
            exec("\n".join(lines), scope)
            own = float(eval(last.partition("  #")[0], scope))
            assert own == true or np.isclose(own, true, rtol=1e-4, atol=1e-4), (name, index)


def changes(stack: str) -> Iterator[tuple[Interventions, dict[str, str]]]:
    """What is left out, and by name of a value the one that stands in its place; "" stands for 0."""
    network, attention = f"{stack}.layers.1.feed_forward", f"{stack}.layers.0.self_attn"
    yield (
        Interventions(relu_off=(Block(stack, 1, "feed_forward"),)),
        {f"{network}.activated": f"{network}.pre_activation"},
    )
    yield Interventions(scale_off=True), {f"{attention}.scaled": f"{attention}.products"}
    yield Interventions(positions_off=True), {f"{attention}.rotated_{name}": f"{attention}.{name}" for name in "qk"}
    yield Interventions(blocks_off=(Block(stack, 0, "self_attn"),)), {f"{attention}.output": ""}
    yield Interventions(blocks_off=(Block(stack, 1, "feed_forward"),)), {f"{network}.output": ""}


def test_changes_reach_them(loaded: LoadedModel) -> None:
    stack, kind = loaded.anatomy.stacks[-1].name, FAMILIES[loaded.config.family]
    plain = traced(loaded)
    for change, stand_ins in changes(stack):
        off = traced(loaded, change)
        rows = min(len(one.tensors["logits"]) for one in (off, plain))
        assert not np.allclose(off.tensors["logits"][:rows], plain.tensors["logits"][:rows], atol=1e-4), change
        for name, other in stand_ins.items():
            assert np.array_equal(off.tensors[name], off.tensors[other] if other else 0 * off.tensors[name]), name
            assert not np.array_equal(plain.tensors[name], plain.tensors[other] if other else 0 * plain.tensors[name])
    name = f"{stack}.layers.1.feed_forward.hidden"
    *_, other, unit = plain.tensors[name].any(0).nonzero()[0].tolist()  # two that are awake
    off = traced(loaded, Interventions(heads_off=(Head(kind, 0, 2),), units_off=(Unit(stack, 1, unit),)))
    assert off.attention(kind, 0, "heads").any((1, 2)).tolist() == [True, True, False]
    assert off.tensors[name][:, [other, unit]].any(0).tolist() == [True, False]


def test_the_map_draws_them_and_a_cache_holds_what_they_share(loaded: LoadedModel) -> None:
    assert architecture_data(loaded, links={}, trace=traced(loaded))["blocks"]
    if loaded.anatomy.writes_target:
        ids = torch.tensor([[1, 40, 41, 42, 43]])
        memory, cache = (
            loaded.model.encode(ids if loaded.anatomy.reads_source else ids[:, :0]),
            loaded.model.new_cache(),
        )
        steps = [loaded.model.decode(ids[:, :end], memory, cache) for end in (2, 3, 5)]
        assert_close(torch.cat(steps, dim=1), loaded.model.decode(ids, memory), atol=1e-4, rtol=1e-4)
        assert cache.shapes["layers.0.self_attn"] == (parts.N_GROUPS, 5, 14)


def test_a_config_without_the_new_names_has_the_papers_parts(tmp_path: Path) -> None:
    """Those that were saved before there was a choice."""
    before = {name: value for name, value in asdict(CONFIG).items() if name not in PARTS}
    (tmp_path / checkpoint.CONFIG).write_text(json.dumps(before))
    assert checkpoint.load_config(tmp_path) == CONFIG
