"""The product that most of a model's work goes into: rows times a transposed weight matrix."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from model.part import Part


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
    product: Tensor = _times_copy(x, copy)
    return product if bias is None else product + bias


_times_copy = torch.ops.quantized.linear_dynamic_fp16.default  # multiplies and adds in 32 bits


def _in_16_bits(weight: Any) -> Any:
    """A frozen matrix as `_times_copy` wants it; None if 16 bits would change it, or this machine has no such product.

    It is kept on the matrix, with the version of the numbers it was made of.
    """
    if weight.is_inference():  # such a tensor counts no versions
        return None
    version, copy = getattr(weight, "in_16_bits", (None, None))
    if version != weight._version:
        copy = None
        can = weight.is_cpu and not weight.requires_grad and torch.backends.quantized.engine in ("x86", "fbgemm")
        if can and weight.dtype == torch.float32 and torch.equal(weight.half().float(), weight):
            copy = torch.ops.quantized.linear_prepack_fp16(weight.contiguous(), None)
        weight.in_16_bits = weight._version, copy
    return copy


class Linear(Part, nn.Linear):
    """torch's linear layer, xWᵀ + b.

    Args:    x (…,T,k)
    Returns: (…,T,d)
    """

    def forward(self, x: Tensor) -> Tensor:
        return times_transposed(x, self.weight, self.bias)
