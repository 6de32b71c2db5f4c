"""One layer gone through several times, and narrow embeddings, against ALBERT of transformers with the same weights."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import AlbertConfig, AlbertForMaskedLM

from explain import Numbers, arrays, worked
from model.anatomy.describe import anatomy_of
from model.build import build_network
from model.config import PRESETS, ModelConfig
from model.families.encoder_only import EncoderOnly
from model.tap import Recorder

CONFIG = replace(
    PRESETS["bert-mini"],
    vocab_size=97, d_model=24, n_heads=4, n_layers=3, d_ff=31, max_len=19, d_embedding=12, shares_layers=True,
)  # fmt: skip
IDS = torch.tensor([[7, 31, 5, 88, 12, 9, 60]])
SEGMENTS = torch.tensor([[0, 0, 0, 0, 1, 1, 1]])


@pytest.fixture(scope="module")
def model() -> EncoderOnly:
    torch.manual_seed(2)
    network = build_network(CONFIG).eval()
    assert isinstance(network, EncoderOnly)
    for name, parameter in network.named_parameters():
        nn.init.normal_(parameter, mean=1.0 if "norm" in name and name.endswith("weight") else 0.0, std=0.3)
    return network.requires_grad_(False)


def theirs(own: EncoderOnly) -> AlbertForMaskedLM:
    config = AlbertConfig(
        vocab_size=97, embedding_size=12, hidden_size=24, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=31, hidden_act="gelu", max_position_embeddings=19, layer_norm_eps=1e-5,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager",
    )  # fmt: skip
    model, w = AlbertForMaskedLM(config).eval(), own.state_dict()
    embedding, layer = "albert.embeddings", "albert.encoder.albert_layer_groups.0.albert_layers.0"
    names = {
        f"{embedding}.word_embeddings.weight": "embedding.matrix.weight",
        f"{embedding}.token_type_embeddings.weight": "embedding.segments.weight",
        f"{embedding}.position_embeddings.weight": "embedding.positions.table.weight",
        "albert.encoder.embedding_hidden_mapping_in.weight": "widen.weight",
        "albert.encoder.embedding_hidden_mapping_in.bias": "widen.bias",
        "predictions.dense.weight": "masked_token.transform.weight",
        "predictions.dense.bias": "masked_token.transform.bias",
        "predictions.bias": "masked_token.bias",
        **{f"{layer}.attention.{one}.weight": f"encoder.layers.0.self_attn.w_{one[0]}.weight"
           for one in ("query", "key", "value")},
        f"{layer}.attention.dense.weight": "encoder.layers.0.self_attn.w_o.weight",
        **{f"{layer}.{one}.{part}": f"encoder.layers.0.feed_forward.w_{n}.{part}"
           for n, one in ((1, "ffn"), (2, "ffn_output")) for part in ("weight", "bias")},
    }  # fmt: skip
    norms = {
        f"{embedding}.LayerNorm": "embedding.norm",
        f"{layer}.attention.LayerNorm": "encoder.layers.0.add_norm_1.norm",
        f"{layer}.full_layer_layer_norm": "encoder.layers.0.add_norm_2.norm",
        "predictions.LayerNorm": "masked_token.norm",
    }
    for one, other in norms.items():
        for part, letters in (("weight", ("weight", "gamma")), ("bias", ("bias", "beta"))):
            names[f"{one}.{part}"] = next(f"{other}.{letter}" for letter in letters if f"{other}.{letter}" in w)
    state = model.state_dict()
    for name, value in state.items():
        if name in names:
            value.copy_(w[names[name]])
        elif "attention" in name and name.endswith("bias"):
            value.zero_()
    model.load_state_dict(state)
    return model


def test_it_is_albert(model: EncoderOnly) -> None:
    expected = theirs(model)(input_ids=IDS, token_type_ids=SEGMENTS).logits
    assert_close(model(IDS, SEGMENTS)[0], expected, atol=1e-5, rtol=1e-5)


def test_its_anatomy_names_every_number_and_where_its_weights_are(model: EncoderOnly) -> None:
    recorder = Recorder()
    model(IDS, SEGMENTS, tap=recorder)
    anatomy, weights = anatomy_of(model), model.state_dict()
    assert recorder.tensors.keys() == anatomy.tensors.keys()
    sizes = {"src": 7, "d_model": 24, "d_embedding": 12}
    for name, made in anatomy.tensors.items():
        assert set(made.weights) <= weights.keys(), name
        shape = recorder.tensors[name].shape
        known = [sizes[axis] for axis in made.axes if axis in sizes]
        assert [size for size, axis in zip(shape[len(shape) - len(made.axes) :], made.axes, strict=True)
                if axis in sizes] == known, name  # fmt: skip
    assert [layer.index for layer in anatomy.stack("encoder").layers] == [0, 1, 2]
    assert sum(name.startswith("encoder.layers.") for name in weights) == sum(
        name.startswith("encoder.layers.0.") for name in weights
    )


def test_the_second_round_is_worked_out_from_the_first_layers_weights(model: EncoderOnly) -> None:
    recorder = Recorder()
    model(IDS, SEGMENTS, tap=recorder)
    tensors = {name: value[0].numpy() for name, value in recorder.tensors.items()}
    numbers = Numbers(tensors, {name: value.numpy() for name, value in model.state_dict().items()}, anatomy_of(model))
    for name, index in (("encoder.layers.1.self_attn.q", (2, 3, 4)), ("encoder.widened", (5, 20)), ("logits", (6, 90))):
        step = worked(numbers, name, index)
        *lines, last = step.snippet.splitlines()
        scope: dict[str, object] = {"np": np, "t": arrays(numbers, [step])}
        exec("\n".join(lines), scope)
        assert eval(last, scope) == pytest.approx(float(tensors[name][index]), abs=1e-4)


@pytest.mark.parametrize("changes", [{"d_embedding": 12}, {"shares_layers": True}])
def test_no_other_family_has_them(changes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="family='decoder_only' has neither d_embedding nor shares_layers"):
        ModelConfig(family="decoder_only", **changes)  # type: ignore[arg-type]
