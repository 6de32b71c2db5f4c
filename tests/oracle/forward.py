"""The forward pass once more, in NumPy and float64, from the shipped files alone: no code of the project.

Written after Vaswani et al. 2017, by hand, so that a fault of the app or of the model's code shows as a difference.
Tensors have the names that the app gives them.
"""

import functools
import itertools
import json
import math
import re
import unicodedata
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from tests.oracle.untrained import random_weights

FOLDER = Path(__file__).parents[2] / "assets" / "models" / "translator"
EMBEDDING = "embedding.matrix.weight"
PAD, SOS, EOS = 0, 1, 2
MAX_PIECES = 100  # of a sentence, <eos> not counted
QUOTES = {"‘": "'", "’": "'", "‚": "'", "`": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'}

Array = np.ndarray


@functools.cache
def config() -> dict[str, int]:
    return json.loads((FOLDER / "config.json").read_text())


@functools.cache
def weights() -> dict[str, Array]:
    """The learned matrices. torch keeps a linear layer's W transposed, (out, in)."""
    return {name: w.astype(np.float64) for name, w in load_file(FOLDER / "model.safetensors").items()}


@functools.cache
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(FOLDER / "tokenizer.json"))


@functools.cache
def embedding_matrix() -> Array:
    (name,) = (n for n, w in weights().items() if w.shape == (config()["vocab_size"], config()["d_model"]))
    return weights()[name]


def tidied(text: str) -> str:
    """A typed sentence as the app promises to read it: one space between words, straight quotes, no controls."""
    kept = [" " if c.isspace() else QUOTES.get(c, c) for c in unicodedata.normalize("NFC", text)]
    kept = [c for c in kept if unicodedata.category(c) not in ("Cc", "Cs")]
    return re.sub(" +", " ", "".join(kept)).strip()


def source_ids(text: str) -> list[int]:
    """Ids of a typed sentence, cut where the model can take no more, and `<eos>`."""
    return [*tokenizer().encode(tidied(text), add_special_tokens=False).ids[:MAX_PIECES], EOS]


@functools.cache
def merges() -> dict[tuple[str, str], int]:
    """The rank of each merge rule, from 1."""
    rules = json.loads((FOLDER / "tokenizer.json").read_text())["model"]["merges"]
    return {(left, right): rank for rank, (left, right) in enumerate(rules, 1)}


def replayed(piece: str) -> list[int]:
    """Ranks of the rules that join the bytes of a vocabulary entry, in the order in which they fire."""
    symbols, ranks = list(piece), []
    while pairs := [pair for pair in itertools.pairwise(symbols) if pair in merges()]:
        best = min(pairs, key=merges().__getitem__)
        ranks.append(merges()[best])
        at = list(itertools.pairwise(symbols)).index(best)
        symbols[at : at + 2] = ["".join(best)]
    assert symbols == [piece]
    return ranks


def bytes_of(piece: str) -> bytes:
    """The bytes of a vocabulary entry, which spells each as one visible sign (Radford et al. 2019)."""
    return bytes(_byte_table()[sign] for sign in piece)


@functools.cache
def _byte_table() -> dict[str, int]:
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + n): byte for n, byte in enumerate(others)}


def softmax(scores: Array) -> Array:
    shifted = np.exp(scores - scores.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


def positions(length: int, d_model: int) -> Array:
    return np.stack([position(pos, d_model) for pos in range(length)])


@functools.cache
def position(pos: int, d_model: int) -> Array:
    row = np.zeros(d_model)
    for i in range(0, d_model, 2):
        row[i] = math.sin(pos / 10000 ** (i / d_model))
        if i + 1 < d_model:
            row[i + 1] = math.cos(pos / 10000 ** (i / d_model))
    return row


class Row(NamedTuple):
    """A row (1,d_model) that the decoder puts out, and its key and value (H,1,d_k) in each layer."""

    output: Array
    keys_and_values: list[tuple[Array, Array]]


class Forward:
    """One pass of a sentence: every value by its name in `tensors`.

    Args: src: ids of the source; labels: ids that the decoder writes, or is given to write
          blocked: source positions hidden from everybody
          heads_off: (path of the attention, head) whose result is 0
          scale_off, positions_off, causal_mask_off: what is left out
          blocks_off: paths of sub-layers that write 0; relu_off: paths of networks without their ReLU
          units_off: (path of the network, hidden unit) that is 0
          memory_after: after how many layers of the encoder the decoder reads it; None: after all
          untrained: with random weights in place of those learned; pads: how many `<pad>` stand behind the source
    """

    def __init__(
        self,
        src: list[int],
        labels: list[int],
        *,
        blocked: tuple[int, ...] = (),
        heads_off: tuple[tuple[str, int], ...] = (),
        scale_off: bool = False,
        positions_off: bool = False,
        causal_mask_off: bool = False,
        blocks_off: tuple[str, ...] = (),
        relu_off: tuple[str, ...] = (),
        units_off: tuple[tuple[str, int], ...] = (),
        memory_after: int | None = None,
        untrained: bool = False,
        pads: int = 0,
    ) -> None:
        src = [*src, *[PAD] * pads]
        self.tensors: dict[str, Array] = {}
        self.w = self.weights(untrained)
        self.heads_off = heads_off
        self.scale_off, self.positions_off, self.causal_mask_off = scale_off, positions_off, causal_mask_off
        self.blocks_off, self.relu_off, self.units_off = blocks_off, relu_off, units_off
        self.seen = np.array([j not in blocked for j in range(len(src))])[None]
        self.rows: dict[tuple[int, ...], Row] = {}
        self.memory = self.encoder(src)
        if memory_after is not None:
            n = memory_after - 1
            self.memory = self[f"encoder.layers.{n}.add_norm_2.output" if n >= 0 else "encoder.embedding.output"]
        self.labels = labels
        self.ids = {"encoder": src, "decoder": [SOS, *labels[:-1]]}
        self.logits = self.keep("logits", self.decoder([SOS, *labels[:-1]]))

    def weights(self, untrained: bool) -> dict[str, Array]:
        return random_weights(**config()) if untrained else weights()

    def __getitem__(self, name: str) -> Array:
        """A tensor by name, or a learned weight."""
        return self.tensors[name] if name in self.tensors else self.w[name]

    def is_greedy(self) -> bool:
        """Whether each label is the likeliest next piece: then writing piece by piece would have given the same."""
        return self.logits.argmax(-1).tolist() == self.labels

    def keep(self, name: str, value: Array) -> Array:
        self.tensors[name] = value
        return value

    def embed(self, stack: str, ids: list[int]) -> Array:
        path, d_model = f"{stack}.embedding", config()["d_model"]
        tokens = self.keep(f"{path}.tokens", self.w[EMBEDDING][ids])
        scaled = self.keep(f"{path}.scaled", tokens * math.sqrt(d_model))
        table = positions(len(ids), d_model) * (not self.positions_off)
        return self.keep(f"{path}.output", scaled + self.keep(f"{path}.positions", table))

    def attention(self, path: str, x: Array, memory: Array, allowed: Array) -> Array:
        q, k, v = (
            self.keep(f"{path}.{letter}", self.heads_of(f"{path}.w_{letter}", rows))
            for letter, rows in (("q", x), ("k", memory), ("v", memory))
        )
        return self.mixed(path, q, k, v, allowed)

    def heads_of(self, matrix: str, rows: Array) -> Array:
        return split_heads(rows @ self.w[f"{matrix}.weight"].T)

    def mixed(self, path: str, q: Array, k: Array, v: Array, allowed: Array) -> Array:
        products = self.keep(f"{path}.products", q @ k.swapaxes(1, 2))
        scaled = self.keep(f"{path}.scaled", products if self.scale_off else products / math.sqrt(q.shape[-1]))
        scores = self.keep(f"{path}.scores", np.where(allowed, scaled, -np.inf))
        on = np.array([(path, head) not in self.heads_off for head in range(len(q))])[:, None, None]
        heads = self.keep(f"{path}.heads", on * (self.keep(f"{path}.weights", softmax(scores)) @ v))
        concat = self.keep(f"{path}.concat", np.concatenate(list(heads), axis=1))
        return self.keep(f"{path}.output", (path not in self.blocks_off) * (concat @ self.w[f"{path}.w_o.weight"].T))

    def add_norm(self, path: str, x: Array, change: Array) -> Array:
        total = self.keep(f"{path}.sum", x + change)
        centred = total - total.mean(-1, keepdims=True)
        normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return self.keep(f"{path}.output", self.w[f"{path}.norm.weight"] * normal + self.w[f"{path}.norm.bias"])

    def feed_forward(self, path: str, x: Array) -> Array:
        before = self.keep(f"{path}.pre_activation", x @ self.w[f"{path}.w_1.weight"].T + self.w[f"{path}.w_1.bias"])
        on = np.ones(before.shape[1])
        on[[unit for network, unit in self.units_off if network == path]] = 0
        hidden = self.keep(f"{path}.hidden", on * (before if path in self.relu_off else np.maximum(before, 0)))
        output = hidden @ self.w[f"{path}.w_2.weight"].T + self.w[f"{path}.w_2.bias"]
        return self.keep(f"{path}.output", (path not in self.blocks_off) * output)

    def encoder(self, src: list[int]) -> Array:
        x = self.embed("encoder", src)
        for n in range(config()["n_layers"]):
            path = f"encoder.layers.{n}"
            x = self.add_norm(f"{path}.add_norm_1", x, self.attention(f"{path}.self_attn", x, x, self.seen))
            x = self.add_norm(f"{path}.add_norm_2", x, self.feed_forward(f"{path}.feed_forward", x))
        return x

    def decoder(self, tgt: list[int]) -> Array:
        return self.decoder_states(tgt) @ self.w[EMBEDDING].T

    def next_logits(self, tgt: list[int]) -> Array:
        """Logits (V) of the piece after the last one."""
        behind_a_mask = type(self) is Forward and not self.causal_mask_off
        last = self.last_row(tuple(tgt)).output[0] if behind_a_mask else self.decoder_states(tgt)[-1]
        return last @ self.w[EMBEDDING].T

    def last_row(self, tgt: tuple[int, ...]) -> Row:
        """The decoder's last row. No row sees one behind it, so those before it are what they were without it."""
        if tgt not in self.rows:
            before = [self.last_row(tgt[:n]) for n in range(1, len(tgt))]
            scaled = self.w[EMBEDDING][[tgt[-1]]] * math.sqrt(config()["d_model"])
            x, keys_and_values = scaled + positions(len(tgt), config()["d_model"])[-1:] * (not self.positions_off), []
            for n in range(config()["n_layers"]):
                path = f"decoder.layers.{n}"
                q, k, v = (self.heads_of(f"{path}.self_attn.w_{letter}", x) for letter in "qkv")
                keys_and_values.append((k, v))
                k, v = (
                    np.concatenate([*(row.keys_and_values[n][i] for row in before), own], axis=1)
                    for i, own in enumerate((k, v))
                )
                x = self.add_norm(f"{path}.add_norm_1", x, self.mixed(f"{path}.self_attn", q, k, v, np.array(True)))
                q = self.heads_of(f"{path}.cross_attn.w_q", x)
                k, v = (self.tensors[f"{path}.cross_attn.{letter}"] for letter in "kv")  # of the memory, which stays
                x = self.add_norm(f"{path}.add_norm_2", x, self.mixed(f"{path}.cross_attn", q, k, v, self.seen))
                x = self.add_norm(f"{path}.add_norm_3", x, self.feed_forward(f"{path}.feed_forward", x))
            self.rows[tgt] = Row(x, keys_and_values)
        return self.rows[tgt]

    def decoder_states(self, tgt: list[int]) -> Array:
        x, size = self.embed("decoder", tgt), len(tgt)
        past = np.ones((size, size), bool) if self.causal_mask_off else np.tri(size, dtype=bool)
        for n in range(config()["n_layers"]):
            path = f"decoder.layers.{n}"
            x = self.add_norm(f"{path}.add_norm_1", x, self.attention(f"{path}.self_attn", x, x, past))
            read = self.attention(f"{path}.cross_attn", x, self.memory, self.seen)
            x = self.add_norm(f"{path}.add_norm_2", x, read)
            x = self.add_norm(f"{path}.add_norm_3", x, self.feed_forward(f"{path}.feed_forward", x))
        return x


def split_heads(rows: Array) -> Array:
    """(T, d_model) cut into one piece for each head: (H, T, d_k)."""
    return np.stack(np.split(rows, config()["n_heads"], axis=1))
