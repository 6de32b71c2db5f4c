"""A matrix as an accessible, coloured table: the way every page shows one."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import streamlit as st
from numpy.typing import ArrayLike, NDArray

from ui.components.shared.wire import Cell, as_text, browser_file, mount

Scale = Literal["weight", "signed", "positive"]

_SCALES = ("weight", "signed", "positive")
_DESCRIBE = "“{row}” → “{column}”: {value}"
_component = st.components.v2.component(
    "transformer_walkthrough.matrix",
    css=browser_file("matrix/matrix.css"),
    js=browser_file("shared/colour.js", "shared/shared.js", "matrix/matrix.js"),
)


def matrix(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    key: str,
    title: str,
    how_to_read: str = "",
    scale: Scale = "weight",
    limit: float | None = None,
    hidden: ArrayLike | None = None,
    selected: Cell | None = None,
    value_names: Sequence[Sequence[str]] | None = None,
    row_axis: str = "",
    column_axis: str = "",
    describe: str | None = None,
    digits: int = 2,
    group: int = 0,
    csv_name: str = "matrix",
    on_select: Callable[[Cell], None] | None = None,
) -> Cell | None:
    """Draw a matrix; return the cell that the learner chose to start this run.

    The page keeps the selection and passes it back. A new choice is drawn at once, so this is all it takes:

        chosen = matrix(weights, rows, columns, key="weights", title="Weights", selected=cell)
        if chosen:
            cell = st.session_state.cell = chosen

    What lies above the matrix on the page has been drawn by then; `on_select` runs before the script does.

    Args:    values (T,S); NaN and infinities are shown as –, ∞ and −∞ on a neutral colour
             rows T and columns S labels: any text, never taken for HTML; spaces alone are shown as ␣
             scale "weight" 0 to 1, fixed; "signed" −limit to limit around 0; "positive" 0 to limit
             limit of the scale, shared by matrices that are compared; by default the largest size in values
             hidden (T,S), True = masked out: hatched, without a number
             selected (row, column), counted from 0
             value_names (T,S) texts: words about each value, {name} in `describe`, else in brackets after it
             row_axis, column_axis what the rows and the columns are
             describe the sentence for one cell, from {row}, {column}, {value} and {name}
             digits decimals of the numbers in the cells; the sentence below has 4
             group how many columns stand together: a line divides them from the next ones; 0 for no lines
             csv_name name of the downloads, without the ending
    Returns: (row, column), once, in the run that the choice started; None in all others
    Raises:  ValueError, naming both sizes, if labels, hidden or value_names do not fit values; or if the scale, its
             limit or the digits cannot be
    """
    data = matrix_data(
        values, rows, columns,
        title=title, how_to_read=how_to_read, scale=scale, limit=limit, hidden=hidden, selected=selected,
        value_names=value_names, row_axis=row_axis, column_axis=column_axis, describe=describe, digits=digits,
        group=group, csv_name=csv_name,
    )  # fmt: skip
    height, width = len(rows), len(columns)
    return mount(
        _component,
        key,
        lambda chosen: data | {"selected": chosen or data["selected"]},
        lambda row, column: 0 <= row < height and 0 <= column < width,
        on_select,
    )


def matrix_data(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    how_to_read: str = "",
    scale: Scale = "weight",
    limit: float | None = None,
    hidden: ArrayLike | None = None,
    selected: Cell | None = None,
    value_names: Sequence[Sequence[str]] | None = None,
    row_axis: str = "",
    column_axis: str = "",
    describe: str | None = None,
    digits: int = 2,
    group: int = 0,
    csv_name: str = "matrix",
) -> dict[str, Any]:
    """What the browser gets to draw a matrix: see `matrix`. A selection outside the matrix is left out.

    Returns: a dict for JSON; values are base64 of little-endian float32, hidden of one byte a cell
    """
    array = np.asarray(values, dtype=np.float32)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"A matrix has two axes and at least one cell; this array has shape {array.shape}.")
    if array.shape != (len(rows), len(columns)):
        raise ValueError(f"Values of shape {array.shape} do not fit {len(rows)} row and {len(columns)} column labels.")
    if scale not in _SCALES:
        raise ValueError(f"The scale is one of {', '.join(_SCALES)}, not {scale!r}.")
    if not 0 <= digits <= 9:
        raise ValueError(f"A cell shows 0 to 9 decimals, not {digits}.")
    if group < 0:
        raise ValueError(f"A group holds some columns, or 0 for no groups, not {group}.")
    mask = None if hidden is None else np.asarray(hidden, dtype=bool)
    if mask is not None and mask.shape != array.shape:
        raise ValueError(f"hidden has shape {mask.shape}, values have {array.shape}.")
    if value_names is not None:
        shape = (len(value_names), {len(names) for names in value_names})
        if shape != (len(rows), {len(columns)}):
            raise ValueError(f"value_names has {shape[0]} rows of {sorted(shape[1])} names, values have {array.shape}.")
    if selected is not None and not (0 <= selected[0] < len(rows) and 0 <= selected[1] < len(columns)):
        selected = None
    return {
        "values": as_text(array, "f4"),
        "rows": [_label(row) for row in rows],
        "columns": [_label(column) for column in columns],
        "hidden": None if mask is None else as_text(mask, "u1"),
        "selected": None if selected is None else [int(selected[0]), int(selected[1])],
        "value_names": None if value_names is None else [[str(name) for name in names] for names in value_names],
        "title": title,
        "how_to_read": how_to_read,
        "row_axis": row_axis,
        "column_axis": column_axis,
        "describe": _DESCRIBE if describe is None else describe,
        "scale": scale,
        "limit": _limit(array, mask, scale, limit),
        "digits": digits,
        "group": group,
        "csv_name": csv_name,
    }


def _label(text: str) -> str:
    """A label that can be seen: spaces alone are shown as ␣."""
    return str(text) if str(text).strip(" ") or not text else "␣"


def _limit(array: NDArray[np.float32], mask: NDArray[np.bool_] | None, scale: Scale, limit: float | None) -> float:
    """The end of the scale: 1 for weights, else as asked, else the largest size of a finite value that is seen."""
    if scale == "weight":
        return 1.0
    if limit is None:
        seen = array if mask is None else array[~mask]
        sizes = np.abs(seen[np.isfinite(seen)])
        return float(sizes.max(initial=0.0)) or 1.0
    if not (np.isfinite(limit) and limit > 0):
        raise ValueError(f"The limit of a scale is a positive number, not {limit}.")
    return float(limit)
