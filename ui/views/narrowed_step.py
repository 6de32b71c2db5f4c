"""What one step of sampling draws from: the pieces shown, before and after temperature, top-k and top-p."""

from collections.abc import Sequence

from model.files.loaded_model import Array
from ui.text import chance
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import numbers_of_figure

SIDES = "the model's", "drawn from"


def narrowed_chart(step: int, names: Sequence[str], before: Array, after: Array) -> None:
    """Two columns for each piece.

    Args: step: counted from 0; names (N) of the pieces; before, after (N): their probabilities
    """
    column_chart(
        names,
        [Series(side, values) for side, values in zip(SIDES, (before, after), strict=True)],
        axis="probability",
        limit=1.0,
        alt=f"Step {step + 1}: two bars for each of {len(names)} pieces, its probability before and after narrowing.",
    )


def narrowed_numbers(names: Sequence[str], before: Array, after: Array) -> None:
    """The same as a table."""
    rows = [(name, chance(float(a)), chance(float(b))) for name, a, b in zip(names, before, after, strict=True)]
    numbers_of_figure(("piece", *SIDES), rows)
