"""Mixture of experts against transformers' Mixtral with the same weights; balance by hand."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import MixtralConfig
from transformers.models.mixtral.modeling_mixtral import MixtralTopKRouter

from model.parts.experts import MixtureOfExperts, balance_loss, largest
from model.parts.feed_forward import FeedForward
from model.tap import Recorder

D_MODEL, N_EXPERTS = 12, 5
X = torch.randn(2, 7, D_MODEL)


def mixture(asked: int) -> MixtureOfExperts:
    return MixtureOfExperts(D_MODEL, [FeedForward(D_MODEL, 17) for _ in range(N_EXPERTS)], asked)


def test_the_two_largest_shares_are_mixtrals() -> None:
    config = MixtralConfig(hidden_size=D_MODEL, num_local_experts=N_EXPERTS, num_experts_per_tok=2)
    theirs, own, recorder = MixtralTopKRouter(config), mixture(2), Recorder()
    with torch.no_grad():
        theirs.weight.copy_(own.router.weight)
        own(X, recorder)
        _, scores, chosen = theirs(X)
    gates = recorder.tensors["gates"].flatten(0, 1)
    assert_close(gates, torch.zeros_like(gates).scatter(-1, chosen, scores), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("asked", [1, 2])
def test_each_row_gets_what_its_experts_say(asked: int) -> None:
    experts, recorder = mixture(asked), Recorder()
    output, shares = experts(X, recorder), recorder.tensors["shares"]
    for b, t in torch.cartesian_prod(torch.arange(2), torch.arange(7)).tolist():
        row = shares[b, t]
        best = sorted(range(N_EXPERTS), key=lambda e, row=row: -row[e].item())[:asked]  # type: ignore[misc]
        whole = row[best].sum() if asked > 1 else 1.0
        expected = sum((row[e] / whole * experts.experts[e](X[b : b + 1, t : t + 1])[0, 0] for e in best), Tensor([0]))
        assert_close(output[b, t], expected, atol=1e-6, rtol=1e-5)


def test_an_expert_computes_the_rows_that_ask_it_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    forward = FeedForward.forward
    monkeypatch.setattr(FeedForward, "forward", lambda self, x: rows.append(len(x)) or forward(self, x))
    mixture(1)(X)
    assert 0 < len(rows) <= N_EXPERTS
    assert all(rows), "one that nobody asks rests"
    assert sum(rows) == 14


def test_the_router_learns_by_the_share_it_gave() -> None:
    for asked in (1, 2):
        experts = mixture(asked)
        experts(X).square().sum().backward()
        assert experts.router.weight.grad is not None
        assert experts.router.weight.grad.abs().sum() > 0


def test_balance_by_hand() -> None:
    """3 of 4 rows ask the first, whose shares have the mean 0.65: 2 · (0.75 · 0.65 + 0.25 · 0.35) = 1.15."""
    shares = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7]])
    assert balance_loss(shares, largest(shares, 1)).item() == pytest.approx(1.15)
    assert balance_loss(shares, largest(shares, 2)).item() == pytest.approx(1.0)
    equal = torch.eye(4)
    assert balance_loss(equal, equal).item() == pytest.approx(1.0)
    assert balance_loss(equal[:1], equal[:1]).item() == pytest.approx(4.0)


def test_more_experts_than_there_are_cannot_be_asked() -> None:
    for asked in (0, 3):
        with pytest.raises(ValueError, match=f"^{asked} of 2 experts cannot be asked$"):
            MixtureOfExperts(D_MODEL, [nn.Identity(), nn.Identity()], asked)
