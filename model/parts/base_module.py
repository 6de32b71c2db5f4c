"""What the parts of a model have in common: they are torch's modules, called without detours.

A step of decoding calls some fifty parts, each for little work: there the detours of a call count.
"""

from typing import Any

from torch import Tensor, nn


class Part(nn.Module):
    """A module whose call is its `forward`. torch's own call looks for hooks first; here taps do their work."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)


class Dropout(Part, nn.Dropout):
    """torch's dropout, which while nothing is learned returns its input at once.

    Args:    x (any shape)
    Returns: x; in training some of its numbers 0 and the others larger, so that the mean stays
    Source:  Srivastava et al. 2014, §4; Vaswani et al. 2017, §5.4
    """

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) if self.training else x
