"""Pairs painted by hand: a click on a cell hides its pair, or brings it back."""

import re
from collections.abc import Callable

import numpy as np
import streamlit as st

from model.trace import Trace
from pages.beyond_attention.fewer_pairs.readers import READER, TRANSLATOR, cost, last, sparse
from ui.components.matrix import Caption, Labels, matrix
from ui.text import bold

SIDE = 12  # rows and columns that one can paint
HIDDEN = "hidden"  # in the address: a bit for each cell, row by row from the lowest, as a number to the base 16


def painted() -> int:
    text = st.query_params.get(HIDDEN, "")
    return int(text, 16) if re.fullmatch(rf"[0-9a-f]{{1,{SIDE * SIDE // 4}}}", text) else 0


def paint(cells: int) -> None:
    if cells:
        st.query_params[HIDDEN] = f"{cells:x}"
    else:
        st.query_params.pop(HIDDEN, None)


def bit(row: int, column: int) -> int:
    return 1 << SIDE * row + column


def turning(cells: int) -> Callable[[tuple[int, int]], None]:
    """What a click does to these, as drawn: the address that comes with it may not know of the click before."""

    def turn(cell: tuple[int, int]) -> None:
        nonlocal cells
        if READER.value() == TRANSLATOR or cell[1] <= cell[0]:  # what lies in the future stays hidden
            cells ^= bit(*cell)
            paint(cells)

    return turn


def by_hand(trace: Trace, pattern: Trace) -> None:
    """Args: pattern: the reading that See shows"""
    every = [token.text for token in pattern.src or pattern.tgt]
    texts, cells = every[:SIDE], painted()
    n = len(texts)
    reach = ((row, column) for row in range(n) for column in range(n if pattern.src else row + 1))
    reading = sparse(trace, hidden=frozenset(cell for cell in reach if cells & bit(*cell)))
    hidden, unseen = (np.isneginf(last(of, "scores")[0]) for of in (reading, pattern))
    st.markdown(
        "**Which pairs would you keep?** A click hides a pair in all heads of all layers of "
        f"{'the encoder' if pattern.src else 'GPT'}, or brings it back."
    )
    as_seen = sum(bit(row, column) for row, column in np.argwhere(unseen[:SIDE, :SIDE]).tolist())
    starts = {"Keep all": 0, "Keep none": bit(SIDE, 0) - 1, "Keep what See keeps": as_seen}
    with st.container(horizontal=True, gap="small"):
        for name, start in starts.items():
            st.button(name, key=f"hand/{name}", on_click=paint, args=(start,))
    matrix(
        last(reading, "weights").mean(0)[:n, :n],
        Labels(texts, texts, describe="“{row}” asks “{column}”: {value}"),
        Caption("Last layer, mean of its heads", "A row asks, a column answers; hatched: hidden.", "pairs by hand"),
        key="do_by_hand",
        hidden=hidden[:n, :n],
        on_select=turning(cells),
    )
    st.markdown(cost(trace, reading))
    if alone := [bold(texts[row]) for row in np.flatnonzero(hidden.all(-1))]:
        st.markdown(f"Nobody is left to ask for {', '.join(alone)}: there attention returns zeros.")
    if n < len(every):
        st.caption(f"These are the first {n} of {len(every)} pieces; pairs with the others stay.")
