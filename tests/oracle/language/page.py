"""What a lesson's claims start from: the sentence and the state in the address, and the oracle's pass of it."""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.oracle.language.words import Piece, encoded, pieces, read_text, text_of
from tests.oracle.passes.decode import translated
from tests.oracle.passes.forward import EOS, MAX_PIECES, SOS, Array, Forward, config, softmax, source_ids, tidied

DEFAULT_SENTENCE = "I ate an apple"
READABLE = 40  # rows and columns of a figure


@dataclass(frozen=True)
class Own:
    """The model of a lesson that does not show the visitor's: its sizes, and its pass of a sentence as typed."""

    config: dict[str, Any]
    translated: Callable[[str], Forward]


OWN: dict[str, Own] = {}  # by the lesson's slug


@functools.lru_cache(256)
def forward(src: tuple[int, ...], labels: tuple[int, ...], changes: tuple[tuple[str, Any], ...]) -> Forward:
    return Forward(list(src), list(labels), **dict(changes))


class Page:
    """One page in one state.

    slug:  of the lesson; sentence: as typed; text: as the model reads it
    state: the address without the sentence, as {name: text}
    src, tgt, labels: pieces that the encoder reads, the decoder reads, the decoder writes
    """

    def __init__(self, slug: str, state: Mapping[str, str]) -> None:
        self.slug = slug
        self.state = {name: value for name, value in state.items() if name != "sentence"}
        self.sentence = state.get("sentence", DEFAULT_SENTENCE)
        self.text = read_text(self.sentence)
        self.asked: dict[
            str, tuple[Sequence[str], str]
        ] = {}  # by control: what some state must set, what this one sets

    @functools.cached_property
    def oracle(self) -> Forward:
        """The whole pass: `page.oracle[name]` is a tensor or a learned weight."""
        return OWN[self.slug].translated(self.sentence) if self.slug in OWN else translated(self.sentence)

    @property
    def config(self) -> dict[str, Any]:
        """The sizes of the model that is shown."""
        return OWN[self.slug].config if self.slug in OWN else config()

    @functools.cached_property
    def src(self) -> tuple[Piece, ...]:
        return pieces(source_ids(self.sentence))

    @functools.cached_property
    def labels(self) -> tuple[Piece, ...]:
        return pieces(self.oracle.labels)

    @functools.cached_property
    def tgt(self) -> tuple[Piece, ...]:
        return pieces([SOS, *self.oracle.labels[:-1]])

    @functools.cached_property
    def translation(self) -> str:
        return text_of(self.oracle.labels)

    @functools.cached_property
    def probabilities(self) -> Array:
        """Of each piece written (T), given those before it."""
        return chances(self.oracle)

    def under(self, **changes: Any) -> Forward:
        """The same sentence and the same translation, read under changes (see `Forward`)."""
        labels = tuple(self.oracle.labels)
        return forward(tuple(source_ids(self.sentence)), labels, tuple(sorted(changes.items())))

    def reading(self, target: str, **changes: Any) -> Forward:
        """The sentence with a German text to read, as one may type it."""
        labels = (*encoded(tidied(target))[:MAX_PIECES], EOS)
        return forward(tuple(source_ids(self.sentence)), labels, tuple(sorted(changes.items())))

    def translated(self, **changes: Any) -> Forward:
        """The sentence translated anew under changes."""
        return translated(self.sentence, **changes)

    # --- the address -----------------------------------------------------------------------------------------------

    def choice(self, name: str, options: Sequence[str], default: str) -> str:
        """What a control is set to: the address decides, if it names one of the options."""
        chosen = self.state[name] if self.state.get(name) in options else default
        few = options if len(options) <= 4 else (options[0], options[-1]) if len(options) <= 12 else ()
        self.asked[name] = few, chosen
        return chosen

    def switch(self, name: str, default: bool = False) -> bool:
        return {"true": True, "false": False}.get(self.state.get(name, ""), default)

    def count(self, name: str, most: int, default: int) -> int:
        """A count from 1, in the address and here."""
        return self.number(name, 1, most, default)

    def number(self, name: str, low: int, high: int, default: int) -> int:
        """A whole number within bounds, in western digits."""
        text = self.state.get(name, "")
        return int(text) if re.fullmatch("[0-9]{1,9}", text) and low <= int(text) <= high else default

    def pair(self, name: str, shape: Sequence[int], default: tuple[int, int]) -> tuple[int, int]:
        """Two counts like `3.2`: from 1 in the address, from 0 here."""
        found = re.fullmatch(r"(\d+)\.(\d+)", self.state.get(name, ""))
        pair = (int(found[1]) - 1, int(found[2]) - 1) if found else (-1, -1)
        return pair if all(0 <= n < size for n, size in zip(pair, shape, strict=True)) else default


def chances(oracle: Forward) -> Array:
    """How likely a pass finds each piece that it writes, or is given to write (T)."""
    return softmax(oracle["logits"])[np.arange(len(oracle.labels)), oracle.labels]


def likeliest(shares: Array, n: int, right: int, more: bool = False) -> list[int]:
    """Ids of the n largest of some shares or scores (V); the right one is the last, or one more, if it is not there."""
    best = [int(id) for id in np.argsort(-shares, kind="stable")[:n]]
    return best if right in best else [*(best if more else best[:-1]), right]


def tensor(oracle: Forward, name: str) -> Array:
    """A tensor of a pass by name; also "probabilities", "cosines" and averages over heads, which it need not keep."""
    if name == "probabilities":
        return softmax(oracle["logits"])
    if name == "cosines":
        rows = oracle["encoder.embedding.tokens"]
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return units @ units.T
    if name.endswith(".average"):
        return np.mean([oracle[one] for one in averaged(name)], axis=(0, 1))
    return oracle[name]


def averaged(name: str) -> list[str]:
    """The weights (H,T,S) that an average is over: those of one layer, or of all layers of a stack."""
    one = name.replace(".average", ".weights")
    if ".layers." in name:
        return [one]
    stack, _, attention = one.partition(".")
    return [f"{stack}.layers.{n}.{attention}" for n in range(config()["n_layers"])]
