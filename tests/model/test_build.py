"""What is built from a config: every part with its numbers, none used twice, weights of the right size."""

import dataclasses
import itertools
import math

import pytest
import torch
from torch import Tensor, nn

from model.build import build_model, build_network
from model.config import CHOICES, FAMILIES, PRESETS, ModelConfig
from model.parts.attention import MultiHeadAttention
from model.parts.embedding import TokenEmbedding
from model.parts.feed_forward import FeedForward
from model.parts.residual import DeepNorm, PostNorm

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


NARROW = 0.02  # the deviation of all matrices of GPT-2 and BERT, and of every table of positions
UNSCALED = ("w_q", "w_k")  # by DeepNorm


def drawn(config: ModelConfig, name: str, shape: torch.Size) -> float:
    """The deviation with which a matrix is drawn, worked out from what the papers say."""
    n, scaled = config.n_layers, config.norm_place == "deep" and name.split(".")[-2] not in UNSCALED
    place, *_, matrix, _ = name.split(".")
    alone = config.family != "encoder_decoder"
    if ".positions." in name or (alone and place not in ("encoder", "decoder")):
        return NARROW
    if place == "embedding":  # rows of length one
        return config.d_model**-0.5
    beta = 1.0
    if scaled:  # Wang et al. 2022, Figure 2
        stack = "alone" if alone else place
        beta = {"alone": (8 * n) ** -0.25, "encoder": 0.87 * n ** (-5 / 16), "decoder": (12 * n) ** -0.25}[stack]
    if not alone:  # Glorot and Bengio 2010
        return beta * math.sqrt(2 / sum(shape))
    adds_to_the_stream = config.family == "decoder_only" and matrix in ("w_o", "w_2")  # Radford et al. 2019, §2.3
    return beta * NARROW / (math.sqrt(2 * n) if adds_to_the_stream else 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_matrix_is_drawn_with_its_deviation_whatever_the_parts(family: str) -> None:
    """Each pair of parts comes together in some model. One by one within the error of a sample, and together within a
    hundredth; biases are 0 where papers say so.
    """
    sizes = {"vocab_size": 101, "d_model": 42, "n_heads": 3, "n_layers": 3, "d_ff": 53, "max_len": 37}
    together: dict[tuple[str, str], list[Tensor]] = {}
    positions, norms, places, activations, *_ = CHOICES.values()
    for n, m in itertools.product(range(len(positions)), range(len(activations))):
        parts = positions[n], norms[(n + m // 2) % 2], places[(n + m) % 4], activations[m]
        named = dict(zip(CHOICES, parts, strict=False))
        config = ModelConfig(**sizes, **named, family=family)  # type: ignore[arg-type]
        model = build_network(config)
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                parted = weight.detach() / drawn(config, name, weight.shape)
                assert parted.std().item() == pytest.approx(1, abs=5 / math.sqrt(2 * weight.numel())), (parts, name)
                together.setdefault((config.norm_place, name.split(".")[-2]), []).append(parted.flatten())
                if family == "encoder_decoder" and name.split(".")[0] != "embedding" and ".positions." not in name:
                    assert parted.abs().max() <= math.sqrt(3) * 1.0001, "uniform"
            elif name.endswith("bias") and family != "encoder_decoder":
                assert not weight.any(), name
        alphas = {
            stack: deep_alphas(getattr(model, stack)) for stack in ("encoder", "decoder") if hasattr(model, stack)
        }
        if config.norm_place == "deep":  # three layers
            both = {"encoder": 0.81 * 3 ** (5 / 16), "decoder": 9**0.25}
            for stack, found in alphas.items():
                assert found == pytest.approx([both[stack] if len(alphas) == 2 else 6**0.25] * len(found)), stack
        else:
            assert not any(alphas.values())
    for what, drawn_of_all in together.items():
        whole = torch.cat(drawn_of_all)
        assert whole.std().item() == pytest.approx(1, abs=max(0.01, 4 / math.sqrt(2 * len(whole)))), what


def deep_alphas(stack: nn.Module) -> list[float]:
    return [part.alpha for part in stack.modules() if isinstance(part, DeepNorm)]


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
