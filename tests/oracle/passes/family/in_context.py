"""The model of in-context regression once more, in NumPy, and the other ways to guess, from their formulas. Imports
nothing of what it checks.
"""

import functools
import math

import numpy as np

from tests.oracle.passes import shipped
from tests.oracle.passes.draws import regression, tasks
from tests.oracle.passes.network import Array, Network

FOLDER = shipped.MODELS / "in-context"
MOST = 40


config, weights = (functools.partial(read, "in-context") for read in (shipped.config, shipped.weights))


class Read(Network):
    """Prompts x (B,N,d), y (B,N), read: guesses (B,N), weights of layer l (B,H,2N,2N); scores too. kind: of numbers

    Its numbers by name are those of the first prompt: `read["decoder.layers.0.self_attn.scores"]`.
    """

    def __init__(self, x: Array, y: Array, kind: str = "float64") -> None:
        parts = {"family": "decoder_only", "positions": "learned", "norm_place": "pre", "activation": "gelu_tanh"}
        super().__init__(config() | parts, weights(kind), records=("scores", "weights"))
        n_prompts, n, d = x.shape
        rows = np.zeros((n_prompts, 2 * n, d), kind)
        rows[:, 0::2], rows[:, 1::2, 0] = x, y
        stream = self.linear("read_in", rows) + self.w["positions.table.weight"][: 2 * n]
        last = self.stack("decoder", stream, np.tri(2 * n, dtype=bool))
        self.guesses = self.linear("read_out", last[:, 0::2])[..., 0]
        self.weights = [self.tensors[f"decoder.layers.{n}.self_attn.weights"] for n in range(config()["n_layers"])]

    def __getitem__(self, name: str) -> Array:
        return self.tensors[name][0]


@functools.cache
def first_task(sigma: float, draw: int) -> Read:
    x, y = regression(sigma, 1, 1, draw)
    return Read(x[:1], y[:1])


@functools.cache
def guesses(sigma: float, draw: int, x_size: float = 1, beta_size: float = 1) -> dict[str, Array]:
    """What each way guesses after 1 to 40 examples (512,40), and y itself."""
    x, y = regression(sigma, x_size, beta_size, draw)
    read = [Read(x[at : at + 32], y[at : at + 32], "float32").guesses for at in range(0, len(x), 32)]
    found = {"Transformer": np.concatenate(read)[:, 1:].astype(float)}
    penalty = sigma**2 * 5 / beta_size**2
    found["ridge"] = np.stack([ridge(x[:, :n], y[:, :n], x[:, n], penalty) for n in range(1, MOST + 1)], 1)
    # The shortest β that fits is the limit of ridge's as λ goes to 0; with so few pairs it is Xᵀ(XXᵀ)⁻¹y.
    found["least squares"] = np.stack([shortest(x[:, :n], y[:, :n], x[:, n]) for n in range(1, MOST + 1)], 1)
    found["3 nearest neighbours"] = np.stack([neighbours(x[:, :n], y[:, :n], x[:, n]) for n in range(1, MOST + 1)], 1)
    found["always 0"] = np.zeros_like(y[:, 1:])
    return found | {"y": y[:, 1:]}


@functools.cache
def along_rule(seed: int, stops: tuple[int, ...]) -> dict[str, Array]:
    """One task, and what the model ("own") and ridge guess at 21 places along its rule at each stop (S,21)."""
    x, y, beta = (one[0] for one in tasks(1, 0.5, 1, 1, seed))
    length = math.sqrt(beta @ beta)
    places = np.linspace(-2.5, 2.5, 21)
    asked = places[:, None] * beta / length
    own = []
    for n in stops:
        prompts = np.stack([np.vstack([x[:n], one]) for one in asked])
        own.append(Read(prompts, np.tile(np.append(y[:n], 0), (21, 1))).guesses[:, -1])
    known = [ridge(*(np.tile(one[:n], (21,) + (1,) * (one.ndim)) for one in (x, y)), asked, 1.25) for n in stops]
    return {"x": x[:40], "y": y[:40], "beta": beta, "own": np.stack(own), "ridge": np.stack(known), "places": places}


def ridge(x: Array, y: Array, asked: Array, penalty: float) -> Array:
    moments = x.swapaxes(1, 2) @ y[..., None]
    beta = np.linalg.solve(x.swapaxes(1, 2) @ x + penalty * np.eye(x.shape[2]), moments)
    return (asked * beta[..., 0]).sum(1)


def shortest(x: Array, y: Array, asked: Array) -> Array:
    if x.shape[1] > x.shape[2]:
        return ridge(x, y, asked, 0.0)
    return (asked * (x.swapaxes(1, 2) @ np.linalg.solve(x @ x.swapaxes(1, 2), y[..., None]))[..., 0]).sum(1)


def neighbours(x: Array, y: Array, asked: Array) -> Array:
    far = ((x - asked[:, None]) ** 2).sum(-1)
    nearest = far.argsort(1)[:, :3]
    return np.take_along_axis(y, nearest, 1).mean(1)


@functools.cache
def last_weights(sigma: float, draw: int, n: int) -> tuple[Array, Array]:
    """Of the last x after n examples, in 32 tasks: weights (32,L,H,n+1) on pairs and on itself; distances (32,n)."""
    x, y = regression(sigma, 1, 1, draw)
    x, y = x[:32, : n + 1], y[:32, : n + 1]
    rows = np.stack([one[:, :, 2 * n, : 2 * n + 1] for one in Read(x, y).weights], 1)
    pairs = rows[..., 0:-1:2] + rows[..., 1::2]
    return np.concatenate([pairs, rows[..., -1:]], -1), np.sqrt(((x[:, :n] - x[:, n:]) ** 2).sum(-1))


def follows(sigma: float, draw: int, n: int) -> Array:
    """The mean over the tasks of the correlation of a pair's weight and its nearness (L,H)."""
    looks, far = last_weights(sigma, draw, n)
    return np.array(
        [
            [
                np.mean([np.corrcoef(looks[task, layer, head, :n], -far[task])[0, 1] for task in range(len(far))])
                for head in range(looks.shape[2])
            ]
            for layer in range(looks.shape[1])
        ]
    )
