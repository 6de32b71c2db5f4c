"""Attention within windows of a picture, which shift from layer to layer (Liu et al. 2021, Swin Transformer)."""

import torch
from torch import Tensor

from model.anatomy.describe import Scribe, describe
from model.decoding.cache import NULL_CACHE, Cache
from model.parts.attention import (
    MultiHeadAttention,
    describe_joined,
    describe_projections,
    scaled_dot_product_attention,
)
from model.parts.positions import GridBias
from model.tap import Tap, no_tap


def into_windows(x: Tensor, side: int, window: int, shift: int) -> Tensor:
    """Rows of a square of patches, put in the order of windows, once the square is rolled up and left.

    What leaves at the top comes in at the bottom, so that shifted windows are as many and as large as others.

    Args:    x (B,side²,C), row by row; window: patches to its side, which divides that of the square; shift (patches)
    Returns: (B,side²,C): the patches of the first window, row by row, then those of the next
    Source:  Liu et al. 2021, §3.2, "Efficient batch computation for shifted configuration", Figure 4
    """
    rolled = x.unflatten(1, (side, side)).roll((-shift, -shift), (1, 2))
    return rolled.unflatten(2, (-1, window)).unflatten(1, (-1, window)).transpose(2, 3).flatten(1, 4)


def out_of_windows(x: Tensor, side: int, window: int, shift: int) -> Tensor:
    """The inverse of `into_windows`."""
    across = side // window
    rolled = x.unflatten(1, (across, across, window, window)).transpose(2, 3).flatten(3, 4).flatten(1, 2)
    return rolled.roll((shift, shift), (1, 2)).flatten(1, 2)


def neighbours(side: int, window: int, shift: int) -> Tensor:
    """Which patches of a window may look at each other: not those that the roll alone has put side by side.

    Args:    as of `into_windows`
    Returns: (windows,window²,window²), True = may attend
    Source:  Liu et al. 2021, §3.2. Differs: none
    """
    is_rolled = (torch.arange(side) < shift).long()
    regions = 2 * is_rolled[:, None] + is_rolled  # which of its sides a patch has left by
    parted = into_windows(regions.reshape(1, -1, 1), side, window, shift).reshape(-1, window**2)
    return parted[:, :, None] == parted[:, None]


class ShiftedWindowAttention(MultiHeadAttention):
    """Attention of each patch to those of its window alone. The rows of all that is tapped before `whole` stand in the
    order of the windows, and a column is a place within one.

    Args:    x, memory (B,T,d_model), the same tensor, T = side²; mask and cache have no use here
    Returns: (B,T,d_model)
    Taps:    parted (B,T,d_model); q, k, v (B,H,T,d_k); those of positions; if windows shift, mask (T,M²), True = may
             attend; products, scaled, biased, scores, weights (B,H,T,M²); heads (B,H,T,d_k); concat, output, whole
             (B,T,d_model)
    Source:  Liu et al. 2021 (Swin), §3.2, Eq. 4. Differs: no biases in the four matrices, no dropout
    """

    mask: Tensor

    def __init__(self, d_model: int, n_heads: int, side: int, window: int, shift: int) -> None:
        super().__init__(d_model, n_heads, GridBias(n_heads, window))
        self.cut = side, window, shift
        self.register_buffer("mask", neighbours(*self.cut), persistent=False)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, tap: Tap) -> Tensor:
        _, window, shift = self.cut
        places = window**2

        def in_rows(name: str, value: Tensor) -> Tensor:
            return tap(name, value.flatten(2, 3)).unflatten(2, (-1, places))

        q, k, v = (x.unflatten(2, (-1, places)) for x in (q, k, v))  # (B,H,windows,M²,d_k)
        bias = self.positions.bias(places, places, tap)
        assert bias is not None
        seen = tap("mask", self.mask.flatten(0, 1)).unflatten(0, (-1, places)) if shift else None
        return scaled_dot_product_attention(q, k, v, seen, in_rows, bias[:, :, None]).flatten(2, 3)

    def forward(
        self, x: Tensor, memory: Tensor, mask: Tensor | None = None, cache: Cache = NULL_CACHE, tap: Tap = no_tap
    ) -> Tensor:
        parted = tap("parted", into_windows(x, *self.cut))
        return tap("whole", out_of_windows(super().forward(parted, parted, None, cache, tap), *self.cut))


@describe.register
def _(module: ShiftedWindowAttention, scribe: Scribe, x: str, memory: str, mask: str = "") -> str:
    cut, (_, window, shift) = tuple(map(float, module.cut)), module.cut
    rows, grid = scribe.tokens, ("head", scribe.tokens, "place")
    parted = scribe.made("parted", "into_windows", x, axes=(rows, "d_model"), constants=cut)
    q, k, v = describe_projections(module, scribe, parted, parted)
    products = scribe.made("products", "dot", q, k, axes=grid, constants=(window**2,))
    scaled = scribe.made("scaled", "divide_by_sqrt_d_k", products, q, axes=grid, part="scale")
    biased = describe(module.positions, scribe.of_part("positions", "biased"), scaled)
    if shift:
        seen = scribe.made("mask", "window_mask", axes=(rows, "place"))
        scores = scribe.made("scores", "mask_of_windows", biased, seen, axes=grid, constants=cut)
    else:
        scores = scribe.made("scores", "copy", biased, axes=grid)
    weights = scribe.made("weights", "softmax", scores, axes=grid)
    heads = scribe.made("heads", "weighted_sum", weights, v, axes=(*grid[:2], "d_k"), constants=(window**2,))
    scribe.attends(parted, parted, mask, module.n_heads, module.d_k)
    return scribe.made("whole", "out_of_windows", describe_joined(scribe, heads), axes=(rows, "d_model"), constants=cut)
