"""Two means of a scene with small pictures: a field of texts against pictures, and bars with pictures beside them.

A picture is named by a word; the scene says what it looks like (`Scene.pictures`), once for all frames.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from model.files.loaded_model import Array
from ui.components.scene.rounding import rounded
from ui.text import piece


@dataclass(frozen=True)
class Field:
    """A row for each text, a column for each picture, and in each cell a share from 0 to 1 (texts, pictures).

    What belongs together stands in the diagonal, which is marked.
    """

    texts: Sequence[str]
    pictures: Sequence[str]
    shares: Array
    title: str = ""
    note: str = ""

    def sent(self) -> dict[str, Any]:
        return {
            "kind": "field",
            "title": self.title,
            "note": self.note,
            "texts": [piece(text) for text in self.texts],
            "pictures": list(self.pictures),
            "shares": [[rounded(share) for share in row] for row in self.shares.tolist()],
        }


@dataclass(frozen=True)
class Find:
    """Something that was found: its name, its share of all that are shown, a note; and its picture, if it has one.

    strong: it is the one that is spoken of
    """

    name: str
    share: float
    text: str
    note: str = ""
    picture: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Finds:
    """What was found, one below the other, on one scale from 0 to 1; of: the picture that it was looked for with."""

    finds: Sequence[Find]
    title: str = ""
    note: str = ""
    of: str = ""

    def sent(self) -> dict[str, Any]:
        return {
            "kind": "finds",
            "title": self.title,
            "note": self.note,
            "of": self.of,
            "finds": [
                [piece(one.name), rounded(one.share), one.text, one.note, one.picture, one.strong] for one in self.finds
            ],
        }
