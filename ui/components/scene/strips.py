"""Means of a scene along a text: bands that run on from its pieces, a ruler it is moved along, a square of pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from model.files.loaded_model import Array
from ui.components.scene.rounding import rounded
from ui.text import piece


@dataclass(frozen=True)
class Bands:
    """A band from each piece to the end, as wide at each place as its number there, 0 to 1.

    pieces: T names; ends: what stands beside each band's end
    widths: (T,T), the band of piece s at place t; nothing is drawn where t < s
    direct: whether each band has a lane of its own; else they lie side by side in one stream
    strong: the band that is spoken of; head: over the ends
    """

    pieces: Sequence[str]
    widths: Array
    ends: Sequence[str]
    title: str = ""
    head: str = ""
    direct: bool = False
    strong: int = 0

    def sent(self) -> dict[str, Any]:
        return {
            "kind": "bands",
            "title": self.title,
            "head": self.head,
            "direct": int(self.direct),  # a number, so that bands move from one way to the other
            "strong": self.strong,
            "pieces": [piece(name) for name in self.pieces],
            "ends": list(self.ends),
            "widths": [[rounded(width) for width in row] for row in self.widths.tolist()],
        }


@dataclass(frozen=True)
class Ruler:
    """A text on a ruler of places; a dashed outline where it stood before.

    start, before: the place of its first piece, now and before; count: of its places
    marks: of some places: how many on from the start, and what stands above, in the colours of query and key
    """

    text: str
    start: int
    count: int
    last: int
    marks: tuple[tuple[int, str], tuple[int, str]]
    before: int = 1

    def sent(self) -> dict[str, Any]:
        return {
            "kind": "ruler",
            "text": piece(self.text),
            "start": self.start,
            "before": self.before,
            "count": self.count,
            "last": self.last,
            "marks": [[place, piece(name)] for place, name in self.marks],
        }


@dataclass(frozen=True)
class Square:
    """All pairs of a text's pieces as a square, cut into squares as large as the one that it began with, which is
    dashed; along its diagonal the band of pairs near each other, below it a strip with one place a piece.

    side, unit, most: pieces: now, at the beginning, and of the largest that there is room for
    reach: of the band, to either side; texts: what stands beside the first square, and below
    """

    side: int
    unit: int
    most: int
    reach: int
    texts: tuple[str, str]
    title: str = ""

    def sent(self) -> dict[str, Any]:
        return {
            "kind": "square",
            "title": self.title,
            "side": self.side,
            "unit": self.unit,
            "most": self.most,
            "reach": self.reach,
            "texts": list(self.texts),
        }
