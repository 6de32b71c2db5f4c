"""What is built from a config: every part with its numbers, none used twice, weights of the right size."""

import dataclasses
import math

import pytest
import torch
from torch import nn

from model.build import build_model
from model.config import PRESETS, ModelConfig
from model.parts.attention import MultiHeadAttention
from model.parts.embedding import TokenEmbedding
from model.parts.feed_forward import FeedForward
from model.parts.residual import PostNorm

CONFIG = ModelConfig(vocab_size=997, d_model=84, n_heads=7, n_layers=3, d_ff=211, max_len=31, dropout=0.37)


def test_each_number_of_the_config_reaches_its_part() -> None:
    model = build_model(CONFIG)
    parts = list(model.modules())
    assert len(model.encoder.layers) == len(model.decoder.layers) == 3
    attentions = [part for part in parts if isinstance(part, MultiHeadAttention)]
    assert len(attentions) == 3 + 2 * 3, "no part is used twice"
    assert {part.n_heads for part in attentions} == {7}
    assert {(p.w_1.in_features, p.w_1.out_features) for p in parts if isinstance(p, FeedForward)} == {(84, 211)}
    assert sum(isinstance(part, PostNorm) for part in parts) == 2 * 3 + 3 * 3
    assert {part.norm.normalized_shape for part in parts if isinstance(part, PostNorm)} == {(84,)}
    assert {part.p for part in parts if isinstance(part, nn.Dropout)} == {0.37}
    assert sum(isinstance(part, nn.Dropout) for part in parts) == 2 * 3 + 3 * 3 + 1
    (embedding,) = (part for part in parts if isinstance(part, TokenEmbedding))
    assert embedding.matrix.weight.shape == (997, 84)
    assert embedding.positions.encoding.shape == (31, 84)
    assert model.pad_id == 0


def test_matrices_are_drawn_as_glorot_and_bengio_say() -> None:
    """Uniform between ±√(6 / (fan in + fan out)): of that variance, and up to that limit."""
    for name, weight in build_model(CONFIG).named_parameters():
        if weight.dim() > 1 and "embedding" not in name:
            limit = math.sqrt(6 / sum(weight.shape))
            assert 0.98 * limit < weight.abs().max() <= limit, name
            assert weight.std().item() == pytest.approx(limit / math.sqrt(3), rel=0.05), name


def test_rows_of_the_embedding_have_length_one_or_so() -> None:
    lengths = build_model(CONFIG).embedding.matrix.weight.norm(dim=-1)
    assert lengths.mean().item() == pytest.approx(1, abs=0.02)
    assert lengths.std().item() < 0.15


def test_no_two_layers_begin_alike_and_the_seed_alone_decides() -> None:
    torch.manual_seed(3)
    model = build_model(CONFIG)
    torch.manual_seed(3)
    again = build_model(CONFIG)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    matrices = [w for w in model.parameters() if w.dim() > 1]
    for n, matrix in enumerate(matrices):
        assert not any(m.shape == matrix.shape and torch.equal(m, matrix) for m in matrices[n + 1 :])


def test_the_presets_by_their_sources() -> None:
    """base: d_k = 64 as in the paper (Table 3), d_ff = 4 · d_model. multi30k-tiny: Wu et al. 2021, but with the norm
    before each sublayer and rotated positions.
    """
    base = PRESETS["base"]
    assert base == ModelConfig()
    assert (base.d_k, base.d_ff, base.dropout) == (64, 4 * base.d_model, 0.1)
    assert dataclasses.astuple(PRESETS["multi30k-tiny"])[:7] == (10000, 128, 4, 4, 256, 256, 0.3)
    assert dataclasses.astuple(PRESETS["multi30k-tiny"])[7:11] == ("rotary", "layer", "pre", "relu")
    assert sum(p.numel() for p in build_model(PRESETS["multi30k-tiny"]).parameters()) == 2_599_424
    assert PRESETS["tiny"].d_k == 16
    n_parameters = sum(p.numel() for p in build_model(PRESETS["sibling"]).parameters())
    assert n_parameters == pytest.approx(2e6, rel=0.05)
