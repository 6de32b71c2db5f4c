"""Check: any cell of any matrix of a lesson, worked out from the numbers one step earlier."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from model.trace import Array, Trace
from ui.address import read_pair, write_pair
from ui.attention import KINDS, READABLE, tokens_of
from ui.components.matrix import Scale, matrix
from ui.engine import numbers
from ui.steps import show_steps
from ui.text import in_markdown, number
from ui.worked import arrays, worked

_SHOWN = "checked"  # in the session: what the last checked matrix of this page showed


@dataclass(frozen=True)
class Shown:
    """A matrix on the page: which tensor, which head of it (or None), its labels, and the chosen cell."""

    name: str
    head: int | None
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cell: tuple[int, int]
    twin: bool

    @property
    def index(self) -> tuple[int, ...]:
        """Where the chosen cell lies in the tensor."""
        return self.cell if self.head is None else (self.head, *self.cell)


def checked_matrix(
    trace: Trace,
    name: str,
    *,
    title: str,
    how_to_read: str,
    head: int | None = None,
    kind: str | None = None,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    scale: Scale | None = None,
    limit: float | None = None,
    describe: str | None = None,
    n_columns: int | None = None,
    start: tuple[int, int] | None = None,
    twin: bool = False,
) -> Shown:
    """Draw a tensor of the trace, or one head of it, as a matrix whose cells Check works out.

    Args: name: the tensor's; kind: of attention, for labels and masks; rows, columns: labels where kind says nothing
          (columns default to the dimensions' numbers); scale: default "weight" for weights, else "signed";
          n_columns: show no more dimensions than these; start: the cell until one is chosen, by default the largest;
          twin: the trace was made by the random-weights twin
    Returns: what is shown, with the cell that is chosen
    """
    values = trace.tensors[name] if head is None else trace.tensors[name][head]
    what = name.rpartition(".")[2]
    by_token = kind is not None and what in ("products", "scaled", "scores", "weights")  # else by dimension
    hidden = None
    if kind is not None:
        row_tokens, column_tokens = tokens_of(trace, kind)
        rows = rows or [t.text for t in (column_tokens if what in "kv" else row_tokens)]
        if by_token:
            columns = columns or [t.text for t in column_tokens]
            describe = describe or (KINDS[kind].describe if what == "weights" else None)
            if what in ("weights", "scores"):
                hidden = np.isneginf(trace.tensors[f"{name.rpartition('.')[0]}.scores"][head or 0])
    rows = list(rows or [t.text for t in (trace.src if name.startswith("encoder") else trace.tgt)])
    columns = list(columns or [str(i + 1) for i in range(values.shape[1])])
    shown = values[:READABLE, : READABLE if by_token else n_columns]
    if hidden is not None:
        hidden = hidden[: shown.shape[0], : shown.shape[1]]
    finite = np.where(np.isfinite(shown), shown, -np.inf if what == "weights" else 0)
    cell = read_pair("cell", shown.shape, start or divmod(int(np.argmax(np.abs(finite))), shown.shape[1]))
    matrix(
        shown,
        rows[: shown.shape[0]],
        columns[: shown.shape[1]],
        key=f"see_{name}_{head}",
        title=title,
        how_to_read=how_to_read,
        scale=scale or ("weight" if what == "weights" else "signed"),
        limit=limit,
        hidden=hidden,
        selected=cell,
        describe=describe,
        csv_name=name if head is None else f"{name} head {head + 1}",
        on_select=lambda chosen: write_pair("cell", chosen),
    )
    if shown.shape != values.shape:
        st.caption(
            f"Shown: the first {shown.shape[0]} of {values.shape[0]} rows and {shown.shape[1]} of {values.shape[1]} "
            "columns."
        )
    found = Shown(name, head, tuple(rows), tuple(columns), cell, twin)
    st.session_state[_SHOWN] = found
    return found


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


def compute_it_yourself(data: Mapping[str, Array], snippet: str, value: float) -> None:
    """The numbers that a value was made from as a file, and the lines that make it again."""
    with st.expander("Compute it yourself"):
        st.markdown("Download the numbers this step starts from, then run these lines in Python.")
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **data)  # type: ignore[arg-type]
        st.download_button("numbers.npz", buffer.getvalue(), "numbers.npz", key="numbers_npz", on_click="ignore")
        st.code(f'import numpy as np\n\nt = np.load("numbers.npz")\n{snippet}  # {value:.6f}', language="python")
