"""A beam search as a tree: what was kept, what ended, what was dropped, step by step from left to right."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ui.components.shared.wire import Cell, component, mount
from ui.text import piece

State = Literal["kept", "ended", "pruned"]

_component = component("beam_tree", js=("shared/shared.js", "beam_tree/beam_tree.js"), css=("beam_tree/beam_tree.css",))


@dataclass(frozen=True)
class Node:
    """One piece written after a hypothesis.

    total:  log-probability of the hypothesis with it, in nats
    parent: index, in the column before, of the hypothesis that it extends; in the first column unused
    """

    text: str
    total: float
    state: State
    parent: int


def beam_tree(
    columns: Sequence[Sequence[Node]],
    *,
    key: str,
    title: str,
    how_to_read: str,
    selected: Cell,
    on_select: Callable[[Cell], None],
) -> None:
    """Draw a column of nodes for each step, best first, and the path to the chosen one; each node is a button.

    Args:   selected: (column, row), counted from 0, kept by the page; texts: any, never taken for HTML
    Raises: ValueError, naming it, if a node's parent is none that was kept in the column before
    """
    for at, (before, column) in enumerate(pairwise(columns), 1):
        for node in column:
            if not 0 <= node.parent < len(before) or before[node.parent].state != "kept":
                raise ValueError(f"A node of column {at} extends number {node.parent} of the column before.")
    data = {
        "columns": [[[piece(node.text), node.total, node.state, node.parent] for node in column] for column in columns],
        "title": title,
        "how_to_read": how_to_read,
    }
    mount(
        _component,
        key,
        lambda chosen: data | {"selected": list(chosen or selected)},
        lambda column, row: 0 <= column < len(columns) and 0 <= row < len(columns[column]),
        on_select,
    )
