"""A mean of a scene: a sound as a wave and as a spectrogram, what each strip of it says, and what that comes to."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from model.files.loaded_model import Array
from ui.components.scene.rounding import rounded
from ui.components.scene.sheet import ink_text


@dataclass(frozen=True)
class Heard:
    """A sound, read out strip by strip up to one of them.

    spectrogram: (pitches,frames), lowest pitch first, from 0 to 1; None in all frames of a scene but the first, which
    lends it to them. wide: frames in a strip; loud: of each frame, from 0 to 1
    strips: what each says, and how likely that is; blank: what says nothing new; upto: so many are read out
    """

    strips: Sequence[tuple[str, float]]
    upto: int
    blank: str
    wide: int
    spectrogram: Array | None = None
    loud: Array | None = None
    title: str = ""

    def sent(self) -> dict[str, Any]:
        lent = {}
        if self.spectrogram is not None and self.loud is not None:
            upwards = np.flipud(self.spectrogram)
            lent = {"ink": ink_text(upwards), "high": len(upwards), "loud": ink_text(self.loud)}
        return lent | {
            "kind": "heard",
            "title": self.title,
            "upto": self.upto,
            "wide": self.wide,
            "blank": self.blank,
            "strips": [[text, rounded(sure)] for text, sure in self.strips],
            "cards": [list(card) for card in self.cards()],
        }

    def cards(self) -> list[tuple[int, int, str]]:
        """Of the strips that are read out, each group of neighbours that say the same, but the blank: from which strip
        to which, and what they say.
        """
        at, found = 0, []
        for text, group in groupby(text for text, _ in self.strips[: self.upto]):
            n = sum(1 for _ in group)
            if text != self.blank:
                found.append((at, at + n - 1, text))
            at += n
        return found
