"""How a sub-layer joins the stream: after, before and around a norm; dropout falls on the sub-layer alone."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from model.parts.residual import DeepNorm, PostNorm, PreNorm, SandwichNorm, deep_norm_constants

B, T, D_MODEL = 2, 5, 42


def test_alpha_and_beta_by_hand() -> None:
    """Wang et al. 2022, Figure 2: 0.81(N⁴M)^(1/16) and 0.87(N⁴M)^(−1/16); (3M)^(1/4) and (12M)^(−1/4).

    Here N⁴M = 2⁴·27 = 432 and 432^(1/16) = 1.4612; 3M = 81 = 3⁴; 12M = 324 and 324^(1/4) = 4.2426.
    """
    encoder, decoder = deep_norm_constants(2, 27)
    assert encoder == pytest.approx((1.1836, 0.5954), abs=1e-4)
    assert decoder == pytest.approx((3.0, 0.2357), abs=1e-4)


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
