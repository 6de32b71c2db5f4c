"""The gradient in a deep stack of encoder layers with random weights, by hand in NumPy: forward, and back down."""

import functools
import math

import numpy as np

from tests.oracle.passes.forward import Array, softmax
from tests.oracle.passes.untrained import random_stack

N_HEADS = 4
# Whether what came in is added, and whether the sum is normalised.
BUILDS = {
    "Add & Norm": (True, True),
    "Norm alone": (False, True),
    "Add alone": (True, False),
    "neither": (False, False),
}


def heads(rows: Array) -> Array:
    return np.stack(np.split(rows, N_HEADS, axis=1))


def attention(w: dict[str, Array], x: Array, back: Array | None = None) -> Array:
    """What self-attention writes; with `back`, the gradient of what it writes, that of what it reads."""
    q, k, v = (heads(x @ w[letter].T) for letter in "qkv")
    root = math.sqrt(q.shape[-1])
    weights = softmax(q @ k.swapaxes(1, 2) / root)
    if back is None:
        return np.concatenate(list(weights @ v), axis=1) @ w["o"].T
    of_heads = heads(back @ w["o"])
    of_weights = of_heads @ v.swapaxes(1, 2)
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdims=True)) / root
    of = {"q": of_scores @ k, "k": of_scores.swapaxes(1, 2) @ q, "v": weights.swapaxes(1, 2) @ of_heads}
    return sum(np.concatenate(list(one), axis=1) @ w[letter] for letter, one in of.items())


def feed_forward(w: dict[str, Array], x: Array, back: Array | None = None) -> Array:
    before = x @ w["1"].T
    if back is None:
        return np.maximum(before, 0) @ w["2"].T
    return ((back @ w["2"]) * (before > 0)) @ w["1"]


def normal(z: Array, back: Array | None = None) -> Array:
    deviation = np.sqrt(z.var(1, keepdims=True) + 1e-5)
    y = (z - z.mean(1, keepdims=True)) / deviation
    if back is None:
        return y
    return (back - back.mean(1, keepdims=True) - y * (back * y).mean(1, keepdims=True)) / deviation


@functools.cache
def deep_run(build: str, depth: int, draw: int) -> tuple[list[float], list[float]]:
    """Of the inputs of each layer and of the output: the size of the gradient, the last being 1; the mean cosine of two
    rows."""
    add, norm = BUILDS[build]
    x, goal, layers = random_stack(draw)
    rows, steps = [x], []
    for w in layers[:depth]:
        for sublayer in (attention, feed_forward):
            z = sublayer(w, x) + x * add
            steps.append((sublayer, w, x, z))
            x = normal(z) if norm else z
        rows.append(x)
    back, sizes = goal, [np.linalg.norm(goal)]
    for n, (sublayer, w, x, z) in enumerate(reversed(steps)):
        of_sum = normal(z, back) if norm else back
        back = sublayer(w, x, of_sum) + of_sum * add
        if n % 2:
            sizes.append(np.linalg.norm(back))
    return [float(size / sizes[0]) for size in reversed(sizes)], [alike(one) for one in rows]


def alike(rows: Array) -> float:
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = units @ units.T
    return float(cosines[~np.eye(len(rows), dtype=bool)].mean())
