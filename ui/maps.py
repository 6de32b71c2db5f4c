"""All maps of one kind of attention as an overview, and one of them large: for this model and for any other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from figures.grouping import Group, grouped
from ui.address import read_pair, write_pair
from ui.attention import MEAN, READABLE, readable_part
from ui.components.head_grid import head_grid
from ui.components.matrix import matrix


@dataclass(frozen=True)
class Chosen:
    """What the learner looks at: a layer, a head (or MEAN), a cell of its map, and the value there."""

    layer: int
    head: int
    cell: tuple[int, int]
    value: float


def browse(
    weights: NDArray[np.floating],
    rows: Sequence[Group],
    columns: Sequence[Group],
    *,
    title: str,
    how_to_read: str,
    describe: str,
    csv_name: str,
    default: tuple[int, int] = (0, MEAN),
    hidden: Callable[[int], NDArray[np.floating]] | None = None,
    prefix: str = "",
    stacked: bool = False,
    note: str = "",
) -> Chosen:
    """Draw the overview and the large map, and return what is chosen; both choices are kept in the address.

    Args: weights (L,H,T,S); rows, columns: groups of its T and S tokens; what is too large to read is cut
          default: layer and head to open on; hidden(layer) → (T,S), 1 = masked out, else 0
          prefix: of the keys and the names in the address, where a page has two of them
          stacked: one above the other instead of side by side; note: below the overview
    """
    whole = len(rows), len(columns)
    rows, columns = rows[:READABLE], columns[:READABLE]
    maps = grouped(weights, rows, columns)
    size = maps.shape[:2]
    overview, large = (st.container(), st.container()) if stacked else st.columns([1, 1.6], gap="medium")
    with overview:
        layer, head = read_pair(f"{prefix}map", size, default, lows=(0, MEAN))
        head_grid(
            maps,
            key=f"{prefix}heads",
            selected=(layer, head),
            title="Every layer and head",
            on_select=lambda chosen: write_pair(f"{prefix}map", chosen, default),
        )
        if note:
            st.caption(note)
    which = f"layer {layer + 1}, " + ("average of all heads" if head == MEAN else f"head {head + 1}")
    values = maps[layer].mean(0) if head == MEAN else maps[layer, head]
    cell = read_pair(f"{prefix}cell", values.shape, divmod(int(values.argmax()), values.shape[1]))
    with large:
        matrix(
            values,
            [g.label for g in rows],
            [g.label for g in columns],
            key=f"{prefix}map",
            title=f"{title} ({which})",
            how_to_read=how_to_read,
            describe=describe,
            # A group is hidden if every piece of it is.
            hidden=grouped(hidden(layer), rows, columns) >= [len(g.pieces) for g in columns] if hidden else None,
            selected=cell,
            csv_name=f"{csv_name} {which}",
            on_select=lambda chosen: write_pair(f"{prefix}cell", chosen),
        )
        if whole != values.shape:
            st.caption(readable_part(values.shape, whole))
    return Chosen(layer, head, cell, float(values[cell]))
