"""Low-rank adaptation: the same numbers as another implementation, the same model when merged, nothing else touched."""

import pytest
import torch
from torch import nn

from model.adapting.lora import LowRank, RankError, learning, sharing_copy, with_low_rank, with_merged, with_own_biases
from model.build import build_model
from model.tap import Recorder
from tests.small import CONFIG, SOURCE, TARGET, random_ids

D, K, R, ALPHA = 13, 7, 3, 5.0
IDS = random_ids(2, SOURCE), random_ids(2, TARGET)
NAMES = ("encoder.layers.0.self_attn.w_q", "decoder.layers.1.cross_attn.w_v")


def layer(rank: int = R) -> LowRank:
    """With a B that is not 0 any more."""
    torch.manual_seed(23)
    made = LowRank(nn.Linear(K, D), rank, ALPHA)
    nn.init.normal_(made.up.weight)
    return made


def small() -> nn.Module:
    torch.manual_seed(23)
    return build_model(CONFIG).eval().requires_grad_(False)


def logits(network: nn.Module) -> torch.Tensor:
    return network(*IDS)


def test_output_gradients_and_merge_agree_with_peft() -> None:
    peft = pytest.importorskip("peft")
    ours, x = layer(), torch.randn(2, 5, K)
    host = nn.Sequential(nn.Linear(K, D))
    host[0].load_state_dict(ours.frozen.state_dict())
    config = peft.LoraConfig(r=R, lora_alpha=ALPHA, target_modules=["0"], lora_dropout=0.0)
    theirs = peft.get_peft_model(host, config).base_model.model[0]
    down, up = theirs.lora_A["default"].weight, theirs.lora_B["default"].weight
    assert not up.any()
    with torch.no_grad():
        down.copy_(ours.down.weight)
        up.copy_(ours.up.weight)
    assert torch.allclose(ours(x), theirs(x), atol=1e-6)
    for one in (ours, theirs):
        one(x).square().sum().backward()
    assert torch.allclose(ours.down.weight.grad, down.grad, rtol=1e-5)
    assert torch.allclose(ours.up.weight.grad, up.grad, rtol=1e-5)
    theirs.merge()
    assert torch.allclose(ours.merged().weight, theirs.base_layer.weight, atol=1e-6)


def test_the_sum_is_the_frozen_layer_and_the_product_of_two_thin_matrices() -> None:
    ours, x, recorder = layer(), torch.randn(2, 5, K), Recorder()
    output = ours(x, recorder)
    taps = recorder.tensors
    assert {name: tuple(value.shape[2:]) for name, value in taps.items()} == {
        "down": (R,), "up": (D,), "frozen": (D,), "sum": (D,)
    }  # fmt: skip
    by_hand = ours.frozen(x) + ALPHA / R * x @ (ours.up.weight @ ours.down.weight).T
    assert torch.allclose(output, by_hand, atol=1e-5)
    assert torch.linalg.matrix_rank(ours.change()) == R


@pytest.mark.parametrize(
    ("rank", "says"),
    [
        (0, "With rank 0, A and B hold no numbers, so nothing could be learned: take 1 or more."),
        (8, "A matrix of 13 rows and 7 columns has rank 7 at most: take no more than that."),
    ],
)
def test_a_rank_that_cannot_be_is_told_in_one_sentence(rank: int, says: str) -> None:
    with pytest.raises(RankError) as error:
        layer(rank)
    assert str(error.value) == says


def test_at_first_nothing_changes_and_only_the_thin_matrices_learn() -> None:
    network = small()
    adapted = with_low_rank(network, NAMES, R, ALPHA)
    assert torch.equal(logits(adapted), logits(network))
    assert set(learning(adapted)) == {f"{name}.{part}.weight" for name in NAMES for part in ("down", "up")}
    assert not learning(network)
    assert adapted.get_parameter("embedding.matrix.weight") is network.get_parameter("embedding.matrix.weight")


def test_merged_the_model_is_built_as_before_and_computes_the_same() -> None:
    network = small()
    adapted = with_low_rank(network, NAMES, R, ALPHA)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    for name in NAMES:
        nn.init.normal_(adapted.get_parameter(f"{name}.up.weight"), std=0.1)
    merged = with_merged(adapted)
    assert torch.allclose(logits(merged), logits(adapted), atol=1e-5)
    assert not torch.allclose(logits(merged), logits(network), atol=1e-3)
    assert merged.state_dict().keys() == before.keys()
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_with_biases_of_its_own_nothing_else_learns_and_the_model_stays_as_it_is() -> None:
    network = small()
    adapted = with_own_biases(network)
    assert torch.equal(logits(adapted), logits(network))
    names = {name for name, _ in network.named_parameters() if name.endswith(".bias")}
    assert set(learning(adapted)) == names != set()
    same = logits(network)
    with torch.no_grad():
        for bias in learning(adapted).values():
            bias.add_(1.0)
    assert torch.equal(logits(network), same)
    assert not torch.equal(logits(adapted), same)


def test_a_copy_shares_every_weight() -> None:
    network = small()
    assert all(
        one is other for one, other in zip(network.parameters(), sharing_copy(network).parameters(), strict=True)
    )
