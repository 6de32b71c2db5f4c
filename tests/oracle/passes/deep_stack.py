"""Deep stacks of encoder layers with random weights, their norms at one of several places, by hand in NumPy: forward,
back down to what each layer reads and to its matrices, and one step of gradient descent.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from tests.oracle.passes.forward import Array, softmax
from tests.oracle.passes.untrained import random_stack

N_HEADS = 4
Weights = dict[str, Array]


class Build(NamedTuple):
    """Whether what came in is added, and where norms stand: on what a sub-layer reads, writes, and on the sum."""

    add: bool = True
    before: bool = False
    inside: bool = False
    behind: bool = False


BUILDS = {
    "Add & Norm": Build(behind=True),
    "Norm alone": Build(add=False, behind=True),
    "Add alone": Build(),
    "neither": Build(add=False),
}
PLACES = {
    "Post-norm": Build(behind=True),
    "Pre-norm": Build(before=True),
    "Sandwich": Build(before=True, inside=True),
    "DeepNorm": Build(behind=True),
}


def heads(rows: Array) -> Array:
    return np.stack(np.split(rows, N_HEADS, axis=1))


def attention(w: Weights, x: Array, back: Array | None = None) -> tuple[Array, Array, Weights]:
    """What self-attention writes; the gradient of what it reads, and of its matrices (out, in), for that of what it
    writes."""
    q, k, v = (heads(x @ w[letter].T) for letter in "qkv")
    root = math.sqrt(q.shape[-1])
    weights = softmax(q @ k.swapaxes(1, 2) / root)
    concat = np.concatenate(list(weights @ v), axis=1)
    written = concat @ w["o"].T
    if back is None:
        return written, written, {}
    of_heads = heads(back @ w["o"])
    of_weights = of_heads @ v.swapaxes(1, 2)
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdims=True)) / root
    of = {"q": of_scores @ k, "k": of_scores.swapaxes(1, 2) @ q, "v": weights.swapaxes(1, 2) @ of_heads}
    of = {letter: np.concatenate(list(one), axis=1) for letter, one in of.items()}
    of_x = sum(one @ w[letter] for letter, one in of.items())
    return written, of_x, {letter: one.T @ x for letter, one in of.items()} | {"o": back.T @ concat}


def feed_forward(w: Weights, x: Array, back: Array | None = None) -> tuple[Array, Array, Weights]:
    before = x @ w["1"].T
    hidden = np.maximum(before, 0)
    written = hidden @ w["2"].T
    if back is None:
        return written, written, {}
    of_before = (back @ w["2"]) * (before > 0)
    return written, of_before @ w["1"], {"1": of_before.T @ x, "2": back.T @ hidden}


def normal(z: Array, back: Array | None = None) -> Array:
    deviation = np.sqrt(z.var(1, keepdims=True) + 1e-5)
    y = (z - z.mean(1, keepdims=True)) / deviation
    if back is None:
        return y
    return (back - back.mean(1, keepdims=True) - y * (back * y).mean(1, keepdims=True)) / deviation


class Stack:
    """The layers, with a forward pass that remembers what every sub-layer read. rows: what each layer reads, and last
    what comes out; backs: the gradient of each, the last given"""

    def __init__(self, name: str, depth: int, draw: int) -> None:
        self.build, deep = (PLACES | BUILDS)[name], name == "DeepNorm"
        self.stream = (2 * depth) ** 0.25 if deep else float(self.build.add)  # what the stream is multiplied by
        beta = (8 * depth) ** -0.25 if deep else 1.0
        self.x, self.goal, layers = random_stack(draw)
        self.layers = [{n: w * (beta if n in "vo12" else 1) for n, w in layer.items()} for layer in layers[:depth]]

    def forward(self) -> Array:
        x, self.read, self.rows = self.x, [], [self.x]
        for w in self.layers:
            for sublayer in (attention, feed_forward):
                y = normal(x) if self.build.before else x
                written = sublayer(w, y)[0]
                total = self.stream * x + (normal(written) if self.build.inside else written)
                self.read.append((sublayer, w, x, y, written, total))
                x = normal(total) if self.build.behind else total
            self.rows.append(x)
        return normal(x) if self.build.before else x

    def gradients(self) -> list[Weights]:
        """Of the matrices of every layer, first layer first; after `forward`."""
        back = normal(self.rows[-1], self.goal) if self.build.before else self.goal
        self.backs, found = [back], []
        for n, (sublayer, w, x, y, written, total) in enumerate(reversed(self.read)):
            back = normal(total, back) if self.build.behind else back
            _, of_y, of_w = sublayer(w, y, normal(written, back) if self.build.inside else back)
            back = self.stream * back + (normal(x, of_y) if self.build.before else of_y)
            found.append(of_w)
            if n % 2:
                self.backs.insert(0, back)
        return [found[n + 1] | found[n] for n in range(0, len(found), 2)][::-1]


@functools.cache
def one_step(place: str, depth: int, step: float, draw: int) -> tuple[list[float], list[float]]:
    """The length of each layer's gradient; how far a step moves what comes out of each layer and at last of the stack,
    as a share of its own length."""
    stack = Stack(place, depth, draw)
    output, gradients = stack.forward(), stack.gradients()
    before = [*stack.rows[1:], output]
    for w, of_w in zip(stack.layers, gradients, strict=True):
        w |= {name: w[name] - step * one for name, one in of_w.items()}
    lengths = [math.sqrt(sum((one**2).sum() for one in of_w.values())) for of_w in gradients]
    output = stack.forward()
    pairs = zip(before, [*stack.rows[1:], output], strict=True)
    return lengths, [float(np.linalg.norm(b - a) / np.linalg.norm(a)) for a, b in pairs]


def place_run(place: str, depth: int, step: float, draw: int) -> tuple[list[float], float]:
    """The length of each layer's gradient, and how far a step moves the output."""
    lengths, moved = one_step(place, depth, step, draw)
    return lengths, moved[-1]


@functools.cache
def deep_run(build: str, depth: int, draw: int) -> tuple[list[float], list[float]]:
    """Of the inputs of each layer and of the output: the size of the gradient, the last being 1; the mean cosine of two
    rows."""
    stack = Stack(build, depth, draw)
    stack.forward()
    stack.gradients()
    sizes = [np.linalg.norm(back) for back in stack.backs]
    return [float(size / sizes[-1]) for size in sizes], [alike(rows) for rows in stack.rows]


def alike(rows: Array) -> float:
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = units @ units.T
    return float(cosines[~np.eye(len(rows), dtype=bool)].mean())
