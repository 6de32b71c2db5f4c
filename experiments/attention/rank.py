"""How well a few products of a column and a row stand for the weights of one head."""

import numpy as np

from model.files.loaded_model import Array

SHARE = 0.9  # of the sum of the squares


def spectrum(weights: Array, values: Array) -> tuple[Array, int, Array]:
    """Args:    weights W (T,S), n = min(T,S); values V (S,d_k)
    Returns: the singular values of W (n), the largest first; how many of them hold SHARE; ‖W′V − WV‖ / ‖WV‖ (n + 1)
             where W′ keeps the first 0, 1, … n of them
    """
    left, sizes, right = np.linalg.svd(weights.astype(np.float64), full_matrices=False)
    parts = (left * sizes).T[:, :, None] * (right @ values)[:, None, :]  # (n,T,d_k), what each adds to the heads
    missing = np.concatenate([parts[::-1].cumsum(0)[::-1], np.zeros_like(parts[:1])])
    errors = np.linalg.norm(missing, axis=(1, 2))
    needed = int(np.argmax(np.cumsum(sizes**2) >= SHARE * (sizes**2).sum())) + 1
    return sizes, needed, errors / errors[0]
