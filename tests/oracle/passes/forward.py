"""The translator's pass over a sentence, from the shipped files alone, and its pieces: no code of the project."""

import functools
import itertools
import json
import re
import unicodedata
from typing import Any

import numpy as np

from tests.oracle.passes import shipped
from tests.oracle.passes.network import EMBEDDING, Array, Network, Weights, position, positions, softmax
from tests.oracle.passes.untrained import random_weights

FOLDER = shipped.MODELS / "translator"
PAD, SOS, EOS = 0, 1, 2
MAX_PIECES = 100  # of a sentence, <eos> not counted
QUOTES = {"‘": "'", "’": "'", "‚": "'", "`": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'}

__all__ = ["EMBEDDING", "Array", "position", "positions", "softmax"]


config, weights, tokenizer = (
    functools.partial(read, "translator") for read in (shipped.config, shipped.weights, shipped.tokenizer)
)


def tidied(text: str) -> str:
    """A typed sentence as the app promises to read it: one space between words, straight quotes, no controls."""
    kept = [" " if c.isspace() else QUOTES.get(c, c) for c in unicodedata.normalize("NFC", text)]
    kept = [c for c in kept if unicodedata.category(c) not in ("Cc", "Cs")]
    return re.sub(" +", " ", "".join(kept)).strip()


def source_ids(text: str) -> list[int]:
    """Ids of a typed sentence, cut where the model can take no more, and `<eos>`."""
    return [*tokenizer().encode(tidied(text), add_special_tokens=False).ids[:MAX_PIECES], EOS]


@functools.cache
def merges() -> dict[tuple[str, str], int]:
    """The rank of each merge rule, from 1."""
    rules = json.loads((FOLDER / "tokenizer.json").read_text())["model"]["merges"]
    return {(left, right): rank for rank, (left, right) in enumerate(rules, 1)}


def replayed(piece: str) -> list[int]:
    """Ranks of the rules that join the bytes of a vocabulary entry, in the order in which they fire."""
    symbols, ranks = list(piece), []
    while pairs := [pair for pair in itertools.pairwise(symbols) if pair in merges()]:
        best = min(pairs, key=merges().__getitem__)
        ranks.append(merges()[best])
        at = list(itertools.pairwise(symbols)).index(best)
        symbols[at : at + 2] = ["".join(best)]
    assert symbols == [piece]
    return ranks


def bytes_of(piece: str) -> bytes:
    """The bytes of a vocabulary entry, which spells each as one visible sign (Radford et al. 2019)."""
    return bytes(_byte_table()[sign] for sign in piece)


@functools.cache
def _byte_table() -> dict[str, int]:
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + n): byte for n, byte in enumerate(others)}


class Forward(Network):
    """One pass of a sentence: every value by its name in `tensors`.

    Args: src: ids of the source; labels: ids that the decoder writes, or is given to write
          blocked: source positions hidden from everybody
          memory_after: after how many layers of the encoder the decoder reads it; None: after all
          untrained: with random weights in place of those learned; pads: how many `<pad>` stand behind the source
          settings, w: config and weights, if not the translator's; changes: see `Network`
    """

    def __init__(
        self,
        src: list[int],
        labels: list[int],
        *,
        blocked: tuple[int, ...] = (),
        memory_after: int | None = None,
        untrained: bool = False,
        pads: int = 0,
        settings: dict[str, Any] | None = None,
        w: Weights | None = None,
        **changes: Any,
    ) -> None:
        learned = random_weights(**config()) if untrained else weights() if w is None else w
        super().__init__(settings or config(), learned, **changes)
        src, self.labels = [*src, *[PAD] * pads], labels
        self.ids = {"encoder": src, "decoder": [SOS, *labels[:-1]]}
        self.seen = np.array([j not in blocked for j in range(len(src))])[None]
        self.memory: Array = self.stack("encoder", self.embed("encoder", src), self.seen)
        if memory_after is not None:
            n = memory_after - 1
            self.memory = self[f"encoder.layers.{n}.add_norm_2.output" if n >= 0 else "encoder.embedding.output"]
        self.logits = self.keep("logits", self.decoder([SOS, *labels[:-1]]))

    def is_greedy(self) -> bool:
        """Whether each label is the likeliest next piece: then writing piece by piece would have given the same."""
        return bool(self.logits.argmax(-1).tolist() == self.labels)
