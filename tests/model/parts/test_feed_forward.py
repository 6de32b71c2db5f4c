"""The feed-forward networks beside their formulas."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import LlamaConfig, T5Config
from transformers.models.llama.modeling_llama import LlamaMLP
from transformers.models.t5.modeling_t5 import T5DenseGatedActDense

from model.parts.feed_forward import FeedForward, GatedFeedForward
from model.tap import Recorder

B, T, D_MODEL, D_FF = 2, 5, 42, 53


def test_relu_network_by_hand() -> None:
    """ReLU(xW₁ + b₁)W₂ + b₂."""
    network, x, recorder = FeedForward(D_MODEL, D_FF), torch.randn(B, T, D_MODEL), Recorder()
    before = torch.einsum("btd,fd->btf", x, network.w_1.weight) + network.w_1.bias
    hidden = torch.where(before > 0, before, torch.zeros_like(before))
    expected = torch.einsum("btf,df->btd", hidden, network.w_2.weight) + network.w_2.bias
    assert_close(network(x, recorder), expected, atol=1e-5, rtol=1e-5)
    assert_close(recorder.tensors["pre_activation"], before, atol=1e-5, rtol=1e-5)
    assert_close(recorder.tensors["hidden"], hidden, atol=1e-5, rtol=1e-5)
    assert network.w_1.weight.shape == (D_FF, D_MODEL)


def test_gated_network_by_hand() -> None:
    """SwiGLU: (xW₁ · σ(xW₁) ⊙ xV)W₂, without biases (Shazeer 2020, Equation 6)."""
    network, x, recorder = GatedFeedForward(D_MODEL, D_FF), torch.randn(B, T, D_MODEL), Recorder()
    before, value = (torch.einsum("btd,fd->btf", x, linear.weight) for linear in (network.w_1, network.v))
    gate = before / (1 + torch.exp(-before))
    expected = torch.einsum("btf,df->btd", gate * value, network.w_2.weight)
    assert_close(network(x, recorder), expected, atol=1e-5, rtol=1e-5)
    for name, tensor in {"pre_activation": before, "gate": gate, "value": value, "hidden": gate * value}.items():
        assert_close(recorder.tensors[name], tensor, atol=1e-5, rtol=1e-5)
    assert {name for name, _ in network.named_parameters()} == {"w_1.weight", "v.weight", "w_2.weight"}


def test_gated_networks_are_those_of_llama_and_t5() -> None:
    x = torch.randn(B, T, D_MODEL)
    llama = LlamaMLP(LlamaConfig(hidden_size=D_MODEL, num_attention_heads=1, intermediate_size=D_FF))
    config = T5Config(d_model=D_MODEL, d_ff=D_FF, dropout_rate=0, feed_forward_proj="gated-gelu")
    config.dense_act_fn = "gelu"  # T5 has the one with tanh
    t5 = T5DenseGatedActDense(config)
    for theirs, names, activation in (
        (llama, ("gate_proj", "up_proj", "down_proj"), nn.SiLU()),
        (t5, ("wi_0", "wi_1", "wo"), nn.GELU()),
    ):
        ours = GatedFeedForward(D_MODEL, D_FF, activation)
        for linear, name in zip((ours.w_1, ours.v, ours.w_2), names, strict=True):
            linear.weight = getattr(theirs, name).weight
        assert_close(ours(x), theirs(x), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("network", [FeedForward, GatedFeedForward])
def test_another_activation_stands_in(network: type[FeedForward] | type[GatedFeedForward]) -> None:
    recorder = Recorder()
    network(D_MODEL, D_FF, nn.Tanh())(torch.randn(B, T, D_MODEL), recorder)
    after = recorder.tensors["gate" if network is GatedFeedForward else "hidden"]
    assert_close(after, recorder.tensors["pre_activation"].tanh())


@pytest.mark.parametrize("network", [FeedForward, GatedFeedForward])
def test_each_position_goes_through_by_itself(network: type[FeedForward] | type[GatedFeedForward]) -> None:
    one, x = network(D_MODEL, D_FF), torch.randn(B, T, D_MODEL)
    alone = torch.stack([one(x[:, t : t + 1])[:, 0] for t in range(T)], dim=1)
    assert_close(one(x), alone, atol=1e-6, rtol=1e-5)
