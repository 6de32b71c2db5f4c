"""How a sub-layer joins the stream: after, before and around a norm; dropout falls on the sub-layer alone."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from model.parts.residual import DeepNorm, PostNorm, PreNorm, SandwichNorm, deep_norm_constants
from model.tap import Recorder

B, T, D_MODEL = 2, 5, 42


def random_norm() -> nn.LayerNorm:
    """With a γ and a β of its own, so that one norm cannot stand in for another."""
    norm = nn.LayerNorm(D_MODEL)
    nn.init.normal_(norm.weight, mean=1, std=0.5)
    nn.init.normal_(norm.bias)
    return norm


def by_hand(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    """Ba et al. 2016, Equation 4: (x − μ)/√(σ² + ε) · γ + β."""
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * norm.weight + norm.bias


def triple(x: Tensor) -> Tensor:
    """A sub-layer that tells what it read."""
    return 3 * x + 1


def test_post_norm_by_hand() -> None:
    norm, x, recorder = random_norm(), torch.randn(B, T, D_MODEL), Recorder()
    result = PostNorm(norm)(x, triple, recorder)
    assert_close(recorder.tensors["sum"], x + triple(x))
    assert_close(result, by_hand(norm, x + triple(x)), atol=1e-5, rtol=1e-5)
    assert result is recorder.tensors["output"]


def test_pre_norm_by_hand() -> None:
    norm, x, recorder = random_norm(), torch.randn(B, T, D_MODEL), Recorder()
    result = PreNorm(norm)(x, triple, recorder)
    assert_close(recorder.tensors["normed"], by_hand(norm, x), atol=1e-5, rtol=1e-5)
    assert_close(result, x + triple(by_hand(norm, x)), atol=1e-5, rtol=1e-5)
    assert result is recorder.tensors["output"]


def test_sandwich_norm_by_hand() -> None:
    before, after, x, recorder = random_norm(), random_norm(), torch.randn(B, T, D_MODEL), Recorder()
    result = SandwichNorm(before, after)(x, triple, recorder)
    renormed = by_hand(after, triple(by_hand(before, x)))
    assert_close(recorder.tensors["normed"], by_hand(before, x), atol=1e-5, rtol=1e-5)
    assert_close(recorder.tensors["renormed"], renormed, atol=1e-4, rtol=1e-4)
    assert_close(result, x + renormed, atol=1e-4, rtol=1e-4)


def test_deep_norm_by_hand() -> None:
    norm, x, recorder = random_norm(), torch.randn(B, T, D_MODEL), Recorder()
    result = DeepNorm(norm, 1.7)(x, triple, recorder)
    assert_close(recorder.tensors["sum"], 1.7 * x + triple(x))
    assert_close(result, by_hand(norm, 1.7 * x + triple(x)), atol=1e-5, rtol=1e-5)
    assert result is recorder.tensors["output"]


@pytest.mark.parametrize(
    ("n_encoder", "n_decoder", "encoder", "decoder"),
    [
        # N⁴M = 2⁵ and 3M = 6, 12M = 24, worked out by hand: 2^(5/16) = 1.2419, 6^(1/4) = 1.5651, 24^(1/4) = 2.2134.
        (2, 2, (1.0059, 0.7005), (1.5651, 0.4518)),
        # Here N⁴M = 2⁴·27 = 432 and 432^(1/16) = 1.4612; 3M = 81 = 3⁴; 12M = 324 and 324^(1/4) = 4.2426.
        (2, 27, (1.1836, 0.5954), (3.0, 0.2357)),
    ],
)
def test_alpha_and_beta_by_hand(
    n_encoder: int, n_decoder: int, encoder: tuple[float, float], decoder: tuple[float, float]
) -> None:
    """Wang et al. 2022, Figure 2: 0.81(N⁴M)^(1/16) and 0.87(N⁴M)^(−1/16); (3M)^(1/4) and (12M)^(−1/4)."""
    ours = deep_norm_constants(n_encoder, n_decoder)
    assert ours[0] == pytest.approx(encoder, abs=1e-4)
    assert ours[1] == pytest.approx(decoder, abs=1e-4)


KINDS = (
    lambda dropout: PostNorm(nn.Identity(), dropout),
    lambda dropout: PreNorm(nn.Identity(), dropout),
    lambda dropout: SandwichNorm(nn.Identity(), nn.Identity(), dropout),
    lambda dropout: DeepNorm(nn.Identity(), 1.0, dropout),
)


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_takes_the_sublayers_part_and_never_the_streams(kind: Callable[[float], nn.Module]) -> None:
    """What is left of 1 is scaled up to 1 / (1 − 0.25); a quarter of it is gone; in evaluation all is there."""
    residual, x = kind(0.25), torch.full((50, 40, D_MODEL), 7.0)
    joined = residual(x, torch.ones_like)
    assert joined.unique().tolist() == pytest.approx([7, 7 + 4 / 3])
    assert (joined == 7).float().mean().item() == pytest.approx(0.25, abs=0.01)
    assert (residual.eval()(x, torch.ones_like) == 8).all()


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_rate_nothing_is_dropped(kind: Callable[[float], nn.Module]) -> None:
    x = torch.randn(B, T, D_MODEL)
    assert_close(kind(0.0)(x, torch.zeros_like), x)


@pytest.mark.parametrize("residual", [PostNorm, PreNorm])
def test_dropout_is_off_unless_asked_for(residual: type[PostNorm] | type[PreNorm]) -> None:
    assert residual(nn.Identity()).dropout.p == 0
    assert SandwichNorm(nn.Identity(), nn.Identity()).dropout.p == DeepNorm(nn.Identity(), 2.0).dropout.p == 0
