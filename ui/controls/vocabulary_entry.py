"""The vocabulary as a reader sees it: entries as text, and how to find one."""

import functools

from figures.embedding_space import Projection, nearest, principal_projection
from model.loaded import TRANSLATOR
from model.tokenizer import normalise
from ui import engine

EMBEDDINGS = "embedding.matrix.weight"  # the learned matrix: one row an entry
NEIGHBOURS = 8

FOUND = 12  # entries a search gives at most
MAX_QUERY = 40  # characters of a search that are read


def spaced(text: str) -> str:
    """Text with its spaces made visible."""
    return text.replace(" ", "␣")


@functools.cache
def entries() -> tuple[str, ...]:
    """Every vocabulary entry as text, spaces made visible, by id."""
    tokenizer = engine.model().tokenizer
    return tuple(spaced(tokenizer.piece_text(i)) for i in range(tokenizer.vocab_size))


def find(typed: str) -> list[int]:
    """Ids of the entries that a search means: those it names, then those it begins, then those it is a part of."""
    query = spaced(normalise(typed)[:MAX_QUERY].strip()).casefold()
    if not query:
        return []

    def match(entry: str) -> int | None:
        bare = entry.removeprefix("␣")
        for n, fits in enumerate((entry == f"␣{query}", entry == query, bare.startswith(query), query in entry)):
            if fits:
                return n
        return None

    ranked = [(n, i) for i, entry in enumerate(_casefolded()) if (n := match(entry)) is not None]
    return [i for _, i in sorted(ranked)[:FOUND]]


@functools.cache
def _casefolded() -> tuple[str, ...]:
    return tuple(entry.casefold() for entry in entries())


def hexadecimal(raw: bytes) -> str:
    """Bytes as pairs of hexadecimal digits: 61 74 65."""
    return raw.hex(" ").upper()


@functools.lru_cache(512)
def neighbours_of(entry: int, name: str = TRANSLATOR) -> tuple[list[int], list[float]]:
    """The entries whose embeddings in a model are nearest to this one's, and their cosines."""
    return nearest(engine.model(name).weights[EMBEDDINGS], entry, NEIGHBOURS)


@functools.cache
def projection() -> Projection:
    """The whole learned vocabulary in two dimensions, computed once."""
    return principal_projection(engine.model().weights[EMBEDDINGS])
