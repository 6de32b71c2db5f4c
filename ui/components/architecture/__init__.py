"""The map: one drawing of the whole encoder-decoder, every block a way to its lesson."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import streamlit as st

from figures.thumbnails import Thumbnail, bar_thumbnail, peak_thumbnail, value_thumbnail, weight_thumbnail
from model.config import PRESETS
from model.loaded import Array
from model.tokenizer import Token
from model.trace import Trace
from ui.components.shared.wire import as_text, browser_file, mount
from ui.text import number, visible

Picture = Literal["", "values", "weights", "peaks", "bars"]


@dataclass(frozen=True)
class Block:
    """One block of the map.

    id:      its name in links and lessons
    name:    what the line below the map and a screen reader call it; {n} is the number of layers
    label:   what stands in the drawing; {n} likewise
    short:   the label of the small map
    does:    what it does, in one plain sentence
    tensor:  the tensor it is shown by, {last} being the last layer; "" for none
    picture: how that tensor is made small
    """

    id: str
    name: str
    label: str
    short: str
    does: str
    tensor: str = ""
    picture: Picture = ""

    @property
    def repeated(self) -> bool:
        """Whether every layer has one, of which the last layer's is shown."""
        return "{last}" in self.tensor


BLOCKS = (
    Block(
        "tokenize",
        "Tokenization",
        "",
        "",
        "Cuts text into pieces that the model knows by number; the decoder reads what is written so far, after <sos>.",
    ),
    Block(
        "encoder.embedding",
        "Encoder token embedding",
        "Token embedding",
        "Embedding",
        "Looks up the learned vector of every English piece.",
        "encoder.embedding.scaled",
        "values",
    ),
    Block(
        "encoder.positions",
        "Encoder positions",
        "+ Positions",
        "+ Positions",
        "Adds to every vector a pattern of waves that tells its place in the sentence.",
        "encoder.embedding.positions",
        "values",
    ),
    Block(
        "encoder.self_attn",
        "Encoder self-attention",
        "Self-attention",
        "Self-attention",
        "Every English piece gathers what it needs from all pieces of the sentence.",
        "encoder.layers.{last}.self_attn.weights",
        "weights",
    ),
    Block(
        "encoder.add_norm_1",
        "Encoder add & norm after self-attention",
        "Add & norm",
        "Add & norm",
        "Adds what was gathered to what was there before, and brings every vector back to one scale.",
        "encoder.layers.{last}.add_norm_1.output",
        "values",
    ),
    Block(
        "encoder.feed_forward",
        "Encoder feed-forward",
        "Feed-forward",
        "Feed-forward",
        "Works on every vector by itself with a small network of two layers.",
        "encoder.layers.{last}.feed_forward.output",
        "values",
    ),
    Block(
        "encoder.add_norm_2",
        "Encoder add & norm after feed-forward",
        "Add & norm",
        "Add & norm",
        "Adds the network's result to what was there before, and brings every vector back to one scale.",
        "encoder.layers.{last}.add_norm_2.output",
        "values",
    ),
    Block(
        "encoder.stack",
        "Encoder, {n} layers",
        "Encoder ×{n}",
        "Enc ×{n}",
        "Runs {n} layers of this build one after the other; the decoder reads what the last one returns.",
        "encoder.layers.{last}.add_norm_2.output",
    ),
    Block(
        "decoder.embedding",
        "Decoder token embedding",
        "Token embedding",
        "Embedding",
        "Looks up the learned vector of every German piece written so far.",
        "decoder.embedding.scaled",
        "values",
    ),
    Block(
        "decoder.positions",
        "Decoder positions",
        "+ Positions",
        "+ Positions",
        "Adds to every vector a pattern of waves that tells its place in the translation.",
        "decoder.embedding.positions",
        "values",
    ),
    Block(
        "decoder.self_attn",
        "Decoder masked self-attention",
        "Masked self-attention",
        "Masked self-attention",
        "Every German piece gathers from itself and the pieces before it, never from those that follow.",
        "decoder.layers.{last}.self_attn.weights",
        "weights",
    ),
    Block(
        "decoder.add_norm_1",
        "Decoder add & norm after self-attention",
        "Add & norm",
        "Add & norm",
        "Adds what was gathered to what was there before, and brings every vector back to one scale.",
        "decoder.layers.{last}.add_norm_1.output",
        "values",
    ),
    Block(
        "decoder.cross_attn",
        "Encoder-decoder attention",
        "Encoder-decoder attention",
        "Enc-dec attention",
        "Every German piece asks with its query; the encoder's English pieces answer with keys and values.",
        "decoder.layers.{last}.cross_attn.weights",
        "weights",
    ),
    Block(
        "decoder.add_norm_2",
        "Decoder add & norm after encoder-decoder attention",
        "Add & norm",
        "Add & norm",
        "Adds what was read from the encoder to what was there before, and brings every vector back to one scale.",
        "decoder.layers.{last}.add_norm_2.output",
        "values",
    ),
    Block(
        "decoder.feed_forward",
        "Decoder feed-forward",
        "Feed-forward",
        "Feed-forward",
        "Works on every vector by itself with a small network of two layers.",
        "decoder.layers.{last}.feed_forward.output",
        "values",
    ),
    Block(
        "decoder.add_norm_3",
        "Decoder add & norm after feed-forward",
        "Add & norm",
        "Add & norm",
        "Adds the network's result to what was there before, and brings every vector back to one scale.",
        "decoder.layers.{last}.add_norm_3.output",
        "values",
    ),
    Block(
        "decoder.stack",
        "Decoder, {n} layers",
        "Decoder ×{n}",
        "Dec ×{n}",
        "Runs {n} layers of this build one after the other; each of them reads the encoder's result.",
        "decoder.layers.{last}.add_norm_3.output",
    ),
    Block(
        "output.linear",
        "Linear output",
        "Linear (tied)",
        "Linear (tied)",
        "Compares every vector with the embedding of each vocabulary entry: one score for each.",
        "logits",
        "peaks",
    ),
    Block(
        "output.softmax",
        "Softmax",
        "Softmax",
        "Softmax",
        "Turns the scores into probabilities; the next piece of the translation is chosen by them.",
        "probabilities",
        "bars",
    ),
)
IDS = tuple(block.id for block in BLOCKS)

_component = st.components.v2.component(
    "transformer_walkthrough.architecture",
    css=browser_file("architecture/architecture.css"),
    js=browser_file("shared/colour.js", "shared/shared.js", "architecture/architecture.js"),
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
