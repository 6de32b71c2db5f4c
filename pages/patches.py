"""What the lessons on pictures and sound share: where each head looks, patches that one takes out, a grid of them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from model.files.loaded_model import Array
from model.trace import Trace
from ui.components.head_grid import head_grid
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.address import read_pair, write_pair
from ui.text import number

MAP = "map"  # in the address: layer and head


def weights_of(read: Trace[Any, Any], stack: str = "encoder") -> Array:
    """All attention of a stack to itself (L,H,T,S)."""
    layers = range(len(read.model.anatomy.attentions[stack]))
    return np.stack([read.attention(stack, layer) for layer in layers])


def chosen_head(looks: Array, title: str, default: tuple[int, int], row_label: str = "layer") -> tuple[int, int]:
    """A small picture (L,H,h,w), from 0 to 1, for each head. Returns the layer and the head that is chosen, from 0."""
    chosen = read_pair(MAP, looks.shape[:2], default)
    head_grid(
        looks,
        key="looks",
        selected=chosen,
        title=f"{title}: a small picture for each head",
        row_label=row_label,
        mean=False,
        on_select=lambda one: write_pair(MAP, one, default),
    )
    return chosen


def gone(name: str, n_patches: int) -> frozenset[int]:
    """The patches that the visitor has taken out, from 1. name: of the parameter that holds them, like 6.7"""
    asked = st.query_params.get(name, "").split(".")
    return frozenset(n for n in range(1, 1 + n_patches) if str(n) in asked)


def taken_out(name: str, numbers: Array) -> Callable[[tuple[int, int]], None]:
    """What a click on a patch does: it takes the patch out, or puts it back. numbers: of the patches where they lie"""
    out = {*gone(name, numbers.size)}  # as drawn: the address that comes with a click may not know of the click before

    def toggle(cell: tuple[int, int]) -> None:
        out.symmetric_difference_update([int(numbers[cell])])
        if out:
            st.query_params[name] = ".".join(map(str, sorted(out)))
        else:
            st.query_params.pop(name, None)

    return toggle


def grid(
    values: Array,
    caption: Caption,
    key: str,
    *,
    scale: Scale = Scale(),
    describe: str = "Patch {name}: {value}",
    **more: object,
) -> None:
    """A number for each patch of a square picture, where it lies."""
    side = round(len(values) ** 0.5)
    rows, columns = ([f"{what} {n}" for n in range(1, 1 + side)] for what in ("row", "column"))
    names = [[str(side * row + column) for column in range(1, 1 + side)] for row in range(side)]
    labels = Labels(rows, columns, describe, names)
    matrix(values.reshape(side, side), labels, replace(caption, csv_name=caption.title), key=key, scale=scale, **more)  # type: ignore[arg-type]


def share(of: Sequence[float]) -> str:
    """In percent, with its standard error."""
    return f"{number(100 * of[0], 1)} ± {number(100 * of[1], 1)}"
