"""The product that most of a model's work goes into: rows times a transposed weight matrix."""

import functools
import math
import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from model.parts.base_module import Part


def times_transposed(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """xWᵀ + b.

    Where nothing is learned it reads the weights from a copy in 16 bits, if that holds exactly the same numbers: a
    product with few rows takes as long as it takes to read the weights.

    Args:    x (…,T,k); weight (d,k); bias (d)
    Returns: (…,T,d)
    """
    copy = _in_16_bits(weight) if torch.is_inference_mode_enabled() else None
    if copy is None:
        return functional.linear(x, weight, bias)
    return torch.fbgemm_linear_fp16_weight_fp32_activation(x, copy, bias)  # multiplies and adds in 32 bits


def _in_16_bits(weight: Any) -> Any:
    """A frozen matrix as the product takes it; None if 16 bits would change it, or there is no such product.

    It is kept on the matrix, with the version of the numbers it was made of.
    """
    if weight.is_inference():  # such a tensor counts no versions
        return None
    version, copy = getattr(weight, "in_16_bits", (None, None))
    if version != weight._version:
        copy = None
        if _fits_16_bits(weight):
            copy = torch.fbgemm_pack_gemm_matrix_fp16(weight)
        weight.in_16_bits = weight._version, copy
    return copy


def _fits_16_bits(weight: Tensor) -> bool:
    can = weight.is_cpu and weight.dtype == torch.float32 and not weight.requires_grad and has_product()
    return can and torch.equal(weight.half().float(), weight)


def bytes_in_16_bits(weight: Tensor) -> int:
    """Memory that a matrix's copy takes once it has been multiplied with, in bytes; 0 for what is never copied.

    The copy is laid out in blocks and filled up with zeros: d (out) to whole sixteens, k (in) to whole 512s. So a
    matrix with k = 256 takes twice what its numbers need.
    """
    if weight.dim() != 2 or not _fits_16_bits(weight):
        return 0
    d, k = weight.shape
    return 2 * (math.ceil(d / 16) * 16) * (math.ceil(k / 512) * 512)


@functools.cache
def has_product() -> bool:
    """Whether this processor and this torch multiply with weights in 16 bits.

    torch warns once that a later version will not; then, as on other processors, all is the same but takes longer.
    """
    one = torch.ones(1, 1)
    try:
        with warnings.catch_warnings(action="ignore"):
            torch.fbgemm_linear_fp16_weight_fp32_activation(one, torch.fbgemm_pack_gemm_matrix_fp16(one), None)
    except (AttributeError, RuntimeError):
        return False
    return True


class Linear(Part, nn.Linear):
    """torch's linear layer, xWᵀ + b.

    Args:    x (…,T,k)
    Returns: (…,T,d)
    """

    def forward(self, x: Tensor) -> Tensor:
        return times_transposed(x, self.weight, self.bias)
