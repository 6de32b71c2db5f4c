"""The map of the whole machine: its blocks, what they say, and their pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.oracle.language.claims import Steps, number
from tests.oracle.language.page import Page, tensor
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import Piece, label, visible
from tests.oracle.passes.forward import Array, config
from tests.oracle.shown.course import COURSE

N = config()["n_layers"]
SUM = "Adds {} to what was there before, and brings every vector back to one scale."
WAVES = "Adds to every vector a pattern of waves that tells its place in the {}."
NETWORK = "Works on every vector by itself with a small network of two layers."


@dataclass(frozen=True)
class Block:
    """id; what a screen reader calls it; its label; what it does; its tensor."""

    id: str
    name: str
    label: str
    does: str
    tensor: str = ""


def _layer(stack: str, sublayer: str) -> str:
    return f"{stack}.layers.{N - 1}.{sublayer}"


def _add_norm(stack: str, n: int, after: str, what: str) -> Block:
    return Block(
        f"{stack}.add_norm_{n}",
        f"{stack.capitalize()} add & norm after {after}",
        "Add & norm",
        SUM.format(what),
        _layer(stack, f"add_norm_{n}.output"),
    )


def _inputs(stack: str, pieces: str, whole: str) -> list[Block]:
    name = stack.capitalize()
    return [
        Block(
            f"{stack}.embedding",
            f"{name} token embedding",
            "Token embedding",
            f"Looks up the learned vector of every {pieces}.",
            f"{stack}.embedding.scaled",
        ),
        Block(
            f"{stack}.positions",
            f"{name} positions",
            "+ Positions",
            WAVES.format(whole),
            f"{stack}.embedding.positions",
        ),
    ]


def _feed_forward(stack: str) -> Block:
    return Block(
        f"{stack}.feed_forward",
        f"{stack.capitalize()} feed-forward",
        "Feed-forward",
        NETWORK,
        _layer(stack, "feed_forward.output"),
    )


BLOCKS = (
    Block(
        "tokenize",
        "Tokenization",
        "",
        "Cuts text into pieces that the model knows by number; the decoder reads what is written so far, after <sos>.",
    ),
    *_inputs("encoder", "English piece", "sentence"),
    Block(
        "encoder.self_attn",
        "Encoder self-attention",
        "Self-attention",
        "Every English piece gathers what it needs from all pieces of the sentence.",
        _layer("encoder", "self_attn.weights"),
    ),
    _add_norm("encoder", 1, "self-attention", "what was gathered"),
    _feed_forward("encoder"),
    _add_norm("encoder", 2, "feed-forward", "the network's result"),
    Block(
        "encoder.stack",
        f"Encoder, {N} layers",
        f"Encoder ×{N}",
        f"Runs {N} layers of this build one after the other; the decoder reads what the last one returns.",
        _layer("encoder", "add_norm_2.output"),
    ),
    *_inputs("decoder", "German piece written so far", "translation"),
    Block(
        "decoder.self_attn",
        "Decoder masked self-attention",
        "Masked self-attention",
        "Every German piece gathers from itself and the pieces before it, never from those that follow.",
        _layer("decoder", "self_attn.weights"),
    ),
    _add_norm("decoder", 1, "self-attention", "what was gathered"),
    Block(
        "decoder.cross_attn",
        "Encoder-decoder attention",
        "Encoder-decoder attention",
        "Every German piece asks with its query; the encoder's English pieces answer with keys and values.",
        _layer("decoder", "cross_attn.weights"),
    ),
    _add_norm("decoder", 2, "encoder-decoder attention", "what was read from the encoder"),
    _feed_forward("decoder"),
    _add_norm("decoder", 3, "feed-forward", "the network's result"),
    Block(
        "decoder.stack",
        f"Decoder, {N} layers",
        f"Decoder ×{N}",
        f"Runs {N} layers of this build one after the other; each of them reads the encoder's result.",
        _layer("decoder", "add_norm_3.output"),
    ),
    Block(
        "output.linear",
        "Linear output",
        "Linear (tied)",
        "Compares every vector with the embedding of each vocabulary entry: one score for each.",
        "logits",
    ),
    Block(
        "output.softmax",
        "Softmax",
        "Softmax",
        "Turns the scores into probabilities; the next piece of the translation is chosen by them.",
        "probabilities",
    ),
)


# From bottom to top, the blocks of a layer; a residual runs past each pair.
LAYERS = {
    "encoder": (("self_attn", "add_norm_1"), ("feed_forward", "add_norm_2")),
    "decoder": (("self_attn", "add_norm_1"), ("cross_attn", "add_norm_2"), ("feed_forward", "add_norm_3")),
}


def stacks(source: list[str], target: list[str]) -> dict[str, Any]:
    """What stands where: both stacks with their tokens, and which reads the other."""
    return {
        "stacks": [
            {
                "frame": f"{name}.stack",
                "side": side,
                "tokens": tokens,
                "inputs": [f"{name}.embedding", f"{name}.positions"],
                "layer": [f"{name}.{part}" for pair in LAYERS[name] for part in pair],
                "outputs": ["output.linear", "output.softmax"] if side == "target" else [],
                "past": [[f"{name}.{part}" for part in pair] for pair in LAYERS[name]],
            }
            for name, side, tokens in (("encoder", "source", source), ("decoder", "target", target))
        ],
        "feeds": [["encoder.stack", "decoder.cross_attn"]],
    }


def colour(id: str) -> str:
    """Blocks of a kind have one colour; whatever norms has that of norms."""
    what = id.rpartition(".")[2]
    if what.endswith("_attn"):
        return "attention"
    return "norm" if what.startswith("add_norm") else {"tokenize": "tokens"}.get(what, what)


def opens() -> dict[str, str]:
    """The lesson that each block opens."""
    return {block: lesson.title for lesson in COURSE for block in lesson.opens.split()}


def large_map(page: Page) -> Statement:
    """The map with the sentence in it: the shape and the range of every tensor, and its picture."""
    return Statement(
        "architecture",
        {
            "blocks": [
                {
                    "id": block.id,
                    "colour": colour(block.id),
                    "name": block.name
                    + (f", layer {N}" if ".layers." in block.tensor and "stack" not in block.id else ""),
                    "label": block.label,
                    "does": block.does,
                    "opens": opens().get(block.id),
                    **numbers(page, block),
                }
                for block in BLOCKS
            ],
            "live": True,
            **stacks(_texts(page.src), _texts(page.tgt)),
            "output": visible(page.translation) or "(nothing)",
            "hint": "Point at a block to see its numbers; choose it to open its lesson.",
        },
    )


def _texts(pieces: Sequence[Piece]) -> list[str]:
    return [label(visible(piece.text)) for piece in pieces]


def numbers(page: Page, block: Block) -> dict[str, Any]:
    """What a block says about its tensor in this sentence, and the tensor made small."""
    if block.id == "tokenize":
        return {"numbers": f"src_ids ({len(page.src)}), tgt_ids ({len(page.tgt)})."}
    values = tensor(page.oracle, block.tensor)
    shape = ", ".join(map(str, values.shape))
    says = f"{block.tensor.split('.')[-1]} ({shape}), {number(values.min(), 2)} … {number(values.max(), 2)}."
    if block.id.endswith(".stack"):
        return {"numbers": says}
    kind, pixels, how = picture(page, block, values)
    height, width = pixels.shape
    return {
        "numbers": f"{says} Picture: {how}.",
        "picture": {"kind": kind, "pixels": Steps(pixels, 1.0), "height": height, "width": width},
    }


def picture(page: Page, block: Block, values: Array) -> tuple[str, Array, str]:
    """How it is coloured; its pixels, 0 to 254; how to read it."""
    if block.id == "output.softmax":
        return "bars", 254 * page.probabilities[None], "the probability of each piece written"
    if block.tensor.endswith("weights"):
        n = [_steps(size, 32) for size in values.shape[1:]]
        hidden = np.isneginf(page.oracle[block.tensor.replace("weights", "scores")][0])
        cells = [
            [(rows, columns) for columns in _groups(values.shape[2], n[1])] for rows in _groups(values.shape[1], n[0])
        ]
        mean = values.mean(0)
        pixels = [[255 if hidden[at].all() else 254 * mean[at].max() for at in line] for line in cells]
        joined = f", the largest of {n[0]} × {n[1]} cells" if n != [1, 1] else ""
        return (
            "weight",
            np.array(pixels, float),
            f"the row's piece looks at the column's; average of {len(values)} heads{joined}",
        )
    step = _steps(len(values), 20)
    row = "a row a piece" if step == 1 else f"every {_ordinal(step)} piece a row"
    if block.tensor == "logits":
        every = _steps(values.shape[1], 24)
        shown = np.stack([values[::step, g].max(1) for g in _groups(values.shape[1], every)], 1)
        return "signed", _signed(shown), f"{row}, the largest score of every {every} entries"
    # An odd step, so that sines and cosines take turns.
    every = _steps(values.shape[1], 24)
    every += 1 - every % 2
    return "signed", _signed(values[::step, ::every]), f"{row}, every {_ordinal(every)} dimension"


def _steps(size: int, most: int) -> int:
    return -(-size // most)


def _groups(size: int, n: int) -> list[slice]:
    return [slice(first, first + n) for first in range(0, size, n)]


def _signed(values: Array) -> Array:
    return 127 + 127 * values / np.abs(values).max()


def _ordinal(n: int) -> str:
    return f"{n}{ {2: 'nd', 3: 'rd'}.get(n, 'th') }"
