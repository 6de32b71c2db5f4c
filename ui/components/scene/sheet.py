"""Two means of a scene: a picture cut into patches, and its patches in a row with the one that looks at them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from model.files.loaded_model import Array
from ui.components.scene.rounding import rounded

_LEVELS = "0123456789abcdefghijklmnopqrstuvwxyz"  # of ink, from paper on


def ink_text(picture: Array) -> str:
    """A sign for each pixel of a picture in ink from 0 to 1, row by row."""
    return "".join(_LEVELS[round((len(_LEVELS) - 1) * float(ink))] for ink in picture.flat)


@dataclass(frozen=True)
class Cut:
    """A picture (h,w) in ink from 0 to 1, cut into patches of so many pixels to a side, counted from 1, row by row.

    weights: how much of each patch is taken, as shares of limit: the bluer; () where nobody looks
    hidden: patches that nobody looks at; whole: it is not cut
    """

    picture: Array
    patch: int
    weights: Sequence[float] = ()
    hidden: Collection[int] = ()
    limit: float = 1.0
    whole: bool = False

    def sent(self) -> dict[str, Any]:
        high, wide = self.picture.shape
        return {
            "size": wide,
            "side": wide // self.patch,
            "down": high // self.patch,
            "whole": self.whole,
            "ink": ink_text(self.picture),
            "weights": [rounded(min(1.0, weight / self.limit)) for weight in self.weights],
            "hidden": [int(n in self.hidden) for n in range(1, 1 + len(self.weights))],
        }


@dataclass(frozen=True)
class Sheet:
    """The picture with its patches where they lie, and windows that begin so many patches from the left and the top.

    marked: a patch with an outline of its own, from 1; 0 for none
    """

    cut: Cut
    title: str = ""
    note: str = ""
    windows: Sequence[int] = ()
    marked: int = 0

    def sent(self) -> dict[str, Any]:
        said = {"kind": "sheet", "title": self.title, "note": self.note, "windows": list(self.windows)}
        return self.cut.sent() | said | {"marked": self.marked}


@dataclass(frozen=True)
class Fan:
    """The patches side by side, each below the first numbers of its column; lines as thick as the weights lead to the
    row that looks at them.

    columns: a few numbers of each; limit: of their colours
    """

    cut: Cut
    top: str
    columns: Sequence[Sequence[float]]
    title: str = ""
    note: str = ""
    limit: float = 1.0

    def sent(self) -> dict[str, Any]:
        return self.cut.sent() | {
            "kind": "fan",
            "title": self.title,
            "note": self.note,
            "top": self.top,
            "columns": [[rounded(number) for number in column] for column in self.columns],
            "limit": rounded(self.limit),
        }
