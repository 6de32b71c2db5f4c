"""How large the product of two random vectors is."""

import numpy as np

from model.files.loaded_model import Array, LoadedModel

PAIRS, SEED = 10_000, 0


def spreads(_loaded: LoadedModel, sizes: tuple[int, ...]) -> Array:
    """Standard deviation of q·k over PAIRS random pairs of each size; every number of q and k has variance 1."""
    random = np.random.default_rng(SEED)
    return np.array(
        [np.einsum("nd,nd->n", *random.standard_normal((2, PAIRS, size), dtype=np.float32)).std() for size in sizes]
    )
