"""What every stage is made of, whichever model rides on it: blocks, moments, looks, and how its story speaks."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.oracle.language.claims import number
from tests.oracle.language.statement import Statement, ThreeDigits
from tests.oracle.language.words import Piece, visible
from tests.oracle.passes.forward import Array

Look = tuple[int, int, int, float]  # head, row, column, weight


@dataclass(frozen=True)
class Block:
    """One block: what it is, and which tensors it makes. memory: the number of the stack that it reads, or −1"""

    id: str
    kind: str
    label: str
    result: str
    layer: int = 0
    added: str = ""
    weights: str = ""
    memory: int = -1


@dataclass(frozen=True)
class Panel:
    """A stack of blocks, and the pieces that stand in its columns. side: their colour"""

    stack: str
    side: str
    blocks: Sequence[Block]
    pieces: Sequence[Piece]


def tensors_of(panels: Sequence[Panel]) -> list[str]:
    """All names: what is added, what comes out, and weights."""
    every = [block for panel in panels for block in panel.blocks]
    names = [*(b.added for b in every), *(b.result for b in every), *(b.weights for b in every)]
    return [name for name in dict.fromkeys(names) if name]


def made_by(blocks: Sequence[Block], names: Sequence[str]) -> list[str]:
    """Those of the tensors that some blocks make."""
    return [name for name in names if any(name in (b.added, b.result, b.weights) for b in blocks)]


def stage_of(
    panels: Sequence[Panel],
    clip: tuple[int, int],
    *,
    config: Mapping[str, Any],
    oracle: Any,
    names: Sequence[str],
    links: Mapping[str, str],
    **more: Any,
) -> Statement:
    """What a stage is sent. names: of the tensors whose numbers it gets; links: lessons, by the ids of their blocks"""

    def at(name: str) -> int:
        return names.index(name) if name in names else -1

    drawn = [
        {
            "name": panel.stack,
            "width": config["d_model"],
            "side": panel.side,
            "tokens": [shown(piece.text) for piece in panel.pieces],
            "ids": [piece.id for piece in panel.pieces],
            "parts": [
                {name: getattr(block, name) for name in ("id", "kind", "layer", "label", "memory")}
                | {name: at(getattr(block, name)) for name in ("result", "added", "weights")}
                | {"causal": block.id == "decoder.self_attn", "lesson": links.get(block.id, "")}
                for block in panel.blocks
            ],
        }
        for panel in panels
    ]
    numbers = {name: ThreeDigits(oracle[name]) for name in names}
    told = {"clip": list(clip), "entries": config["vocab_size"], "panels": drawn, "numbers": numbers}
    return Statement("stage", told | {"start": None, "near": None} | more)


@dataclass
class Moments:
    """A story, moment by moment."""

    every: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        kind: str,
        caption: str,
        stop: str = "",
        *,
        stack: int = 0,
        part: int = 0,
        step: int = -1,
        at: Sequence[Any] = (0, -1),
        half: int = 0,
        by_head: Sequence[str] = (),
    ) -> None:
        """at: the head that is shown and the row that is spoken of, perhaps more of a look"""
        places = {"panel": stack, "part": part, "step": step, "head": at[0], "focus": at[1], "half": half}
        self.every.append({"kind": kind, "caption": caption, "by_head": list(by_head), "stop": stop, **places})


def step_of(row: Array, taken: int, entry: Any, written: str) -> dict[str, Any]:
    """The likeliest pieces of a step, of probabilities (V), and which is taken."""
    best = [int(id) for id in np.argsort(-row)[:5]]
    if taken not in best:
        best[-1] = taken
    candidates = [[shown(entry(id)), float(row[id]), id] for id in best]
    return {"candidates": candidates, "chosen": best.index(taken), "written": visible(written)}


def largest(weights: Array, places: Sequence[tuple[int, int, int]]) -> Look:
    """Of places (head, row, column) that of the largest weight; of equal ones the first head."""
    place = max(places, key=lambda at: (round(float(weights[at]), 5), -at[0], weights[at]))
    return (*place, float(weights[place]))


def of_each_head(weights: Array, row: int) -> list[Look]:
    """The largest weight of a row in every head."""
    return [(h, row, int(one.argmax()), float(one.max())) for h, one in enumerate(weights[:, row])]


# --- how it speaks ---------------------------------------------------------------------------------------------------


class Speech:
    """last_mark: the last id that is a mark of the model's"""

    def __init__(self, last_mark: int) -> None:
        self.last_mark = last_mark

    def letters(self, piece: Piece) -> bool:
        """Whether a piece is of a word: has a letter or a digit, and is no mark."""
        return piece.id > self.last_mark and any(unicodedata.category(c)[0] in "LN" for c in piece.text)

    def quoted(self, piece: Piece) -> str:
        text = shown(piece.text)
        text = text if len(text) <= 24 else text[:23] + "…"
        return f"“{text}”" if piece.id > self.last_mark else text

    def example(self, pieces: Sequence[Piece]) -> Piece:
        """The second word, if there is one."""
        return ([one for one in pieces if self.letters(one)] or list(pieces))[:2][-1]


def shown(text: str) -> str:
    return visible(text) if text.strip(" ") else "␣"


def share(p: float) -> str:
    if p < 0.01:
        return "less than 1%"
    return "more than 99%" if 0.995 <= p < 1 - 1e-6 else f"{number(100 * p, 0)}%"


def plural(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def vector(d: int) -> str:
    return f"Each piece becomes a vector: {d} learned numbers, drawn as a small block of colours, its column."


def added(d: int) -> str:
    return f"To each column {d} numbers are added, one to one."


PLACES = "They depend only on where the piece stands: first, second, third."
ADD_AND_NORM = "Add & Norm: what was gathered is added to the column, and the sum is brought to one scale."
ALONE = "Feed-forward: a small network works on each column by itself."


def self_attention(whom: str, n_heads: int) -> str:
    return (
        f"Self-attention: each piece looks at {whom} and takes a weighted average of their numbers into its column. "
        f"{n_heads} heads do so side by side."
    )


def takes(one: Look, who: str, whom: str) -> str:
    return f"It never looks ahead. In head {one[0] + 1}, {who} takes {share(one[3])} from {whom}."


def compared(n: int, piece: str, p: float) -> str:
    return f"The last column is compared with all {n:,} pieces. {piece} gets {share(p)} and is taken."


def writes(read: str, look: Look, layer: int, from_: str, written: str, p: float) -> str:
    return (
        f"After {read}, head {look[0] + 1} of layer {layer} gives {from_} {share(look[3])} of its attention. It writes "
        f"{written}, with {share(p)}."
    )


def the_end(n: int, ends: bool, p: float) -> str:
    if not ends:
        return f"It was stopped after {plural(n, 'step')}; it had not written <eos>, the end sign."
    return (
        f"<eos>, the end sign, is taken with {share(p)}. So the decoder stops: {plural(n, 'piece')} written, the end "
        "sign included."
    )
