"""The text tower once more, in NumPy and float64, and what is shipped of pictures; imports nothing of the app."""

import base64
import functools
import re
import unicodedata
import zlib
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load_file

from tests.oracle.passes import shipped
from tests.oracle.passes.network import Array, Network

FOLDER = shipped.MODELS / "clip"
PARTS = {"family": "encoder_only", "positions": "none", "norm_place": "pre", "activation": "gelu"}
SKIPPED = {
    *("a", "an", "and", "are", "at", "for", "from", "in", "is", "it", "its", "my", "of", "on", "or", "s", "some"),
    *("that", "the", "this", "to", "was", "with", "your"),
}
MOST, COLDEST = 12, 0.01


class Emoji(NamedTuple):
    name: str
    split: str
    words: frozenset[str]

    @property
    def learned(self) -> bool:
        return self.split == "train"


@functools.cache
def emoji() -> tuple[Emoji, ...]:
    lines = (FOLDER / "emoji.tsv").read_text(encoding="utf-8").splitlines()[1:]
    told = (line.split("\t") for line in lines)
    return tuple(Emoji(name, split, frozenset(words.split(" "))) for name, split, words in told)


@functools.cache
def known_words(often: int = 1) -> tuple[str, ...]:
    met = sorted(word for one in emoji() if one.learned for word in one.words)
    return tuple(dict.fromkeys(word for n, word in enumerate(met) if met[n : n + often] == [word] * often))


@functools.cache
def weights(tower: str) -> dict[str, Array]:
    held = load_file(FOLDER / "model.safetensors")
    return {name.partition(".")[2]: w.astype(np.float64) for name, w in held.items() if name.startswith(tower)}


@functools.cache
def temperature() -> float:
    return max(COLDEST, float(np.exp(-load_file(FOLDER / "model.safetensors")["cold"].astype(np.float64))))


@functools.cache
def vectors() -> Array:
    return np.asarray(load_file(FOLDER / "vectors.safetensors")["vectors"].astype(np.float64))


@functools.cache
def picture(n: int) -> bytes:
    held = load_file(FOLDER / "pictures.safetensors")
    return bytes(held["files"][held["ends"][n] : held["ends"][n + 1]])


def address(n: int) -> str:
    return "data:image/png;base64," + base64.b64encode(picture(n)).decode()


def all_words(text: str) -> list[str]:
    """Small, without accents, what is neither a letter nor a digit between them."""
    letters = (c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    return [word for word in re.split(r"[\W_]+", "".join(letters)) if word]


def words(text: str) -> list[str]:
    every = all_words(text)
    telling = [word for word in every if word not in SKIPPED]
    return (telling or every)[:MOST]


def rows_of(word: str, n_rows: int) -> list[int]:
    """Of the table: one for the whole word, one for each three signs in a row, at most 16."""
    signs = "<" + word + ">"
    pieces = [signs] + ["".join(three) for three in zip(signs, signs[1:], signs[2:], strict=False)]
    return [1 + zlib.crc32(piece.encode()) % (n_rows - 1) for piece in pieces[:16]]


class Read(Network):
    """A text read by its tower."""

    def __init__(self, text: str) -> None:
        config = shipped.config("clip")
        super().__init__(config | PARTS, weights("texts"))
        rows = [rows_of(word, config["n_parts"]) for word in words(text)]
        table = self.w["embedding.table.weight"]
        means = np.stack([table[one].mean(0) for one in rows])
        x = self.stack("encoder", self.keep("encoder.embedding.output", means), np.array(True))
        vector = self.linear("project", x.mean(0))
        self.vector = vector / np.sqrt((vector**2).sum())


@functools.lru_cache(512)
def read(text: str) -> Read:
    return Read(text)


def texts(*many: str) -> Array:
    return np.stack([read(text).vector for text in many])


@functools.cache
def of_known_words(often: int) -> Array:
    return np.stack([Read(word).vector for word in known_words(often)])


def nearest(vector: Array, others: Array, n: int) -> tuple[list[int], Array]:
    cosines = others @ vector
    which = sorted(range(len(others)), key=lambda at: -cosines[at])[:n]
    return which, cosines[which]
