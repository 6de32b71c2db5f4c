"""The vocabulary as a reader sees it: entries as text, how to find one, and which are its neighbours."""

from experiments.inputs.vocabulary import entry_texts, neighbours
from model.files.loaded_model import TRANSLATOR
from model.text.tokenizer import normalise
from ui import engine

EMBEDDINGS = "embedding.matrix.weight"  # the learned matrix: one row an entry
NEIGHBOURS = 8

MOST = 12  # entries a search gives
MAX_QUERY = 40  # characters of a search that are read
_INSIDE = 9  # rank of an entry that holds what is searched for somewhere inside


def spaced(text: str) -> str:
    """Text with its spaces made visible."""
    return text.replace(" ", "␣")


def entries(name: str = TRANSLATOR) -> tuple[str, ...]:
    """Every vocabulary entry of a model as text, spaces made visible, by id."""
    return engine.run(entry_texts, engine.model(name))


def find(typed: str, name: str = TRANSLATOR) -> list[int]:
    """Ids of the entries that a search means: those it names, then those it begins.

    Those it is a part of come only where there are no others: who looks for *king* does not mean *talking*.
    """
    query = spaced(normalise(typed)[:MAX_QUERY].strip())
    if not query:
        return []
    small = query.casefold()
    ranked = []
    for id, entry in enumerate(entries(name)):
        bare = entry.removeprefix("␣")
        other = bare.casefold()
        if small in entry.casefold():
            named = (entry == f"␣{query}", entry == query, other == small, other.startswith(small))
            ranked.append((named.index(True) if any(named) else _INSIDE, id))
    best = [pair for pair in ranked if pair[0] < _INSIDE] or ranked
    return [id for _, id in sorted(best)[:MOST]]


def hexadecimal(raw: bytes) -> str:
    """Bytes as pairs of hexadecimal digits: 61 74 65."""
    return raw.hex(" ").upper()


def neighbours_of(entry: int, name: str = TRANSLATOR, count: int = NEIGHBOURS) -> tuple[list[int], list[float]]:
    """The entries whose embeddings in a model are nearest to this one's, the mean row taken away, and their cosines."""
    ids, values = engine.run(neighbours, engine.model(name), entry, count)
    return list(ids), list(values)
