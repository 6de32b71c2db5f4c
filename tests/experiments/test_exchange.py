"""A trained model with a part exchanged: the part does its work, and nothing else has changed."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from experiments.exchange import Exchange, exchanged, exchanged_pass, translate_anew
from explain import Numbers, worked
from ui import engine

PATH = "encoder.layers.1"
TRACE = engine.trace("My dog likes the rain.")


def run(part: str, name: str, kind: str) -> tuple:
    return exchanged_pass(TRACE.model, (Exchange(part, f"{PATH}.{name}", kind),), TRACE.src_ids, TRACE.tgt_ids)


def test_the_model_itself_stays_as_it_is_and_shares_its_weights() -> None:
    before = {name: w.clone() for name, w in TRACE.model.model.state_dict().items()}
    other, _ = run("positions", "self_attn", "alibi")
    run("network", "feed_forward", "swiglu")
    run("add_norm", "add_norm_2", "rms sandwich")
    after = TRACE.model.model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(w, after[name]) for name, w in before.items())
    own = {w.data_ptr() for w in TRACE.model.model.parameters()}
    assert {w.data_ptr() for w in other.model.parameters()} == own
    assert other.name != TRACE.model.name


def test_nothing_exchanged_changes_nothing() -> None:
    other, tensors = exchanged_pass(TRACE.model, (), TRACE.src_ids, TRACE.tgt_ids)
    assert tensors.keys() == TRACE.tensors.keys()
    assert all(np.allclose(tensors[name], value, atol=1e-5) for name, value in TRACE.tensors.items())
    assert translate_anew(other, TRACE.text, 20).translation == TRACE.translation


@pytest.mark.parametrize(
    ("kind", "function"), [("gelu", functional.gelu), ("silu", functional.silu), ("relu", functional.relu)]
)
def test_an_activation_works_on_the_same_numbers(kind: str, function) -> None:
    _, tensors = run("network", "feed_forward", kind)
    before = torch.tensor(TRACE.tensors[f"{PATH}.feed_forward.pre_activation"])
    assert np.allclose(tensors[f"{PATH}.feed_forward.hidden"], function(before), atol=1e-5)


def test_deep_norm_weighs_the_stream_by_the_depth_of_this_model() -> None:
    _, tensors = run("add_norm", "add_norm_2", "layer deep")
    stream, written = (tensors[f"{PATH}.{name}.output"] for name in ("add_norm_1", "feed_forward"))
    alpha = 0.81 * (3**4 * 3) ** (1 / 16)
    assert np.allclose(tensors[f"{PATH}.add_norm_2.sum"], alpha * stream + written, atol=1e-5)


@pytest.mark.parametrize(
    ("part", "name", "kind", "tensor"),
    [
        ("positions", "self_attn", "relative", "self_attn.bias"),
        ("positions", "self_attn", "rotary", "self_attn.rotated_k"),
        ("network", "feed_forward", "geglu", "feed_forward.hidden"),
        ("add_norm", "add_norm_1", "rms post", "add_norm_1.output"),
        ("add_norm", "add_norm_1", "layer sandwich", "add_norm_1.renormed"),
    ],
)
def test_its_cells_are_worked_out(part: str, name: str, kind: str, tensor: str) -> None:
    other, tensors = run(part, name, kind)
    numbers, path = Numbers(tensors, other.weights, other.anatomy), f"{PATH}.{tensor}"
    index = (1,) * tensors[path].ndim
    assert worked(numbers, path, index).value == pytest.approx(float(tensors[path][index]), rel=1e-6)


def test_a_kind_that_there_is_not_is_refused() -> None:
    with pytest.raises(KeyError):
        exchanged(TRACE.model, (Exchange("network", f"{PATH}.feed_forward", "maxout"),))
