"""How a number came about: any cell of any tensor, from the numbers one step earlier, with the model's own values.

core.py holds the mechanism; the other modules hold a rule for each operation. What a tensor is made from is told by the
model's anatomy.
"""

from explain import blocks as _blocks  # noqa: F401 - registers its rules
from explain import distillation as _distillation  # noqa: F401 - likewise
from explain import experts as _experts  # noqa: F401 - likewise
from explain import pictures as _pictures  # noqa: F401 - likewise
from explain import positions as _positions  # noqa: F401 - likewise
from explain import recurrent as _recurrent  # noqa: F401 - likewise
from explain import small_cache as _small_cache  # noqa: F401 - likewise
from explain import softmax as _softmax  # noqa: F401 - likewise
from explain import training as _training  # noqa: F401 - likewise
from explain import windows as _windows  # noqa: F401 - likewise
from explain.attention import (
    worked_average,
    worked_group,
    worked_weight,
)
from explain.core import DIGITS, RULES, Blank, Numbers, WorkedStep, arrays, tex, worked
from explain.decoding import worked_score
from explain.inputs import worked_cosine
from explain.spans import worked_noise, worked_pair

__all__ = [
    "DIGITS",
    "RULES",
    "Blank",
    "Numbers",
    "WorkedStep",
    "arrays",
    "tex",
    "worked",
    "worked_average",
    "worked_cosine",
    "worked_group",
    "worked_noise",
    "worked_pair",
    "worked_score",
    "worked_weight",
]
