"""Gated feed-forward networks beside those of transformers; `test_every_part_by_hand.py` has the formulas."""

import torch
from torch import nn
from torch.testing import assert_close
from transformers import LlamaConfig, T5Config
from transformers.models.llama.modeling_llama import LlamaMLP
from transformers.models.t5.modeling_t5 import T5DenseGatedActDense

from model.parts.feed_forward import GatedFeedForward

B, T, D_MODEL, D_FF = 2, 5, 42, 53


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
