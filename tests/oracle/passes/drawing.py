"""The decoder that draws once more, in NumPy and float64. Imports nothing of what it checks."""

import functools
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load_file

from tests.oracle.passes import shipped
from tests.oracle.passes.draws import Dice
from tests.oracle.passes.network import EMBEDDING, Array, Network, softmax

FOLDER = shipped.MODELS / "drawing"
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
QUESTIONS = ("even?", "above five?", "a multiple of three?")


@functools.cache
def weights() -> dict[str, Array]:
    return {name: w.astype(np.float64) for name, w in load_file(FOLDER / "model.safetensors").items()}


@functools.cache
def codes() -> Array:
    """The code book as squares of pixels (64,4,4)."""
    return np.asarray(load_file(FOLDER / "codes.safetensors")["codes"].astype(np.float64).reshape(64, 4, 4))


class Read(Network):
    """A row of ids: words 0 to 9, patches from 10, 74 before what is asked about, questions from 75, no 78, yes 79."""

    def __init__(self, ids: tuple[int, ...]) -> None:
        super().__init__(shipped.config("drawing"), weights(), records=("logits", "scores", "weights"))
        x = self.stack("decoder", self.embed("decoder", [*ids]), np.tri(len(ids), dtype=bool))
        self.keep("logits", x @ self.w[EMBEDDING].T)


class Drawing(NamedTuple):
    """Its ids (49), and what each was drawn from (49,64)."""

    ids: tuple[int, ...]
    chances: Array

    def picture(self, n: int = 49) -> Array:
        """The first n patches, paper behind them."""
        return picture([*self.ids[:n], *[10] * (49 - n)])


def picture(ids: list[int]) -> Array:
    whole = np.zeros((28, 28))
    for at, id in enumerate(ids):
        row, column = divmod(at, 7)
        whole[4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = codes()[id - 10]
    return whole


@functools.cache
def drawing(word: int, seed: int, temperature: float = 1.0, forced: tuple[int, int] | None = None) -> Drawing:
    dice = Dice(seed)
    ids: tuple[int, ...] = (word,)
    chances = []
    for at in range(49):
        shares = softmax(Read(ids)["logits"][-1, 10:74] / temperature)
        drawn = 10 + dice.throw(shares)
        ids = (*ids, forced[1] if forced and forced[0] == at else drawn)
        chances.append(shares)
    return Drawing(ids[1:], np.stack(chances))


@functools.cache
def yes(patches: tuple[int, ...]) -> Array:
    """How likely each question is answered yes, of yes and no (3)."""
    return np.array([softmax(Read((74, *patches, 75 + n))["logits"][-1, 78:80])[1] for n in range(3)])


def in_patches(drawn: Array) -> tuple[int, ...]:
    """Each square of a picture as the code that is nearest."""
    found = []
    for at in range(49):
        row, column = divmod(at, 7)
        square = drawn[4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
        found.append(10 + int(((codes() - square) ** 2).sum((1, 2)).argmin()))
    return tuple(found)
