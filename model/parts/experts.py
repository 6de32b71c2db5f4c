"""Mixture of experts: several feed-forward networks of which each row asks one or two."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from model.anatomy.describe import Scribe, describe
from model.parts.base_module import Part
from model.parts.fp16_matmul import Linear
from model.tap import Tap, no_tap


class MixtureOfExperts(Part):
    """The network of the expert that a router finds most fitting for a row, times the router's share for it.

    With two experts a row, their shares are made to add up to 1. With one, the share stays as it is: it is all that
    tells the router, by its gradient, how good its choice was.

    Args:    x (B,T,d_model)
    Returns: (B,T,d_model); among what is tapped, gates and answers are 0 for experts that a row does not ask
    Taps:    router, shares, gates (B,T,E); answers (B,T,E,d_model); output (B,T,d_model)
    Raises:  ValueError if more experts are to be asked than there are
    Source:  one expert: Fedus et al. 2021 (Switch), §2.1, Eq. 1 and 2; two: Jiang et al. 2024 (Mixtral), §2.1.
             Differs: no expert turns rows away for being full
    """

    def __init__(self, d_model: int, experts: Sequence[nn.Module], asked: int = 1) -> None:
        super().__init__()
        if not 1 <= asked <= len(experts):
            raise ValueError(f"{asked} of {len(experts)} experts cannot be asked")
        self.asked = asked
        self.router = Linear(d_model, len(experts), bias=False)
        self.experts = nn.ModuleList(experts)

    def forward(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        shares = tap("shares", tap("router", self.router(x)).softmax(-1))  # (B,T,E)
        gates = tap("gates", largest(shares, self.asked))
        each = x.new_zeros(*gates.shape, x.size(-1))  # (B,T,E,d_model)
        for n, expert in enumerate(self.experts):
            rows = gates[..., n] > 0  # (B,T): an expert computes those that ask it, and no others
            if rows.any():
                each[rows, n] = expert(x[rows]).to(each)
        each = tap("answers", each)
        return tap("output", (gates[..., None] * each).sum(-2))


def largest(shares: Tensor, asked: int) -> Tensor:
    """The `asked` largest shares of each row (…,E), the others 0; if there are several, made to add up to 1."""
    top = shares.topk(asked, -1)
    values = top.values / top.values.sum(-1, keepdim=True) if asked > 1 else top.values
    return torch.zeros_like(shares).scatter(-1, top.indices, values)


def balance_loss(shares: Tensor, gates: Tensor) -> Tensor:
    """What grows when few experts do all the work: E · Σ f_e · P_e, which is 1 if all do the same.

    f_e is the part of the rows that ask expert e, P_e the mean of its share. f has no gradient; P has.

    Args:    shares, gates (N,E), of the rows that count
    Returns: a scalar, from 1 on for a router that prefers whom it asks
    Source:  Fedus et al. 2021, §2.2, Eq. 4 to 6. Differs: f counts two asked experts as two halves
    """
    asked = (gates > 0).to(shares)
    f = (asked / asked.sum(-1, keepdim=True)).mean(0)
    return shares.size(-1) * (f * shares.mean(0)).sum()


@describe.register
def _(module: MixtureOfExperts, scribe: Scribe, x: str) -> str:
    experts = scribe.tokens, "experts"
    router = scribe.made("router", "linear", x, weights=("router.weight",), axes=experts)
    shares = scribe.made("shares", "softmax_of_scores", router, axes=experts)
    gates = scribe.made("gates", "keep_largest", shares, axes=experts, constants=(float(module.asked),))
    names = [f"experts.{n}.{name}" for n, expert in enumerate(module.experts) for name, _ in expert.named_parameters()]
    answers = scribe.made("answers", "ask_expert", x, gates, weights=tuple(names), axes=(*experts, "d_model"))
    return scribe.made("output", "sum_of_experts", gates, answers)
