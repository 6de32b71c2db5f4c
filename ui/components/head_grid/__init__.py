"""All attention maps of a model at a glance, one small picture for each layer and head, to choose one from."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ui.components.shared.wire import Cell, as_text, component, mount

MEAN = -1  # the head index that stands for the mean over a layer's heads

_component = component(
    "head_grid", js=("shared/colour.js", "shared/shared.js", "head_grid/head_grid.js"), css=("head_grid/head_grid.css",)
)


def head_grid(
    weights: ArrayLike,
    *,
    key: str,
    selected: Cell | None,
    title: str,
    row_label: str = "layer",
    mean: bool = True,
    captions: Sequence[Sequence[str]] | None = None,
    on_select: Callable[[Cell], None] | None = None,
) -> Cell | None:
    """Draw a small map for every layer and head; return the one that the learner chose to start this run.

    The page keeps the selection and passes it back, as with `matrix`. People see layers and heads counted from 1.

    Args:    weights (L,H,T,S), each between 0 and 1
             selected (layer, head), counted from 0; head `MEAN` (-1) is the mean over the layer's heads
             row_label what L counts; "" leaves the rows without names
             mean whether there is a last column with the means
             captions (L, columns) a few words below each map; the maps are larger then
             on_select called before the script runs
    Returns: (layer, head), once, in the run that the choice started; None in all others
    Raises:  ValueError, naming the shape, if weights do not have four axes and at least one cell, or captions do not
             fit them
    """
    data = head_grid_data(
        weights, selected=selected, title=title, row_label=row_label, mean=mean, captions=captions,
    )  # fmt: skip
    layers, heads = data["layers"], data["heads"]
    return mount(
        _component,
        key,
        lambda chosen: data | {"selected": chosen or data["selected"]},
        lambda layer, head: 0 <= layer < layers and (MEAN if mean else 0) <= head < heads,
        on_select,
    )


def head_grid_data(
    weights: ArrayLike,
    *,
    selected: Cell | None,
    title: str,
    row_label: str,
    mean: bool,
    captions: Sequence[Sequence[str]] | None = None,
) -> dict[str, Any]:
    """What the browser gets to draw the maps: see `head_grid`. A selection that does not exist is left out.

    Returns: a dict for JSON; maps are base64 of one byte a cell, 0 to 255, (L, H or H+1 with the mean, T, S)
    """
    array = np.asarray(weights, dtype=np.float32)
    if array.ndim != 4 or array.size == 0:
        raise ValueError(f"Attention maps have shape (layers, heads, T, S); this array has shape {array.shape}.")
    layers, heads, height, width = array.shape
    if mean:
        array = np.concatenate([array, array.mean(axis=1, keepdims=True)], axis=1)
    bytes_ = np.rint(255 * np.clip(np.nan_to_num(array, nan=0.0, posinf=1.0, neginf=0.0), 0, 1))
    if captions is not None and [len(row) for row in captions] != [array.shape[1]] * layers:
        raise ValueError(f"{[len(row) for row in captions]} captions a row do not fit maps of shape {array.shape}.")
    if selected is not None:
        layer, head = selected
        if not (0 <= layer < layers and (MEAN if mean else 0) <= head < heads):
            selected = None
    return {
        "maps": as_text(bytes_, "u1"),
        "layers": layers,
        "heads": heads,
        "mean": mean,
        "height": height,
        "width": width,
        "selected": None if selected is None else [int(selected[0]), int(selected[1])],
        "title": title,
        "row_label": row_label,
        "captions": None if captions is None else [[str(words) for words in row] for row in captions],
    }
