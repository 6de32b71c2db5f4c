"""The learned space of the vocabulary, from the weights alone: cosines, neighbours, who stands beside whom."""

import functools

import numpy as np

from tests.oracle.language.words import entry
from tests.oracle.passes.forward import Array, config, random_weights, tidied, weights

MATRIX = "embedding.matrix.weight"


@functools.cache
def rows(learned: bool = True, centred: bool = True) -> Array:
    """The rows of E; centred: without the mean row."""
    matrix = np.asarray((weights() if learned else random_weights(**config()))[MATRIX], float)
    return matrix - matrix.mean(0) if centred else matrix


@functools.cache
def units(learned: bool = True, centred: bool = True) -> Array:
    """The same, each of length 1."""
    found = rows(learned, centred)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def cosine_of(one: Array, other: Array) -> float:
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))


def cosine(one: int, other: int) -> float:
    """Of two rows of E as they are."""
    return float(units(centred=False)[one] @ units(centred=False)[other])


@functools.cache
def neighbours(id: int, count: int, learned: bool = True) -> tuple[tuple[int, float], ...]:
    """The entries nearest to one, with their cosines, the mean row taken away."""
    alike = units(learned) @ units(learned)[id]
    order = [int(i) for i in np.argsort(-alike, kind="stable") if i != id]
    return tuple((i, float(alike[i])) for i in order[:count])


def mean_cosine(centred: bool) -> float:
    """Of all pairs of different rows."""
    one = units(centred=centred)
    return float((np.square(one.sum(0)).sum() - len(one)) / (len(one) * (len(one) - 1)))


@functools.cache
def usual() -> Array:
    """The cosine of the nearest neighbour for every 16th entry."""
    sample = range(0, len(units()), 16)
    return np.array([np.delete(units() @ units()[i], i).max() for i in sample])


def around(ids: list[int]) -> list[int]:
    """Indices of some entries in their order around a circle: by angle in the plane where they differ most."""
    some = units(centred=False)[ids]
    some = some - some.mean(0)
    _, _, directions = np.linalg.svd(some, full_matrices=False)
    plane = directions[:2]
    plane = plane * np.sign([d[np.abs(d).argmax()] for d in plane])[:, None]
    across, up = plane @ some.T
    return [int(n) for n in np.argsort(np.arctan2(across, up), kind="stable")]


def name(id: int) -> str:
    """An entry with its spaces shown."""
    return entry(id).replace(" ", "␣")


def search(typed: str) -> list[int]:
    """The entries that a search gives: the very word, the very piece, other capitals, beginnings; else insides."""
    query = tidied(typed)[:40].strip().replace(" ", "␣")
    if not query:
        return []
    groups: list[list[int]] = [[], [], [], [], []]
    for id in range(config()["vocab_size"]):
        text, small = name(id), query.casefold()
        if small not in text.casefold():
            continue
        bare = text.removeprefix("␣").casefold()
        fits = text == "␣" + query, text == query, bare == small, bare.startswith(small), True
        groups[fits.index(True)].append(id)
    best = [id for group in groups[:4] for id in group]
    return (best or groups[4])[:12]
