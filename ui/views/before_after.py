"""Before and after a change: two matrices side by side, on one scale."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.text.tokenizer import EOS_ID, Token
from model.trace import Trace
from ui import engine
from ui.components.matrix import Caption, Kind, Labels, Scale, matrix
from ui.text import number
from ui.views.attention_kinds import KINDS, READABLE, head_title, readable_part, tokens_of
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import numbers_of_figure

LONGER, MOST = 5, 20  # pieces that a new translation may have more than the first, and in all
MOVED = 0.005  # a probability that changes by less is not counted as changed


def before_after(
    values: tuple[NDArray[np.floating], NDArray[np.floating] | None],
    titles: tuple[str, str],
    labels: Labels,
    *,
    how_to_read: str,
    csv_name: str,
    instead: str = "",
    hidden: tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None] = (None, None),
    scale: Kind = "weight",
    n_columns: int = READABLE,
) -> None:
    """Two matrices (T,S) side by side, on the same scale; what is too large to read is cut; a caption says so.

    Args: values, titles, hidden: before and after; without an `after` the right side shows the note `instead`;
          n_columns: show no more columns than these; for the others see `ui.components.matrix.matrix`
    """
    size = slice(READABLE), slice(n_columns)
    shown = [one[size] for one in values if one is not None]
    height, width = shown[0].shape
    limit = None if scale == "weight" else float(max(np.abs(one).max() for one in shown)) or 1.0
    sides = zip(st.columns(2, gap="medium"), ("before", "after"), values, titles, hidden, strict=True)
    for column, side, one, title, cover in sides:
        with column:
            if one is None:
                st.info(instead)
                continue
            matrix(
                one[size],
                replace(labels, rows=labels.rows[:height], columns=labels.columns[:width]),
                Caption(title, how_to_read, csv_name=f"{csv_name} {title}"),
                key=f"do_{side}",
                scale=Scale(scale, limit),
                hidden=None if cover is None else cover[size],
            )
    if shown[0].shape != values[0].shape:
        st.caption(readable_part(shown[0].shape, values[0].shape))


def heads_before_after(
    traces: tuple[Trace, Trace | None], titles: tuple[str, str], kind: str, layer: int, head: int, instead: str = ""
) -> None:
    """The weights of one head in two traces of the same length."""
    before = traces[0]
    rows, columns = ([token.text for token in tokens] for tokens in tokens_of(before, kind))
    weights, scores = (
        [None if one is None else one.attention(kind, layer, what)[head] for one in traces]
        for what in ("weights", "scores")
    )
    before_after(
        (weights[0], weights[1]),  # type: ignore[arg-type]
        titles,
        Labels(rows, columns, describe=KINDS[kind].describe),
        how_to_read=f"{head_title(kind, layer, head)}; 0 to 1 on both sides.",
        csv_name=f"weights {head_title(kind, layer, head)}",
        instead=instead,
        hidden=tuple(None if one is None else np.isneginf(one) for one in scores),  # type: ignore[arg-type]
    )


def pieces_before_after(
    pieces: Sequence[Token],
    before: NDArray[np.floating],
    after: NDArray[np.floating],
    names: tuple[str, str],
) -> tuple[int, int]:
    """Probabilities (T) of the pieces of a translation before and after a change, as bars and in numbers.

    Args: names: what the two are called, like "with the mask"
    Returns: for how many of all pieces it falls and for how many it rises, by more than MOVED
    """
    shown = pieces[:READABLE]
    column_chart(
        [piece.text for piece in shown],
        [Series(name, values[:READABLE]) for name, values in zip(names, (before, after), strict=True)],
        axis="probability",
        limit=1.0,
        alt=f"Two bars for each of {len(shown)} pieces: its probability {names[0]}, and {names[1]}.",
    )
    numbers_of_figure(
        ("piece", *names, "change"),
        [(piece.text, number(b), number(a), number(a - b)) for piece, b, a in zip(shown, before, after, strict=False)],
    )
    if len(shown) < len(pieces):
        st.caption(f"Shown: the first {len(shown)} of {len(pieces)} pieces. What is said below is about all.")
    return int((after < before - MOVED).sum()), int((after > before + MOVED).sum())


def written_anew(trace: Trace, other: Trace) -> str:
    """How the translation begins that it now writes; '' if that is as before."""
    anew = engine.write_anew(trace, other, min(len(trace.labels) + LONGER, MOST))
    return if_anew(trace, anew.label_ids)


def if_anew(trace: Trace, ids: tuple[int, ...]) -> str:
    """What was written in place of a translation; '' if it is the same, or begins as that does."""
    text = trace.model.tokenizer.decode(ids)
    if ids[-1:] == (EOS_ID,):
        return "" if text == trace.translation else text or "(nothing)"
    # By its pieces: “Banan” is how “Banane” begins, but another piece.
    return "" if ids == trace.label_ids[: len(ids)] else f"{text} …"
