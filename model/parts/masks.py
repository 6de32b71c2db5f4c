"""Which position may attend to which. Boolean; True = may attend."""

import torch
from torch import Tensor


def pad_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Let nobody attend to padding.

    Args:    ids (B,S) integer
    Returns: (B,1,1,S), broadcast over heads and queries
    Source:  implied by Vaswani et al. 2017, §5.1 (batches of sentences of unequal length)
    """
    return (ids != pad_id)[:, None, None, :]


def causal_mask(length: int, device: torch.device | None = None, start: int = 0) -> Tensor:
    """Let position i attend to positions 0…i only: the lower triangle, or its rows from `start` on.

    Returns: (1,1,T,T), of which the first `start` rows are left out
    Source:  Vaswani et al. 2017, §3.2.3, third bullet
    """
    return torch.ones(1, 1, length - start, length, dtype=torch.bool, device=device).tril(start)
