"""A stack of encoder layers with random weights and its norms at one of four places, by hand in NumPy: forward, back
down to the matrices, and one step of gradient descent.
"""

import functools
import math

import numpy as np

from tests.oracle.passes.deep_stack import heads, normal
from tests.oracle.passes.forward import Array, softmax
from tests.oracle.passes.untrained import random_stack

PLACES = ("Post-norm", "Pre-norm", "Sandwich", "DeepNorm")
Weights = dict[str, Array]


def attention(w: Weights, x: Array, back: Array) -> tuple[Array, Array, Weights]:
    """What self-attention writes; the gradient of what it reads, and of its matrices (out, in)."""
    q, k, v = (heads(x @ w[letter].T) for letter in "qkv")
    root = math.sqrt(q.shape[-1])
    weights = softmax(q @ k.swapaxes(1, 2) / root)
    concat = np.concatenate(list(weights @ v), axis=1)
    of_heads = heads(back @ w["o"])
    of_weights = of_heads @ v.swapaxes(1, 2)
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdims=True)) / root
    of = {"q": of_scores @ k, "k": of_scores.swapaxes(1, 2) @ q, "v": weights.swapaxes(1, 2) @ of_heads}
    of = {letter: np.concatenate(list(one), axis=1) for letter, one in of.items()}
    of_x = sum(one @ w[letter] for letter, one in of.items())
    return concat @ w["o"].T, of_x, {letter: one.T @ x for letter, one in of.items()} | {"o": back.T @ concat}


def feed_forward(w: Weights, x: Array, back: Array) -> tuple[Array, Array, Weights]:
    before = x @ w["1"].T
    hidden = np.maximum(before, 0)
    of_before = (back @ w["2"]) * (before > 0)
    return hidden @ w["2"].T, of_before @ w["1"], {"1": of_before.T @ x, "2": back.T @ hidden}


class Stack:
    """The layers, with a forward pass that remembers what every sub-layer read."""

    def __init__(self, place: str, depth: int, draw: int) -> None:
        self.place, self.alpha = place, (2 * depth) ** 0.25 if place == "DeepNorm" else 1.0
        self.x, self.goal, layers = random_stack(draw)
        beta = (8 * depth) ** -0.25 if place == "DeepNorm" else 1.0
        self.layers = [{n: w * (beta if n in "vo12" else 1) for n, w in layer.items()} for layer in layers[:depth]]

    def forward(self) -> Array:
        x, self.read, self.rows = self.x, [], []
        for w in self.layers:
            for sublayer in (attention, feed_forward):
                y = normal(x) if self.place in ("Pre-norm", "Sandwich") else x
                written = sublayer(w, y, np.zeros_like(y))[0]
                self.read.append((sublayer, w, x, y, written))
                if self.place == "Sandwich":
                    written = normal(written)
                x = self.alpha * x + written
                if self.place in ("Post-norm", "DeepNorm"):
                    x = normal(x)
            self.rows.append(x)
        self.last = x
        return normal(x) if self.place in ("Pre-norm", "Sandwich") else x

    def gradients(self) -> list[Weights]:
        """Of the matrices of every layer, first layer first; after `forward`."""
        before = self.place in ("Pre-norm", "Sandwich")
        back, found = normal(self.last, self.goal) if before else self.goal, []
        for sublayer, w, x, y, written in reversed(self.read):
            if not before:
                back = normal(self.alpha * x + written, back)
            of_written = normal(written, back) if self.place == "Sandwich" else back
            _, of_y, of_w = sublayer(w, y, of_written)
            back = self.alpha * back + (normal(x, of_y) if before else of_y)
            found.append(of_w)
        return [found[n + 1] | found[n] for n in range(0, len(found), 2)][::-1]


@functools.cache
def one_step(place: str, depth: int, step: float, draw: int) -> tuple[list[float], list[float]]:
    """The length of each layer's gradient; how far a step moves what comes out of each layer and at last of the stack,
    as a share of its own length."""
    stack = Stack(place, depth, draw)
    output, before, gradients = stack.forward(), stack.rows, stack.gradients()
    for w, of_w in zip(stack.layers, gradients, strict=True):
        w |= {name: w[name] - step * one for name, one in of_w.items()}
    lengths = [math.sqrt(sum((one**2).sum() for one in of_w.values())) for of_w in gradients]
    later = stack.forward()
    pairs = zip([*before, output], [*stack.rows, later], strict=True)
    return lengths, [float(np.linalg.norm(b - a) / np.linalg.norm(a)) for a, b in pairs]


def place_run(place: str, depth: int, step: float, draw: int) -> tuple[list[float], float]:
    """The length of each layer's gradient, and how far a step moves the output."""
    lengths, moved = one_step(place, depth, step, draw)
    return lengths, moved[-1]
