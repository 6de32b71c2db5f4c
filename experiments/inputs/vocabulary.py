"""What a model's embedding matrix holds: its entries as text, which rows are neighbours, how alike rows are at all."""

import numpy as np

from figures.embedding_space import centred, cosines, mean_cosine, nearest
from model.files.loaded_model import Array, LoadedModel

EVERY = 16  # of the vocabulary: the sample that tells how near a nearest neighbour usually is


def embedding_matrix(loaded: LoadedModel) -> Array:
    """The learned matrix E (vocab_size,d_model): one row an entry."""
    stack = loaded.anatomy.stacks[0]
    (name,) = loaded.anatomy.tensors[f"{stack.embedding}.tokens"].weights
    return loaded.weights[name]


def entry_texts(loaded: LoadedModel) -> tuple[str, ...]:
    """Every vocabulary entry as text, its spaces made visible, by id."""
    tokenizer = loaded.tokenizer
    return tuple(tokenizer.piece_text(i).replace(" ", "␣") for i in range(tokenizer.vocab_size))


def neighbours(loaded: LoadedModel, entry: int, count: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The entries with the largest cosine to this one, nearest first, and their cosines; the mean row is taken away."""
    ids, values = nearest(centred(embedding_matrix(loaded)), entry, count)
    return tuple(ids), tuple(values)


def nearest_cosines(loaded: LoadedModel) -> Array:
    """For every 16th entry the cosine of its nearest neighbour, as `neighbours` measures it, in rising order."""
    rows = centred(embedding_matrix(loaded)).astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    at = np.arange(0, len(rows), EVERY)
    found = rows[at] @ rows.T
    found[np.arange(len(at)), at] = -1
    return np.sort(found.max(1)).astype(np.float32)


def mean_cosines(loaded: LoadedModel) -> tuple[float, float]:
    """The mean cosine of all pairs of different rows of E: as they are, and with the mean row taken away."""
    matrix = embedding_matrix(loaded)
    return mean_cosine(matrix), mean_cosine(centred(matrix))


def cosines_of(loaded: LoadedModel, ids: tuple[int, ...], others: tuple[int, ...]) -> Array:
    """The cosines between some rows of E and others, as they are."""
    matrix = embedding_matrix(loaded)
    return cosines(matrix[list(ids)], matrix[list(others)]).astype(np.float32)
