"""The readers of digits once more, in NumPy and float64. Imports nothing of what it checks."""

import functools
import json
import math

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


class Swin(Network):
    """A picture read within windows of 7 × 7 patches of 2 × 2 pixels, which are shifted in every second block."""

    def __init__(self, picture: Array, shifts: bool) -> None:
        super().__init__(json.loads((FOLDER / "swin.json").read_text()) | PARTS, weights("swin-8000"))
        self.shifts = shifts
        self.keep("picture", picture)
        squares = [picture[r : r + 2, c : c + 2].ravel() for r in range(0, 28, 2) for c in range(0, 28, 2)]
        rows = self.linear("project", self.keep("patches", np.stack(squares)))
        stream = self.stack("encoder", self.keep("encoder.embedding.output", rows), np.array(True))
        self.keep("logits", self.linear("head", self.keep("mean", stream.mean(0, keepdims=True))))

    @property
    def chances(self) -> Array:
        return np.asarray(softmax(self["logits"])[0])

    def windows(self, block: int) -> Array:
        """The patches of each window, place by place (4,49), from 0."""
        step = 3 * (block % 2) * self.shifts
        around = [[14 * ((r + step) % 14) + (c + step) % 14 for c in range(14)] for r in range(14)]
        grid = np.array(around)
        return np.stack([grid[r : r + 7, c : c + 7].ravel() for r in (0, 7) for c in (0, 7)])

    def own_attention(self, path: str, y: Array, allowed: Array, first: int) -> Array:
        block = int(path.split(".")[2])
        windows, at = self.windows(block), np.array([divmod(n, 7) for n in range(49)])
        parted = self.keep(f"{path}.parted", y[windows.ravel()])
        q, k, v = (self.keep(f"{path}.{one}", self.heads_of(f"{path}.w_{one}", parted)) for one in "qkv")
        down, right = np.moveaxis(at[:, None] - at + 6, -1, 0)
        bias = self.keep(
            f"{path}.bias", np.moveaxis(self.w[f"{path}.positions.table.weight"][13 * down + right], -1, 0)
        )
        parts: dict[str, list[Array]] = {name: [] for name in ("products", "scaled", "biased", "scores", "weights")}
        heads = []
        for n, window in enumerate(windows):
            own = slice(49 * n, 49 * n + 49)
            products = q[:, own] @ k[:, own].swapaxes(-1, -2)
            biased = products / math.sqrt(q.shape[-1]) + bias
            # Only a roll has put the first three rows, or columns, beside the last.
            rolled = np.stack([window // 14 < 3, window % 14 < 3]) & bool(block % 2 * self.shifts)
            apart = (rolled[:, :, None] != rolled[:, None]).any(0)
            scores = np.where(apart, -np.inf, biased)
            found = products, products / math.sqrt(q.shape[-1]), biased, scores, softmax(scores)
            for name, value in zip(parts, found, strict=True):
                parts[name].append(value)
            heads.append(parts["weights"][-1] @ v[:, own])
        for name, each in parts.items():
            self.keep(f"{path}.{name}", np.concatenate(each, 1))
        output = self.joined_heads(path, np.concatenate(heads, 1))
        whole = np.empty_like(output)
        whole[windows.ravel()] = output
        return self.keep(f"{path}.whole", whole)

    def streams(self) -> Array:
        """Before the first block, and behind each (5,196,48)."""
        return np.stack(
            [self["encoder.embedding.output"]] + [self[f"encoder.layers.{n}.add_norm_2.output"] for n in range(4)]
        )


@functools.lru_cache(64)
def swin(n: int, shifts: bool = True, turned: int | None = None) -> Swin:
    """A sample by its number; with ink for paper in one patch."""
    picture = sample(n)[0].copy()
    if turned is not None:
        row, column = divmod(turned, 14)
        square = picture[2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
        square[:] = 1 - square
    return Swin(picture, shifts)


def news(n: int, shifts: bool, turned: int) -> Array:
    """How much the rows of a sample change once a patch is turned, as a share of their lengths (5,196)."""
    before, after = swin(n, shifts).streams(), swin(n, shifts, turned).streams()
    lengths = np.sqrt((before**2).sum(-1))
    return np.asarray(np.sqrt(((after - before) ** 2).sum(-1)) / np.where(lengths > 0, lengths, 1))


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
