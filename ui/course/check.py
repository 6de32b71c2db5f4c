"""Check: any cell of any matrix of a lesson, worked out from the numbers one step earlier."""

import functools
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from explain import Blank, arrays, worked
from model.anatomy.structure import TOKEN_AXES
from model.files.loaded_model import Array
from model.trace import AnyTrace as Trace
from ui.components.announcement import announce
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.address import read_pair, write_pair
from ui.engine import numbers
from ui.text import in_markdown, legible, number, piece
from ui.views.attention_kinds import KINDS, READABLE, readable_part
from ui.views.worked_steps import show_steps


@dataclass(frozen=True)
class Shown:
    """A matrix on the page: which tensor of which trace, which head of it (or None), its labels, the chosen cell.

    at: the rows and the columns of the tensor that are shown
    """

    trace: Trace
    name: str
    head: int | None
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    at: tuple[Sequence[int], Sequence[int]]
    cell: tuple[int, int]

    @property
    def index(self) -> tuple[int, ...]:
        """Where the chosen cell lies in the tensor."""
        place = self.at[0][self.cell[0]], self.at[1][self.cell[1]]
        return place if self.head is None else (self.head, *place)


@dataclass(frozen=True)
class Part:
    """Which part of a matrix is shown.

    rows, columns: just these, in this order; None for all
    n_columns:     no more dimensions than these
    """

    rows: Sequence[int] | None = None
    columns: Sequence[int] | None = None
    n_columns: int | None = None


def checked_matrix(
    trace: Trace,
    name: str,
    caption: Caption,
    *,
    head: int | None = None,
    labels: Labels = Labels(),
    part: Part = Part(),
    scale: Scale | None = None,
    start: tuple[int, int] | None = None,
) -> Shown:
    """Draw a tensor of the trace, or one head of it, as a matrix whose cells Check works out.

    Args: name: the tensor's, or that of another that `Numbers` can give
          labels: of all rows and columns, or of those that `part` chooses; by default what the model's anatomy says
          the axes are: pieces, or the dimensions' numbers
          scale: default "weight" for weights, else "signed"; start: the cell until one is chosen, else the largest
    Returns: what is shown, with the cell that is chosen
    """
    tensor = numbers(trace)[name]
    values = tensor if head is None else tensor[head]
    axes = numbers(trace).made(name).axes[-2:]
    is_weight = name.endswith((".weights", ".average"))
    n_rows = min(len(values), READABLE)
    n_columns = min(values.shape[1], READABLE if axes[1] in TOKEN_AXES else part.n_columns or 10**9)
    at = part.rows or range(n_rows), part.columns or range(n_columns)
    rows = _texts(labels.rows, trace, axes[0], at[0])
    columns = _texts(labels.columns, trace, axes[1], at[1])
    shown = values[np.ix_(*at)]
    cell = read_pair("cell", shown.shape, start or _largest(shown, is_weight))
    matrix(
        shown,
        replace(labels, rows=rows, columns=columns, describe=labels.describe or _describe(trace, name)),
        replace(caption, csv_name=_download_name(name, head, part)),
        key="see_matrix",
        scale=scale or Scale("weight" if is_weight else "signed"),
        hidden=_hidden(trace, name, head, at),
        selected=cell,
        on_select=lambda chosen: write_pair("cell", chosen),
    )
    if not (part.rows or part.columns) and shown.shape != values.shape:
        st.caption(readable_part(shown.shape, values.shape))
    return Shown(trace, name, head, tuple(rows), tuple(columns), at, cell)


def _texts(given: Sequence[str], trace: Trace, axis: str, at: Sequence[int]) -> list[str]:
    """The labels of the places `at` along an axis: those given, or its pieces, or numbers from 1."""
    if given:
        return list(given)[: len(at)]
    return [trace.tokens(axis)[i].text if axis in TOKEN_AXES else str(i + 1) for i in at]


def _largest(shown: np.ndarray, is_weight: bool) -> tuple[int, int]:
    finite = np.where(np.isfinite(shown), shown, -np.inf if is_weight else 0)
    row, column = divmod(int(np.argmax(np.abs(finite))), shown.shape[1])
    return row, column


def _describe(trace: Trace, name: str) -> str | None:
    """The sentence for one weight, by its kind of attention."""
    path, _, what = name.rpartition(".")
    if what not in ("weights", "average"):
        return None
    kinds = [kind for kind, layers in trace.model.anatomy.attentions.items() if path in {one.path for one in layers}]
    return KINDS[kinds[0]].describe if kinds and kinds[0] in KINDS else None


def _hidden(trace: Trace, name: str, head: int | None, at: tuple[Sequence[int], Sequence[int]]) -> np.ndarray | None:
    """Which of the cells shown are masked; None where there is no mask."""
    path, _, what = name.rpartition(".")
    scores = trace.tensors.get(f"{path}.scores")
    if scores is None or what not in ("weights", "scores", "average"):
        return None
    return np.isneginf(scores[head or 0])[np.ix_(*at)]


def _download_name(name: str, head: int | None, part: Part) -> str:
    """Says what of the tensor the file holds: its head from 1, its rows and columns from 0."""
    parts = [name, f"head {head + 1}" if head is not None else ""]
    parts += [
        f"{what} {','.join(map(str, at))}" if at else ""
        for what, at in (("rows", part.rows), ("columns", part.columns))
    ]
    return " ".join(filter(None, parts))


def check_cell(shown: Shown) -> None:
    """How the chosen cell got its value, a part of it to do by hand, and the code that computes it again."""
    known = numbers(shown.trace)
    value = float(known[shown.name][shown.index])
    row, column = shown.cell
    st.markdown(
        f"**How did this {legible(value)} come about?** Row **{in_markdown(shown.rows[row])}**, column "
        f"**{in_markdown(shown.columns[column])}**. Choose another cell by a click, or with the arrow keys and Enter."
    )
    place = f"row {piece(shown.rows[row])}, column {piece(shown.columns[column])}"
    announce(f"Now worked out: {place}, {legible(value)}.", key="said_check")
    step = worked(known, shown.name, shown.index)
    show_steps([step])
    st.caption("Numbers are shown rounded and were computed unrounded.")
    if step.blank:
        fill_in(step.blank, key=f"{shown.name}/{shown.index}/{shown.trace.text}")
    compute_it_yourself(arrays(known, [step]), step.snippet, value)


def fill_in(blank: Blank, key: str) -> None:
    """One step of the arithmetic for the learner to do by hand, judged to two decimals; whole numbers exactly."""
    whole = blank.digits == 0
    with st.container(border=True, key="fill_in"):
        st.markdown(
            rf"**Your turn.** What is $\displaystyle {blank.formula}$" + ("?" if whole else ", to two decimals?")
        )
        given = st.number_input(
            "Your number",
            value=None,
            format=f"%.{blank.digits}f",
            step=10.0**-blank.digits,
            key=f"{key}/blank",
            persist_state="session",
        )
        if given is None:
            return
        if abs(given - blank.answer) <= blank.near:
            st.success(f"Right: it is {number(blank.answer, 0 if whole else 4)}.")
        elif abs(given + blank.answer) <= blank.near:
            signs = " Equal signs give plus, different ones minus." if r"\cdot" in blank.formula else ""
            st.warning(f"The size is right, the sign is not.{signs}")
        else:
            st.warning("Not yet. Take the numbers as they stand, and round only at the end.")


def npz(data: Mapping[str, Array]) -> bytes:
    """Arrays by name as a file that `numpy.load` reads."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **data)  # type: ignore[arg-type]
    return buffer.getvalue()


def compute_it_yourself(data: Mapping[str, Array], snippet: str, value: float) -> None:
    """The numbers that a value was made from as a file, and the lines that make it again."""
    with st.expander("Compute it yourself"):
        st.markdown("Download the numbers this step starts from, then run these lines in Python, in the same folder.")
        # Packed when asked for: large arrays take a while.
        file = functools.partial(npz, data)
        st.download_button("Download numbers.npz", file, "numbers.npz", key="numbers_npz", on_click="ignore")
        *lines, last = snippet.splitlines()
        result, _, note = last.partition("  # ")
        lines += [f"# {note}"] * bool(note) + [f"print({result})  # {value:.6f}"]
        code = "\n".join(["import numpy as np", "", 't = np.load("numbers.npz")', *lines])
        st.code(code, language="python", wrap_lines=True)
