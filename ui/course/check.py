"""Check: any cell of any matrix of a lesson, worked out from the numbers one step earlier."""

import functools
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from explain import arrays, worked
from model.trace import Array, Trace
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.address import read_pair, write_pair
from ui.engine import numbers
from ui.text import in_markdown, number
from ui.views.attention_kinds import KINDS, READABLE, readable_part, tokens_of
from ui.views.worked_steps import show_steps

_SHOWN = "checked"  # in the session: what the last checked matrix of this page showed


@dataclass(frozen=True)
class Shown:
    """A matrix on the page: which tensor, which head of it (or None), the labels of what is shown, the chosen cell.

    at: the rows and the columns of the tensor that are shown
    """

    name: str
    head: int | None
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    at: tuple[Sequence[int], Sequence[int]]
    cell: tuple[int, int]
    twin: bool

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
    kind: str | None = None,
    labels: Labels = Labels(),
    part: Part = Part(),
    scale: Scale | None = None,
    start: tuple[int, int] | None = None,
    twin: bool = False,
) -> Shown:
    """Draw a tensor of the trace, or one head of it, as a matrix whose cells Check works out.

    Args: name: the tensor's, or that of another that `Numbers` can give; kind: of attention, for labels and masks;
          labels: of all rows and columns, or of those that `part` chooses; by default the pieces', and the
          dimensions' numbers; scale: default "weight" for weights, else "signed";
          start: the cell until one is chosen, by default the largest; twin: the trace is the random-weights twin's
    Returns: what is shown, with the cell that is chosen
    """
    rows, columns, describe = labels.rows, labels.columns, labels.describe
    tensor = numbers(trace, twin)[name]
    values = tensor if head is None else tensor[head]
    what = name.rpartition(".")[2]
    is_weight = what in ("weights", "average")
    by_token = kind is not None and (is_weight or what in ("products", "scaled", "scores"))  # else by dimension
    n_rows, n_cols = min(len(values), READABLE), min(values.shape[1], READABLE if by_token else part.n_columns or 10**9)
    at = part.rows or range(n_rows), part.columns or range(n_cols)
    hidden = None
    if kind is not None:
        row_tokens, column_tokens = tokens_of(trace, kind)
        rows = rows or [(column_tokens if what in "kv" else row_tokens)[i].text for i in at[0]]
        if by_token:
            columns = columns or [column_tokens[j].text for j in at[1]]
            describe = describe or (KINDS[kind].describe if is_weight else None)
            if what in ("weights", "scores"):
                hidden = np.isneginf(trace.tensors[f"{name.rpartition('.')[0]}.scores"][head or 0])[np.ix_(*at)]
    rows = list(rows or [(trace.src if name.startswith("encoder") else trace.tgt)[i].text for i in at[0]])[: len(at[0])]
    columns = list(columns or [str(j + 1) for j in at[1]])[: len(at[1])]
    shown = values[np.ix_(*at)]
    finite = np.where(np.isfinite(shown), shown, -np.inf if what == "weights" else 0)
    cell = read_pair("cell", shown.shape, start or divmod(int(np.argmax(np.abs(finite))), shown.shape[1]))
    matrix(
        shown,
        replace(labels, rows=rows, columns=columns, describe=describe),
        replace(caption, csv_name=_download_name(name, head, part)),
        key="see_matrix",
        scale=scale or Scale("weight" if is_weight else "signed"),
        hidden=hidden,
        selected=cell,
        on_select=lambda chosen: write_pair("cell", chosen),
    )
    if not (part.rows or part.columns) and shown.shape != values.shape:
        st.caption(readable_part(shown.shape, values.shape))
    found = Shown(name, head, tuple(rows), tuple(columns), at, cell, twin)
    st.session_state[_SHOWN] = found
    return found


def _download_name(name: str, head: int | None, part: Part) -> str:
    """Says what of the tensor the file holds: its head from 1, its rows and columns from 0."""
    parts = [name, f"head {head + 1}" if head is not None else ""]
    parts += [
        f"{what} {','.join(map(str, at))}" if at else ""
        for what, at in (("rows", part.rows), ("columns", part.columns))
    ]
    return " ".join(filter(None, parts))


def check_cell(trace: Trace) -> None:
    """How the cell chosen in See got its value, and a snippet that computes it again from downloaded numbers."""
    shown: Shown = st.session_state[_SHOWN]
    found = numbers(trace, shown.twin)
    value = float(found[shown.name][shown.index])
    row, column = shown.cell
    st.markdown(
        f"**How did this {number(value)} come about?** Row **{in_markdown(shown.rows[row])}**, column "
        f"**{in_markdown(shown.columns[column])}**. Choose another cell by a click, or with the arrow keys and Enter."
    )
    step = worked(found, shown.name, shown.index)
    show_steps([step])
    st.caption("Numbers are shown rounded and were computed unrounded.")
    compute_it_yourself(arrays(found, [step]), step.snippet, value)


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
        st.code("\n".join(["import numpy as np", "", 't = np.load("numbers.npz")', *lines]), language="python")
