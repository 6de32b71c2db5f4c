"""The curves of activation functions, and their slopes."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from model.files.loaded_model import Array

CURVES: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda z: functional.gelu(z, approximate="tanh"),
    "silu": functional.silu,
}
GATES = {"swiglu": "silu", "geglu": "gelu"}  # networks with a gate, and the curve that the gate is


def curve(kind: str, z: Array) -> tuple[Array, Array]:
    """What an activation makes of numbers z (N), and its slope there (N): by how much it grows for each step of z.

    Args: kind: a name in CURVES or in GATES
    Raises: KeyError
    """
    inputs = torch.tensor(z, dtype=torch.float64, requires_grad=True)
    values = CURVES[GATES.get(kind, kind)](inputs)
    (slopes,) = torch.autograd.grad(values.sum(), inputs)
    return values.detach().numpy(), slopes.numpy()
