"""Steps of parts that no shipped model has, such as another activation or norm: in full, worked out by hand."""

from types import MappingProxyType

import numpy as np
import pytest

from explain import Numbers, arrays, worked
from model.anatomy.structure import Anatomy, Made

READS = {"one": np.array([[-1.0, 1.0], [3.0, 4.0]]), "two": np.array([[2.0, 2.0], [2.0, -3.0]])}
OF_TWO = ("multiply", "add_bias", "add_weighted_residual")
QUERIES = np.zeros((2, 3, 4))
QUERIES[1, 2] = 1, 2, 3, 4
CONSTANTS = {
    "rms_norm": (0.25,),
    "layer_norm": (0.75,),
    "add_weighted_residual": (1.5,),
    "bias_of_distance": (0.5, 0.25),
}
LAYER_NORM = (
    "Layer norm: from dimension 2 of the row take the row's mean, divide by the row's standard deviation (over 2 "
    "dimensions), then times γ, plus β, two learned numbers of this dimension."
)
ROOT_MEAN_SQUARE = (
    "RMS norm: divide dimension 2 of the row by the root of the mean square of its 2 numbers, then times γ, a learned "
    "number of this dimension."
)
DEEP_SUM = (
    "What the sub-layer read (the residual stream), times α = 1.5000, plus what the sub-layer wrote. α belongs to the "
    "depth of the stack."
)
IS_FIXED = "is fixed. Slope times distance is taken off the score."
HIDDEN = "The mask hides it, so there is no number for it; it is given that of distance 0."


def numbers(operation: str, value: float, index: tuple[int, ...], reads: dict[str, np.ndarray]) -> Numbers:
    """One tensor, made by an operation of those that it reads; of its cells one has its value."""
    made = np.zeros(next(iter(reads.values())).shape)
    made[index] = value
    weights = {"norm.weight": np.array([1.0, 2.0])} if "norm" in operation else {}
    weights |= {"norm.bias": np.array([0.5, 1.0])} if operation == "layer_norm" else {}
    constants = CONSTANTS.get(operation, ())
    anatomy = Anatomy((), MappingProxyType({"made": Made(operation, tuple(reads), tuple(weights), (), constants)}), {})
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
            r"2.0000\cdot\frac{4.0000}{3.5707} = 2.2404",
        ),
        (
            "layer_norm",
            (1, 1),
            LAYER_NORM,
            r"2.0000\cdot\frac{4.0000 - 3.5000}{1.0000} + 1.0000 = 2.0000",
        ),
        (
            "add_bias",
            (0, 1),
            "The score plus what the position scheme adds for the distance between query and key.",
            r"1.0000 + 2.0000 = 3.0000",
        ),
        (
            "add_weighted_residual",
            (1, 1),
            DEEP_SUM,
            r"1.5000\cdot 4.0000 + (-3.0000) = 3.0000",
        ),
        (
            "bias_of_distance",
            (1, 0, 2),
            f"Key 3 stands 2 places to the right of query 1. The slope of head 2, 0.2500, {IS_FIXED}",
            r"-0.2500\cdot 2 = -0.5000",
        ),
        (
            "bias_of_distance",
            (0, 2, 1),
            f"Key 2 stands 1 place to the left of query 3. The slope of head 1, 0.5000, {IS_FIXED}",
            r"-0.5000\cdot 1 = -0.5000",
        ),
        ("copy", (1, 0), "Nothing is added here: the number stays as it is.", r"3.0000 \to 3.0000"),
    ],
)
def test_a_step(operation: str, index: tuple[int, ...], says: str, formula: str) -> None:
    value = float(formula.split()[-1])
    reads = {"one": QUERIES} if len(index) == 3 else READS if operation in OF_TWO else {"one": READS["one"]}
    known = numbers(operation, value, index, reads)
    step = worked(known, "made", index)
    assert (step.says, step.formula) == (says, formula)
    *before, last = step.snippet.splitlines()
    scope = {"np": np, "t": arrays(known, [step])}
    exec("\n".join(before), scope)
    assert eval(last, scope) == pytest.approx(value, abs=6e-5)


def of_table(operation: str, index: tuple[int, ...], row: int, constants: tuple[float, ...] = ()) -> str:
    """What is said of a cell that was looked up in a table of 32 rows; the cell and its formula are as they must be."""
    table = np.arange(32 * 3.0).reshape(32, 3)
    head_or_dimension = index[0] if len(index) == 3 else index[1]
    made = np.zeros((2, 120, 120) if len(index) == 3 else (5, 3))
    made[index] = table[row, head_or_dimension]
    anatomy = Anatomy((), MappingProxyType({"made": Made(operation, (), ("table",), (), constants)}), {})
    known = Numbers({"made": made}, {"table": table}, anatomy)
    step = worked(known, "made", index)
    assert eval(step.snippet, {"t": arrays(known, [step])}) == step.value == table[row, head_or_dimension]
    assert step.formula.endswith(f"= {step.value:.4f}")
    return step.says


def test_a_learned_position_is_read_from_the_table() -> None:
    says = "Position 4 has a vector of its own: row 4 of a table that was learned. This is dimension 2 of it."
    assert of_table("learned_position", (3, 1), 3) == says


@pytest.mark.parametrize(
    ("query", "key", "causal", "row", "says"),
    [
        (4, 4, 1, 0, "Query 5 and key 5 stand at the same position. So short a distance has a number to itself."),
        (4, 1, 1, 3, "Key 2 stands 3 places to the left of query 5. So short a distance has a number to itself."),
        (1, 4, 0, 19, "Key 5 stands 3 places to the right of query 2. So short a distance has a number to itself."),
        (20, 6, 0, 9, "Key 7 stands 14 places to the left of query 21. The distances from 12 to 15 share one number."),
        (
            118,
            0,
            1,
            31,
            "Key 1 stands 118 places to the left of query 119. All distances from 113 on share one number.",
        ),
        (
            1,
            2,
            1,
            0,
            f"Key 3 stands 1 place to the right of query 2. {HIDDEN}",
        ),
    ],
)
def test_a_bias_is_read_from_the_table_by_its_distance(query: int, key: int, causal: int, row: int, says: str) -> None:
    """16 · 8^(15/16) = 112.3: from there on all distances are in the last of 32 buckets."""
    told = of_table("bias_of_bucket", (1, query, key), row, (float(causal),))
    assert told == f"{says} The number of head 2 for that is in row {row + 1} of 32 in the table."
