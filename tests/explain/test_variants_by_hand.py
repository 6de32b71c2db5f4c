"""Steps of parts that no shipped model has, such as another activation or norm: in full, worked out by hand."""

from types import MappingProxyType

import numpy as np
import pytest

from explain import Numbers, arrays, worked
from model.anatomy import Anatomy, Made

READS = {"one": np.array([[-1.0, 1.0], [3.0, 4.0]]), "two": np.array([[2.0, 2.0], [2.0, -3.0]])}
QUERIES = np.zeros((2, 3, 4))
QUERIES[1, 2] = 1, 2, 3, 4
ROOT_MEAN_SQUARE = (
    "RMS norm: divide dimension 2 of the row by the root of the mean square of its 2 numbers, then times γ, a learned "
    "number of this dimension."
)


def numbers(operation: str, value: float, index: tuple[int, ...], reads: dict[str, np.ndarray]) -> Numbers:
    """One tensor, made by an operation of those that it reads; of its cells one has its value."""
    made = np.zeros(next(iter(reads.values())).shape)
    made[index] = value
    weights = {"norm.weight": np.array([1.0, 2.0])} if "norm" in operation else {}
    anatomy = Anatomy((), MappingProxyType({"made": Made(operation, tuple(reads), tuple(weights))}), {})
    return Numbers({**reads, "made": made}, weights, anatomy)


def rotated(pair: str, angle: str) -> str:
    return f"Position 2 (counted from 0) turns dimensions {pair} together by the angle {angle}, in radians."


@pytest.mark.parametrize(
    ("operation", "index", "says", "formula"),
    [
        (
            "rotate",
            (1, 2, 0),
            rotated("1 and 2", "2 / 10000^(0/4)"),
            r"1.0000\cdot\cos(2.0000) - 2.0000\cdot\sin(2.0000) = -2.2347",
        ),
        (
            "rotate",
            (1, 2, 3),
            rotated("3 and 4", "2 / 10000^(2/4)"),
            r"3.0000\cdot\sin(0.0200) + 4.0000\cdot\cos(0.0200) = 4.0592",
        ),
        (
            "silu",
            (0, 0),
            "Swish: the number times its own sigmoid. Large numbers pass, very negative ones become nearly 0.",
            r"\frac{-1.0000}{1 + e^{1.0000}} = -0.2689",
        ),
        (
            "gelu",
            (0, 1),
            "GELU: the number times Φ of it, the share of a standard normal distribution that lies below it.",
            r"1.0000\cdot\Phi(1.0000) = 1.0000\cdot 0.8413 = 0.8413",
        ),
        (
            "gelu_tanh",
            (0, 1),
            "GELU, with a hyperbolic tangent in place of the exact share.",
            r"0.5\cdot 1.0000\cdot(1 + \tanh(0.8336)) = 0.8412",
        ),
        (
            "multiply",
            (1, 1),
            "The gate decides how much of the value passes: the two are multiplied, number by number.",
            r"4.0000\cdot (-3.0000) = -12.0000",
        ),
        (
            "rms_norm",
            (1, 1),
            ROOT_MEAN_SQUARE,
            r"2.0000\cdot\frac{4.0000}{3.5355} = 2.2627",
        ),
        ("copy", (1, 0), "Nothing is added here: the number stays as it is.", r"3.0000 \to 3.0000"),
    ],
)
def test_a_step(operation: str, index: tuple[int, ...], says: str, formula: str) -> None:
    value = float(formula.split()[-1])
    reads = {"one": QUERIES} if operation == "rotate" else READS if operation == "multiply" else {"one": READS["one"]}
    known = numbers(operation, value, index, reads)
    step = worked(known, "made", index)
    assert (step.says, step.formula) == (says, formula)
    *before, last = step.snippet.splitlines()
    scope = {"np": np, "t": arrays(known, [step])}
    exec("\n".join(before), scope)
    assert eval(last, scope) == pytest.approx(value, abs=6e-5)
