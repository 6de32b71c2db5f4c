"""The readers of digits once more, in NumPy and float64. Imports nothing of what it checks."""

import functools

import numpy as np
from safetensors.numpy import load_file

from tests.oracle.passes import shipped
from tests.oracle.passes.network import Array, Network, softmax

FOLDER, NAMES = shipped.MODELS / "pictures", ("vit-8000", "cnn-8000", "vit-500", "cnn-500")
PARTS = {"family": "encoder_only", "positions": "learned", "norm_place": "pre", "activation": "gelu"}


@functools.cache
def weights(name: str) -> dict[str, Array]:
    return {key: w.astype(np.float64) for key, w in load_file(FOLDER / f"{name}.safetensors").items()}


@functools.cache
def sample(n: int) -> tuple[Array, int]:
    """A digit (28,28) from 0 to 1, and what it is."""
    held = load_file(FOLDER / "samples.safetensors")
    return held["pictures"][n] / 255, int(held["labels"][n])


def n_samples() -> int:
    return len(load_file(FOLDER / "samples.safetensors")["labels"])


class Read(Network):
    """A picture read by a Vision Transformer while nobody looks at some patches, counted from 1."""

    def __init__(self, picture: Array, gone: frozenset[int] = frozenset(), name: str = "vit-8000") -> None:
        config = shipped.config("pictures")
        super().__init__(config | PARTS, weights(name))
        size, n = config["patch"], config["size"] // config["patch"]
        squares = [picture[size * r : size * (r + 1), size * c : size * (c + 1)] for r in range(n) for c in range(n)]
        self.keep("picture", picture)
        pixels = self.keep("patches", np.stack([square.ravel() for square in squares]))
        projected = self.keep("encoder.embedding.projected", self.linear("embedding.project", pixels))
        rows = self.keep("encoder.embedding.with_class", np.vstack([self.w["embedding.class_token"], projected]))
        places = self.keep("encoder.embedding.positions", self.w["embedding.positions.table.weight"])
        seen = np.array([at not in gone for at in range(len(rows))])[None]
        stream = self.stack("encoder", self.keep("encoder.embedding.output", rows + places), seen)
        self.keep("logits", self.linear("head", stream[:1]))

    @property
    def chances(self) -> Array:
        return np.asarray(softmax(self["logits"])[0])

    @property
    def looks(self) -> Array:
        """Of [class] at each patch in the last layer, on average over its heads."""
        return np.asarray(self["encoder.layers.2.self_attn.weights"].mean(0)[0, 1:])

    def rollout(self) -> Array:
        flow = np.eye(17)
        for layer in range(3):
            flow = (self[f"encoder.layers.{layer}.self_attn.weights"].mean(0) + np.eye(17)) / 2 @ flow
        return np.asarray(flow[0, 1:])

    def lens(self) -> Array:
        """What every row would say, before the first layer and behind each (4,17,10)."""
        streams = ["encoder.embedding.output", *(f"encoder.layers.{n}.add_norm_2.output" for n in range(3))]
        normed = [self.normalise("layer", "encoder.norm", self[name]) for name in streams]
        return np.stack([softmax(self.linear("head", rows)) for rows in normed])


@functools.lru_cache(512)
def read(n: int, gone: frozenset[int] = frozenset()) -> Read:
    """A sample by its number."""
    return Read(sample(n)[0], gone)


def order(n: int, many: int) -> list[int]:
    """Patches of a sample, each the one that is looked at most once those before it are hidden."""
    gone: list[int] = []
    for _ in range(many):
        gone.append(int(read(n, frozenset(gone)).looks.argmax()) + 1)
    return gone


def convolved(picture: Array, name: str) -> Array:
    """What a convolutional network makes of a picture: the probability of each digit."""
    w, maps = weights(name), picture[None]
    for layer in (0, 3):
        kernel, side = w[f"layers.{layer}.weight"], maps.shape[1]
        padded = np.pad(maps, ((0, 0), (2, 2), (2, 2)))
        found = np.zeros((len(kernel), side, side))
        for down in range(5):
            for right in range(5):
                part = padded[:, down : down + side, right : right + side]
                found += np.einsum("oi,ihw->ohw", kernel[:, :, down, right], part)
        found = np.maximum(found + w[f"layers.{layer}.bias"][:, None, None], 0)
        maps = found.reshape(len(kernel), side // 2, 2, side // 2, 2).max((2, 4))
    hidden = np.maximum(w["layers.7.weight"] @ maps.ravel() + w["layers.7.bias"], 0)
    return np.asarray(softmax(w["layers.9.weight"] @ hidden + w["layers.9.bias"]))
