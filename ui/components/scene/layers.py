"""Two means of a scene: one layer's wiring, and a tower of layers that sways."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ui.components.scene.rounding import rounded

Slot = Literal["after the sum", "after", "before"]
_SLOTS: tuple[Slot, ...] = ("after the sum", "after", "before")


@dataclass(frozen=True)
class Wiring:
    """A sub-layer beside the stream, and the norms where they stand: after the sum, or behind or before the sub-layer.

    norms: two places, the same one twice for a single norm, so that a norm can move along the wire; more: whether the
           stream counts for more in the sum
    """

    sublayer: str
    norms: tuple[Slot, Slot]
    title: str = ""
    more: bool = False

    def sent(self) -> dict[str, Any]:
        return {
            "kind": "wiring",
            "title": self.title,
            "sublayer": self.sublayer,
            "norms": [_SLOTS.index(slot) for slot in self.norms],
            "more": int(self.more),
        }


@dataclass(frozen=True)
class Tower:
    """Layers one above the other, the first at the bottom; each is as far from where it stood as it has moved.

    moved: shares of the limit; text: how far the top has moved
    """

    moved: Sequence[float]
    text: str
    title: str = ""
    note: str = ""
    limit: float = 1.0

    def sent(self) -> dict[str, Any]:
        return {
            "kind": "tower",
            "title": self.title,
            "text": self.text,
            "note": self.note,
            "moved": [rounded(share / self.limit) for share in self.moved],
        }
