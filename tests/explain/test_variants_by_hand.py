"""Numbers that are looked up in a table of positions. The steps of all other variants are claimed by the oracle."""

from types import MappingProxyType

import numpy as np
import pytest

from explain import Numbers, arrays, worked
from model.anatomy.structure import Anatomy, Made

HIDDEN = "The mask hides it, so there is no number for it; it is given that of distance 0."


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
