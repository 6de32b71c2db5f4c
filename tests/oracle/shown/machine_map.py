"""The map of the whole machine: its blocks, what they say, and their pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import Steps, number
from tests.oracle.language.page import Page, tensor
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import Piece, label, visible
from tests.oracle.passes.forward import Array, config
from tests.oracle.shown.course import COURSE

N = config()["n_layers"]
prose = Prose("machine_map")


@dataclass(frozen=True)
class Block:
    """id; what a screen reader calls it; its label; what it does; its tensor."""

    id: str
    name: str
    label: str
    does: str
    tensor: str = ""


TENSORS = {"tokenize": "", "output.linear": "logits", "output.softmax": "probabilities"}
SUFFIXES = {"self_attn": ".weights", "cross_attn": ".weights", "stack": ""}  # of other parts of a layer: ".output"


def tensor_of(id: str) -> str:
    """The tensor of a block; of a layer, that of the last one."""
    stack, _, part = id.partition(".")
    if id in TENSORS or part in ("embedding", "positions"):
        return TENSORS.get(id, f"{stack}.embedding.{'scaled' if part == 'embedding' else part}")
    last = f"add_norm_{2 if stack == 'encoder' else 3}.output"
    return f"{stack}.layers.{N - 1}.{last if part == 'stack' else part + SUFFIXES.get(part, '.output')}"


def blocks() -> list[Block]:
    words = {id: said.split(" | ") for id, said in prose.words("blocks", N).items()}
    return [Block(id, *said, tensor_of(id)) for id, said in words.items()]


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
                for block in blocks()
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
        every = _steps(values.shape[1], 16)
        shown = np.stack([values[::step, g].max(1) for g in _groups(values.shape[1], every)], 1)
        return "signed", _signed(shown), f"{row}, the largest score of every {every} entries"
    # An odd step, so that sines and cosines take turns.
    every = _steps(values.shape[1], 16)
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
