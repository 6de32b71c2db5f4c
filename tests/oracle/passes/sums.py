"""The four adders of "Rule or by heart?" once more, in NumPy and float64. Imports nothing of what it checks."""

import functools
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load_file

from tests.oracle.passes import shipped
from tests.oracle.passes.network import Array, Network, softmax

FOLDER, SIZES = shipped.MODELS / "sums", (200, 400, 500, 20000)
SIGNS = "0123456789+="


@functools.cache
def weights(size: int) -> dict[str, Array]:
    return {name: w.astype(np.float64) for name, w in load_file(FOLDER / f"{size}.safetensors").items()}


@functools.cache
def learned(size: int) -> frozenset[tuple[int, int]]:
    rows = load_file(FOLDER / "learned.safetensors")["sums"][:size]
    return frozenset((int(a), int(b)) for a, b in rows)


class Read(Network):
    """A row of signs (T) read by one of the four: `read["logits"]` is (T,12), or another tensor or weight by name."""

    def __init__(self, size: int, text: str) -> None:
        super().__init__(shipped.config("sums"), weights(size), records=("logits", "normed", "weights"))
        self.ids = [SIGNS.index(sign) for sign in text]
        x = self.stack("decoder", self.embed("decoder", self.ids), np.tri(len(text), dtype=bool))
        self.keep("logits", x @ self.w["embedding.matrix.weight"].T)


class Answer(NamedTuple):
    """As it was written, the last digit first; the probability of each; the whole pass."""

    said: str
    chances: list[float]
    read: Read

    @property
    def sure(self) -> float:
        return float(np.prod(self.chances))

    @property
    def value(self) -> int:
        return int(self.said[::-1])


@functools.lru_cache(256)
def answer(size: int, a: int, b: int) -> Answer:
    text, chances = f"{a:04}+{b:04}=", []
    for _ in range(5):
        shares = softmax(Read(size, text)["logits"][-1])
        text += SIGNS[int(shares.argmax())]
        chances.append(float(shares.max()))
    return Answer(text[10:], chances, Read(size, text[:-1]))
