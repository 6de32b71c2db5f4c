"""The discriminator against ELECTRA of transformers with the same weights."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import ElectraConfig, ElectraForPreTraining

from model.build import build_network
from model.config import PRESETS
from model.families.encoder_only import Discriminator
from model.tap import Recorder

CONFIG = replace(
    PRESETS["bert-mini"],
    family="discriminator", vocab_size=97, d_model=24, n_heads=4, n_layers=3, d_ff=31, max_len=19,
)  # fmt: skip
IDS = torch.tensor([[7, 31, 5, 88, 12, 9, 60]])
SEGMENTS = torch.tensor([[0, 0, 0, 0, 1, 1, 1]])


@pytest.fixture(scope="module")
def model() -> Discriminator:
    torch.manual_seed(2)
    network = build_network(CONFIG).eval()
    assert isinstance(network, Discriminator)
    for name, parameter in network.named_parameters():
        nn.init.normal_(parameter, mean=1.0 if "norm" in name and parameter.dim() == 1 else 0.0, std=0.3)
    return network.requires_grad_(False)


def theirs(own: Discriminator) -> ElectraForPreTraining:
    config = ElectraConfig(
        vocab_size=97, embedding_size=24, hidden_size=24, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=31, hidden_act="gelu", max_position_embeddings=19, layer_norm_eps=1e-5,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager",
    )  # fmt: skip
    model, w = ElectraForPreTraining(config).eval(), own.state_dict()
    names = {
        "word_embeddings": "embedding.matrix", "token_type_embeddings": "embedding.segments",
        "position_embeddings": "embedding.positions.table", "embeddings.LayerNorm": "embedding.norm",
        "attention.self.query": "self_attn.w_q", "attention.self.key": "self_attn.w_k",
        "attention.self.value": "self_attn.w_v", "attention.output.dense": "self_attn.w_o",
        "attention.output.LayerNorm": "add_norm_1.norm", "intermediate.dense": "feed_forward.w_1",
        "output.dense": "feed_forward.w_2", "output.LayerNorm": "add_norm_2.norm",
        "discriminator_predictions.dense_prediction": "replaced.score",
        "discriminator_predictions.dense": "replaced.transform",
    }  # fmt: skip
    state = model.state_dict()
    for name, value in state.items():
        path, part = name.removeprefix("electra.").rsplit(".", 1)
        layer, _, inside = path.removeprefix("encoder.layer.").partition(".") if ".layer." in name else ("", "", path)
        own_path = names.get(inside) or names[inside.removeprefix("embeddings.")]
        own_path = f"encoder.layers.{layer}.{own_path}" if layer else own_path
        kinds = {"weight": ("weight", "gamma"), "bias": ("bias", "beta")}[part]
        found = [w[f"{own_path}.{kind}"] for kind in kinds if f"{own_path}.{kind}" in w]
        value.copy_(found[0]) if found else value.zero_()  # attention has no biases here
    model.load_state_dict(state)
    return model


def test_it_is_electra(model: Discriminator) -> None:
    expected = theirs(model)(input_ids=IDS, token_type_ids=SEGMENTS).logits
    recorder = Recorder()
    assert_close(model(IDS, SEGMENTS, recorder)[..., 0], expected, atol=1e-5, rtol=1e-5)
    assert_close(recorder.tensors["probability"][..., 0], 1 / (1 + torch.exp(-expected)))
