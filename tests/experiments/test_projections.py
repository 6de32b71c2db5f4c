"""A head that reads through other matrices, beside softmax(XWₐ(MWₖ)ᵀ/√d_k) written out."""

import math

import numpy as np
import pytest
import torch

from experiments.attention.projections import weights_with_matrices
from experiments.passes import forward
from model.families.encoder_decoder import EncoderDecoder
from model.files.loaded_model import LoadedModel
from model.interventions import Head
from model.text.tokenizer import EOS_ID, SOS_ID, Tokenizer
from tests.small import CONFIG, random_model, small_loaded

SRC = (*range(7, 51, 4), EOS_ID)
TGT = (SOS_ID, *range(83, 53, -5))
HEADS = (Head("encoder", 1, 2), Head("decoder", 1, 1), Head("cross", 0, 2))


@pytest.fixture
def loaded(model: EncoderDecoder, tokenizer: Tokenizer) -> LoadedModel:
    return small_loaded(model, tokenizer)


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_through_its_own_matrices_it_looks_where_it_always_looks(loaded: LoadedModel, head: Head) -> None:
    path = loaded.anatomy.attention(head.attention, head.layer).path
    expected = forward(loaded, SRC, TGT)[f"{path}.weights"][head.head]
    np.testing.assert_allclose(weights_with_matrices(loaded, SRC, TGT, head, loaded), expected, atol=1e-5)


@pytest.mark.parametrize("without", [False, True])
@pytest.mark.parametrize("head", HEADS, ids=str)
def test_through_others_or_none(loaded: LoadedModel, tokenizer: Tokenizer, head: Head, without: bool) -> None:
    """What it reads stays the first model's: from two streams in "cross", from one elsewhere."""
    torch.manual_seed(23)
    other = small_loaded(random_model(), tokenizer)
    tensors, below = forward(loaded, SRC, TGT), head.layer - 1
    x = {
        "encoder": tensors.get(f"encoder.layers.{below}.add_norm_2.output"),
        "decoder": tensors.get(f"decoder.layers.{below}.add_norm_3.output"),
        "cross": tensors[f"decoder.layers.{head.layer}.add_norm_1.output"],
    }[head.attention]
    memory = tensors[f"encoder.layers.{CONFIG.n_layers - 1}.add_norm_2.output"] if head.attention == "cross" else x
    path = loaded.anatomy.attention(head.attention, head.layer).path
    w_q, w_k = (other.weights[f"{path}.w_{letter}.weight"].T for letter in "qk")
    own = slice(head.head * CONFIG.d_k, (head.head + 1) * CONFIG.d_k)
    q, k = (x[:, own], memory[:, own]) if without else ((x @ w_q)[:, own], (memory @ w_k)[:, own])
    powers = np.exp((q @ k.T).astype(np.float64) / math.sqrt(CONFIG.d_k))
    powers = np.tril(powers) if head.attention == "decoder" else powers
    found = weights_with_matrices(loaded, SRC, TGT, head, None if without else other)
    np.testing.assert_allclose(found, powers / powers.sum(-1, keepdims=True), atol=1e-4)
