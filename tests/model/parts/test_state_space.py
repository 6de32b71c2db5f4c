"""State-space layers: two ways to compute one of them, transformers' Mamba with equal weights, and their laws."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import MambaConfig, MambaModel

from model.parts.norms import RMSNorm
from model.parts.state_space import MambaBlock, Selective, TimeInvariant, recurrence
from model.tap import Recorder
from tests.model.test_tap import documented_taps

B, T, D_MODEL, D, N, RANK = 2, 13, 7, 11, 5, 3


def block(kind: type[Selective] | type[TimeInvariant] = Selective) -> MambaBlock:
    space = Selective(D, N, RANK) if kind is Selective else TimeInvariant(D, N)
    made = MambaBlock(D_MODEL, space)
    for parameter in made.parameters():  # at 0 and 1 one could stand for another unseen
        nn.init.normal_(parameter, std=0.5)
    return made


def test_a_recurrence_by_hand() -> None:
    """Half of the state stays: 1, then 0.5 + 2, then 1.25 + 3; from 8 on it begins with 5."""
    gained = torch.tensor([1.0, 2.0, 3.0]).reshape(1, 3, 1, 1)
    decay = torch.full((1, 1), 0.5)
    assert recurrence(decay, gained).flatten().tolist() == [1.0, 2.5, 4.25]
    assert recurrence(decay, gained, torch.full((1, 1, 1), 8.0)).flatten().tolist() == [5.0, 4.5, 5.25]


def test_as_recurrence_and_as_convolution_it_is_the_same() -> None:
    layer, x = TimeInvariant(D, N), torch.randn(B, 200, D)
    assert (layer(x) - layer.step_by_step(x)).abs().max() <= 1e-5


def test_a_kernel_by_hand() -> None:
    """One state with A = −1 and C = 3, Δ = ln 2: Ā = 1/2 and B̄ = 1/2, so 2·3/2 = 3, then half of it at each step."""
    layer = TimeInvariant(1, 1)
    with torch.no_grad():
        layer.step.fill_(math.log(math.exp(math.log(2)) - 1))
        layer.log_a.zero_()
        layer.turn.zero_()
        layer.read.copy_(torch.tensor([[[3.0, 5.0]]]))
        layer.skip.fill_(10.0)
    assert_close(layer.kernel(4), torch.tensor([[3.0, 1.5, 0.75, 0.375]]))
    x = torch.tensor([1.0, 0.0, 2.0]).reshape(1, 3, 1)
    assert_close(layer(x).flatten(), torch.tensor([13.0, 1.5, 26.75]))


def test_steps_begin_where_they_should() -> None:
    for layer in (TimeInvariant(500, 2, (0.01, 0.04)), Selective(500, 2, 1, (0.01, 0.04))):
        delta = layer.delta() if isinstance(layer, TimeInvariant) else nn.functional.softplus(layer.w_step.bias)
        assert 0.01 <= delta.min() < 0.0105
        assert 0.0385 < delta.max() <= 0.0401
        assert delta.median().item() == pytest.approx(0.02, abs=0.002)


def test_two_blocks_are_transformers_mamba() -> None:
    sizes: dict[str, Any] = {"state_size": N, "expand": 2, "time_step_rank": RANK, "conv_kernel": 3}
    theirs = MambaModel(
        MambaConfig(vocab_size=17, hidden_size=D_MODEL, num_hidden_layers=2, residual_in_fp32=False, **sizes)
    ).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.5)
    ids = torch.randint(17, (B, T))
    x: Tensor = theirs.embeddings(ids)
    for layer in theirs.layers:
        norm = RMSNorm(D_MODEL, eps=theirs.config.layer_norm_epsilon)
        norm.weight = layer.norm.weight
        ours, mixer = MambaBlock(D_MODEL, Selective(2 * D_MODEL, N, RANK), reach=3), layer.mixer
        names = {"w_in.weight": "in_proj.weight", "conv.weight": "conv1d.weight", "conv.bias": "conv1d.bias"}
        names |= {"space.w_x.weight": "x_proj.weight", "space.w_step.weight": "dt_proj.weight"}
        names |= {"space.w_step.bias": "dt_proj.bias", "space.log_a": "A_log", "space.skip": "D"}
        names |= {"w_out.weight": "out_proj.weight"}
        ours.load_state_dict({mine: mixer.state_dict()[their] for mine, their in names.items()})
        read = norm(x)
        assert_close(ours(read), mixer(read), atol=1e-5, rtol=1e-5)
        x = x + ours(read)
    last = RMSNorm(D_MODEL, eps=theirs.config.layer_norm_epsilon)
    last.weight = theirs.norm_f.weight
    assert_close(last(x), theirs(ids).last_hidden_state, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", [Selective, TimeInvariant])
def test_taps_pass_as_documented_and_the_future_changes_nothing(kind: type[Selective] | type[TimeInvariant]) -> None:
    ours, x, recorder = block(kind), torch.randn(B, T, D_MODEL), Recorder()
    result = ours(x, recorder)
    shapes = {"D,T": (D, T), "B,T,D": (B, T, D), "B,T,N": (B, T, N), "B,D,T,N": (B, D, T, N)}
    documented = {name: shapes[symbols] for name, symbols in documented_taps(MambaBlock, ours).items()}
    assert {name: tuple(value.shape) for name, value in recorder.tensors.items()} == documented
    for changed in recorder.tensors:
        other = ours(x, lambda name, value, changed=changed: value + 0.1 if name == changed else value)
        assert not torch.equal(other, result), changed
    later = x.clone()
    later[:, 6:] += 1
    assert_close(ours(later)[:, :6], result[:, :6])
    assert not torch.allclose(ours(later)[:, 6:], result[:, 6:])
