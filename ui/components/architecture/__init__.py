"""The map: one drawing of the whole encoder-decoder, every block a way to its lesson."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from figures.thumbnails import Thumbnail, bar_thumbnail, peak_thumbnail, value_thumbnail, weight_thumbnail
from model.config import PRESETS
from model.loaded import Array
from model.tokenizer import Token
from model.trace import Trace
from ui.components.architecture.blocks import BLOCKS, Block
from ui.components.shared.wire import as_text, browser_file, mount
from ui.text import number, visible

IDS = tuple(block.id for block in BLOCKS)

_component = st.components.v2.component(
    "transformer_walkthrough.architecture",
    css=browser_file("architecture/architecture.css"),
    js=browser_file(
        "shared/colour.js",
        "shared/shared.js",
        "architecture/layout.js",
        "architecture/pictures.js",
        "architecture/legend.js",
        "architecture/architecture.js",
    ),
)


def architecture(
    *,
    key: str,
    lit: Collection[str] = (),
    links: Mapping[str, str] | None = None,
    trace: Trace | None = None,
    compact: bool = False,
    on_open: Callable[[str], None] | None = None,
) -> str | None:
    """Draw the map; return the id of the block that the learner opened to start this run.

        opened = architecture(key="map", links={"encoder.self_attn": "Self-attention"}, trace=trace)
        if opened:
            st.switch_page(...)

    Args:    lit the ids of the blocks that this page explains: "you are here"
             links the blocks that open something, and its title; all others are drawn, but cannot be chosen
             trace a sentence whose pieces and tensors the map shows
             compact the small map for the side of a page: no tensors, 220 to 260 pixels wide
             on_open called before the script runs
    Returns: the block's id, once, in the run that opening it started; None in all others
    Raises:  ValueError, naming them, if lit or links hold ids that no block has
    """
    links = links or {}
    data = architecture_data(lit=lit, links=links, trace=trace, compact=compact)
    opened = mount(
        _component,
        key,
        lambda _: data,
        lambda at, _: 0 <= at < len(IDS) and IDS[at] in links,
        (lambda at: on_open(IDS[at[0]])) if on_open else None,
    )
    return IDS[opened[0]] if opened else None


def architecture_data(
    *, lit: Collection[str], links: Mapping[str, str], trace: Trace | None, compact: bool
) -> dict[str, Any]:
    """What the browser gets to draw the map: see `architecture`.

    Returns: a dict for JSON; pictures are base64 of one byte a pixel, see `figures.thumbnails`
    """
    if unknown := sorted({*lit, *links} - {*IDS}):
        raise ValueError(f"The map has no block {', '.join(map(repr, unknown))}; it has {', '.join(IDS)}.")
    alive = trace if not compact else None
    n = _n_layers(trace) if trace else PRESETS["base"].n_layers
    blocks = []
    for block in BLOCKS:
        name, does = (text.replace("{n}", str(n)) for text in (block.name, block.does))
        entry: dict[str, Any] = {
            "id": block.id,
            "name": f"{name}, layer {n}" if alive and block.repeated and block.picture else name,
            "label": (block.short if compact else block.label).replace("{n}", str(n)),
            "does": "" if compact else does,
            "lit": block.id in lit,
            "opens": links.get(block.id),
        }
        if alive:
            entry |= _numbers(block, alive, n)
        blocks.append(entry)
    return {
        "blocks": blocks,
        "compact": compact,
        "live": alive is not None,
        "source": _texts(alive.src) if alive else ["English"] if compact else ["English pieces"],
        "target": _texts(alive.tgt) if alive else ["German so far"] if compact else ["German pieces so far"],
        "translation": (visible(alive.translation) or "(nothing)") if alive else "translation",
        "hint": _hint(lit, links, alive is not None, n),
    }


def _hint(lit: Collection[str], links: Mapping[str, str], alive: bool, n: int) -> str:
    """The line below the map while no block is pointed at."""
    names = dict.fromkeys((block.label or block.name).replace("{n}", str(n)) for block in BLOCKS if block.id in lit)
    if names:
        return f"You are here: {'; '.join(names)}."
    see = "Point at a block to see its numbers" if alive else "Point at a block to see what it is"
    return f"{see}; choose it to open its lesson." if links else f"{see}."


def _n_layers(trace: Trace) -> int:
    return sum(name.endswith(".cross_attn.weights") for name in trace.tensors)


def _texts(tokens: Sequence[Token]) -> list[str]:
    return [visible(token.text) if token.text.strip() else "␣" for token in tokens]


def _numbers(block: Block, trace: Trace, n: int) -> dict[str, Any]:
    """The words and the picture that tell a block's tensor in this sentence."""
    if block.id == "tokenize":
        return {"numbers": f"src_ids ({len(trace.src)}), tgt_ids ({len(trace.tgt)})."}
    name = block.tensor.format(last=n - 1)
    tensor = _probabilities(trace) if name == "probabilities" else trace.tensors[name]
    finite = tensor[np.isfinite(tensor)]
    low, high = (number(float(end(initial=0.0) if not finite.size else end()), 2) for end in (finite.min, finite.max))
    says = f"{name.rpartition('.')[2]} ({', '.join(map(str, tensor.shape))}), {low} … {high}."
    if not block.picture:
        return {"numbers": says}
    thumbnail, how = _picture(block, trace, name, tensor)
    return {
        "numbers": f"{says} {how}",
        "picture": {
            "kind": {"values": "signed", "peaks": "signed", "weights": "weight", "bars": "bars"}[block.picture],
            "pixels": as_text(thumbnail.pixels, "u1"),
            "height": thumbnail.pixels.shape[0],
            "width": thumbnail.pixels.shape[1],
        },
    }


def _picture(block: Block, trace: Trace, name: str, tensor: Array) -> tuple[Thumbnail, str]:
    """A tensor made small, and how to read it."""
    match block.picture:
        case "weights":
            hidden = np.all(np.isneginf(trace.tensors[name.replace(".weights", ".scores")]), axis=0)
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
