"""Adapting a trained model with few new numbers: low-rank matrices beside its own (LoRA), or other biases (BitFit)."""

import copy
import math
from collections.abc import Iterable
from typing import TypeVar

import torch
from torch import Tensor, nn

from model.tap import Tap, no_tap

Network = TypeVar("Network", bound=nn.Module)
ALPHA = 16.0  # of every adapter of this app


class RankError(ValueError):
    """A rank that nothing can be learned with; the message says why, in one sentence."""


def check_rank(rank: int, d: int, k: int) -> None:
    """Raises: RankError unless a change of this rank can be learned for a matrix of d rows and k columns"""
    if rank < 1:
        raise RankError(f"With rank {rank}, A and B hold no numbers, so nothing could be learned: take 1 or more.")
    if rank > min(d, k):
        raise RankError(f"A matrix of {d} rows and {k} columns has rank {min(d, k)} at most: take no more than that.")


class LowRank(nn.Module):
    """W₀x + (α/r)·BAx: W₀ is frozen, A (r,k) and B (d,r) learn. B starts at 0: at first nothing has changed.

    Args:    x (…,k)
    Returns: (…,d)
    Taps:    down (…,r): Ax; up (…,d): BAx; frozen (…,d): W₀x; sum (…,d)
    Raises:  RankError if the rank is below 1 or above the smaller side of W₀
    Source:  Hu et al. 2021, §4.1, Eq. 3. Differs: A starts uniform, as torch fills a linear layer, where the paper
             draws from a normal distribution; the authors' own code and peft do the same
    """

    def __init__(self, frozen: nn.Linear, rank: int, alpha: float, generator: torch.Generator | None = None) -> None:
        super().__init__()
        d, k = frozen.weight.shape
        check_rank(rank, d, k)
        self.frozen = frozen.requires_grad_(False)
        self.scale = alpha / rank
        self.down = nn.Linear(k, rank, bias=False)  # A
        self.up = nn.Linear(rank, d, bias=False)  # B
        nn.init.kaiming_uniform_(self.down.weight, a=math.sqrt(5), generator=generator)
        nn.init.zeros_(self.up.weight)
        for thin in (self.down, self.up):  # drawn on the CPU, so that they are the same on every machine
            thin.to(frozen.weight.device)

    def forward(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        down = tap("down", self.down(x))  # (…,r)
        up = tap("up", self.up(down))  # (…,d)
        return tap("sum", tap("frozen", self.frozen(x)) + self.scale * up)

    def change(self) -> Tensor:
        """What is added to W₀: (α/r)·BA (d,k)."""
        return self.scale * (self.up.weight @ self.down.weight)

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """One plain layer with the weights W₀ + (α/r)·BA, which takes no longer than W₀ alone."""
        layer = copy.deepcopy(self.frozen)
        layer.weight += self.change()
        return layer


def sharing_copy(network: Network) -> Network:
    """A copy of the modules. The weights are the network's own, until one is replaced."""
    return copy.deepcopy(network, {id(tensor): tensor for tensor in (*network.parameters(), *network.buffers())})


def with_low_rank(network: Network, names: Iterable[str], rank: int, alpha: float, seed: int = 0) -> Network:
    """A copy of a frozen network with low-rank matrices beside the linear layers of these names; they alone learn.

    The copy shares the network's weights. Raises: RankError
    """
    adapted, generator = sharing_copy(network), torch.Generator().manual_seed(seed)
    for name in names:
        layer = adapted.get_submodule(name)
        assert isinstance(layer, nn.Linear)
        adapted.set_submodule(name, LowRank(layer, rank, alpha, generator))
    return adapted


def with_merged(adapted: Network) -> Network:
    """A copy in which every low-rank layer has become one plain matrix."""
    merged = sharing_copy(adapted)
    for name, module in adapted.named_modules():
        if isinstance(module, LowRank):
            merged.set_submodule(name, module.merged())
    return merged


def with_own_biases(network: Network) -> Network:
    """A copy of a frozen network whose biases are its own; they alone learn. All else it shares with the network.

    Source: Ben Zaken et al. 2021 (BitFit), §3. Differs: none
    """
    adapted = sharing_copy(network)
    for module in adapted.modules():
        bias = getattr(module, "bias", None)
        if isinstance(bias, nn.Parameter):
            module.register_parameter("bias", nn.Parameter(bias.detach().clone()))
    return adapted


def learning(network: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that learn, by name."""
    return {name: value for name, value in network.named_parameters() if value.requires_grad}
