"""A matrix as an accessible, coloured table: the way every page shows one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ui.components.shared.wire import Cell, as_text, component, mount

Kind = Literal["weight", "signed", "positive"]

_KINDS = ("weight", "signed", "positive")
_DESCRIBE = "“{row}” → “{column}”: {value}"
_component = component(
    "matrix",
    js=(
        *("shared/colour.js", "shared/shared.js", "matrix/text.js", "matrix/layout.js", "matrix/table.js"),
        *("matrix/figure.js", "matrix/files.js", "matrix/matrix.js"),
    ),
    css=("matrix/matrix.css", "matrix/foot.css"),
)


@dataclass(frozen=True)
class Labels:
    """What a matrix (T,S) says of its rows, columns and cells: any text, never taken for HTML.

    rows, columns: T and S labels; spaces alone are shown as ␣
    describe:      the sentence for one cell, from {row}, {column}, {value} and {name}; None for row → column: value
    names:         (T,S) words about each value, {name} in `describe`, else in brackets after it
    row_axis, column_axis: what the rows and the columns are
    group:         how many columns stand together: a line divides them from the next ones; 0 for no lines
    """

    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    describe: str | None = None
    names: Sequence[Sequence[str]] | None = None
    row_axis: str = ""
    column_axis: str = ""
    group: int = 0


@dataclass(frozen=True)
class Caption:
    """What stands above a matrix, and the name of its downloads, without the ending.

    hatched: what cells are whose number is hidden
    """

    title: str
    how_to_read: str = ""
    csv_name: str = "matrix"
    hatched: str = "masked"


@dataclass(frozen=True)
class Scale:
    """How a value becomes a colour and a number.

    kind:   "weight" 0 to 1, fixed; "signed" −limit to limit around 0; "positive" 0 to limit
    limit:  shared by matrices that are compared; None for the largest size in the values
    digits: decimals of the numbers in the cells; the sentence below has 4

    Raises: ValueError, naming it, if one of them cannot be
    """

    kind: Kind = "weight"
    limit: float | None = None
    digits: int = 2

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ValueError(f"The scale is one of {', '.join(_KINDS)}, not {self.kind!r}.")
        if self.limit is not None and not (np.isfinite(self.limit) and self.limit > 0):
            raise ValueError(f"The limit of a scale is a positive number, not {self.limit}.")
        if not 0 <= self.digits <= 9:
            raise ValueError(f"A cell shows 0 to 9 decimals, not {self.digits}.")

    def end(self, seen: NDArray[np.float32]) -> float:
        """Where the scale ends: 1 for weights, else as asked, else the largest size of a finite value that is seen."""
        if self.kind == "weight":
            return 1.0
        if self.limit is not None:
            return float(self.limit)
        return float(np.abs(seen[np.isfinite(seen)]).max(initial=0.0)) or 1.0


def matrix(
    values: ArrayLike,
    labels: Labels,
    caption: Caption,
    *,
    key: str,
    scale: Scale = Scale(),
    hidden: ArrayLike | None = None,
    selected: Cell | None = None,
    on_select: Callable[[Cell], None] | None = None,
) -> Cell | None:
    """Draw a matrix; return the cell that the learner chose to start this run.

    The page keeps the selection and passes it back. A new choice is drawn at once, so this is all it takes:

        chosen = matrix(weights, Labels(rows, columns), Caption("Weights"), key="weights", selected=cell)
        if chosen:
            cell = st.session_state.cell = chosen

    What lies above the matrix on the page has been drawn by then; `on_select` runs before the script does.

    Args:    values (T,S); NaN and infinities are shown as –, ∞ and −∞ on a neutral colour
             hidden (T,S), True = masked out: hatched, without a number
             selected (row, column), counted from 0
    Returns: (row, column), once, in the run that the choice started; None in all others
    Raises:  ValueError, naming both sizes, if labels or hidden do not fit values
    """
    data = matrix_data(values, labels, caption, scale=scale, hidden=hidden, selected=selected)
    height, width = len(labels.rows), len(labels.columns)
    return mount(
        _component,
        key,
        lambda chosen: data | {"selected": chosen or data["selected"]},
        lambda row, column: 0 <= row < height and 0 <= column < width,
        on_select,
    )


def matrix_data(
    values: ArrayLike,
    labels: Labels,
    caption: Caption,
    *,
    scale: Scale = Scale(),
    hidden: ArrayLike | None = None,
    selected: Cell | None = None,
) -> dict[str, Any]:
    """What the browser gets to draw a matrix: see `matrix`. A selection outside the matrix is left out.

    Returns: a dict for JSON; values are base64 of little-endian float32, hidden of one byte a cell
    """
    array = np.asarray(values, dtype=np.float32)
    mask = None if hidden is None else np.asarray(hidden, dtype=bool)
    _check_sizes(array, labels, mask)
    height, width = array.shape
    if selected is not None and not (0 <= selected[0] < height and 0 <= selected[1] < width):
        selected = None
    return {
        "values": as_text(array, "f4"),
        "rows": [_label(row) for row in labels.rows],
        "columns": [_label(column) for column in labels.columns],
        "hidden": None if mask is None else as_text(mask, "u1"),
        "selected": None if selected is None else [int(selected[0]), int(selected[1])],
        "value_names": None if labels.names is None else [[str(name) for name in names] for names in labels.names],
        "title": caption.title,
        "how_to_read": caption.how_to_read,
        "row_axis": labels.row_axis,
        "column_axis": labels.column_axis,
        "describe": _DESCRIBE if labels.describe is None else labels.describe,
        "scale": scale.kind,
        "limit": scale.end(array if mask is None else array[~mask]),
        "digits": scale.digits,
        "group": labels.group,
        "csv_name": caption.csv_name,
        "hatched": caption.hatched,
    }


def _check_sizes(array: NDArray[np.float32], labels: Labels, mask: NDArray[np.bool_] | None) -> None:
    rows, columns = len(labels.rows), len(labels.columns)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"A matrix has two axes and at least one cell; this array has shape {array.shape}.")
    if array.shape != (rows, columns):
        raise ValueError(f"Values of shape {array.shape} do not fit {rows} row and {columns} column labels.")
    if labels.group < 0:
        raise ValueError(f"A group holds some columns, or 0 for no groups, not {labels.group}.")
    if mask is not None and mask.shape != array.shape:
        raise ValueError(f"hidden has shape {mask.shape}, values have {array.shape}.")
    if labels.names is not None:
        lengths = {len(names) for names in labels.names}
        if (len(labels.names), lengths) != (rows, {columns}):
            raise ValueError(
                f"Labels have {len(labels.names)} rows of {sorted(lengths)} names, values have {array.shape}."
            )


def _label(text: str) -> str:
    """A label that can be seen: spaces alone are shown as ␣."""
    return str(text) if str(text).strip(" ") or not text else "␣"
