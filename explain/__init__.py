"""How a number came about: any cell of any tensor, from the numbers one step earlier, with the model's own values.

core.py holds the mechanism; the other modules hold a rule for each kind of tensor, chosen by the end of its name.
"""

from explain.attention import (
    layer_input,
    output_of,
    worked_average,
    worked_group,
    worked_weight,
)
from explain.blocks import added
from explain.core import DIGITS, RULES, Numbers, WorkedStep, arrays, tex, worked
from explain.decoding import worked_score
from explain.inputs import worked_cosine

__all__ = [
    "DIGITS",
    "RULES",
    "Numbers",
    "WorkedStep",
    "added",
    "arrays",
    "layer_input",
    "output_of",
    "tex",
    "worked",
    "worked_average",
    "worked_cosine",
    "worked_group",
    "worked_score",
    "worked_weight",
]
