"""What the map shows of a block's tensor in a sentence: its shape, its range, and a picture of it."""

from typing import Any

import numpy as np

from figures.thumbnails import Thumbnail, bar_thumbnail, peak_thumbnail, value_thumbnail, weight_thumbnail
from model.files.loaded_model import Array
from model.trace import Trace
from ui.components.architecture.plan import Block, Plan
from ui.components.shared.wire import as_text
from ui.text import number

KINDS = {"values": "signed", "peaks": "signed", "weights": "weight", "bars": "bars"}  # how the browser colours them


def numbers_of(block: Block, plan: Plan, trace: Trace) -> dict[str, Any]:
    """The words and the picture that tell a block's tensor in this sentence."""
    if not block.tensor:
        sizes = (f"{column.tokens}_ids ({len(trace.tokens(column.tokens))})" for column in plan.columns)
        return {"numbers": f"{', '.join(sizes)}."}
    tensor = _probabilities(trace) if block.tensor == "probabilities" else trace.tensors[block.tensor]
    finite = tensor[np.isfinite(tensor)]
    low, high = (number(float(end(initial=0.0) if not finite.size else end()), 2) for end in (finite.min, finite.max))
    says = f"{block.tensor.rpartition('.')[2]} ({', '.join(map(str, tensor.shape))}), {low} … {high}."
    if not block.picture:
        return {"numbers": says}
    thumbnail, how = _picture(block, trace, tensor)
    return {
        "numbers": f"{says} {how}",
        "picture": {
            "kind": KINDS[block.picture],
            "pixels": as_text(thumbnail.pixels, "u1"),
            "height": thumbnail.pixels.shape[0],
            "width": thumbnail.pixels.shape[1],
        },
    }


def _picture(block: Block, trace: Trace, tensor: Array) -> tuple[Thumbnail, str]:
    """A tensor made small, and how to read it."""
    match block.picture:
        case "weights":
            hidden = np.all(np.isneginf(trace.tensors[block.tensor.replace(".weights", ".scores")]), axis=0)
            small = weight_thumbnail(tensor, hidden)
            rows, columns = small.every
            joined = f", the largest of {rows} × {columns} cells" if small.every != (1, 1) else ""
            return small, f"Picture: the row's piece looks at the column's; average of {tensor.shape[0]} heads{joined}."
        case "bars":
            return bar_thumbnail(np.array(trace.probabilities)), "Picture: the probability of each piece written."
        case "peaks":
            small = peak_thumbnail(tensor)
            return small, f"Picture: {_rows(small)}, the largest score of every {small.every[1]} entries."
        case _:
            small = value_thumbnail(tensor)
            dimensions = f"every {_nth(small.every[1])} dimension" if small.every[1] > 1 else "a column a dimension"
            return small, f"Picture: {_rows(small)}, {dimensions}."


def _rows(small: Thumbnail) -> str:
    return f"every {_nth(small.every[0])} piece a row" if small.every[0] > 1 else "a row a piece"


def _nth(n: int) -> str:
    return f"{n}{ {2: 'nd', 3: 'rd'}.get(n, 'th') }"


def _probabilities(trace: Trace) -> Array:
    """softmax(logits), (T,vocab_size)."""
    logits = trace.tensors["logits"]
    shares: Array = np.exp(logits - logits.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    return shares
