"""Any Transformer of the course in NumPy and float64, driven by what its config.json says: no code of the project.

Written after the papers, by hand, so that a fault of the app or of the model's code shows as a difference. Tensors have
the names that the app gives them.
"""

import functools
import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

EMBEDDING = "embedding.matrix.weight"
EPSILON = 1e-5

Array = np.ndarray
Weights = Mapping[str, Array]


def softmax(scores: Array) -> Array:
    shifted = np.exp(scores - scores.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


# --- positions -------------------------------------------------------------------------------------------------------


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


def cut(rows: Array, n: int) -> Array:
    """Rows (…,T,n·d) as one piece for each head: (…,n,T,d)."""
    return np.stack(np.split(rows, n, axis=-1), axis=-3)


def turned(x: Array, first: int = 0) -> Array:
    """x (…,T,d_k) as complex numbers, each pair of dimensions one, times e^(i · angle). Su et al. 2021, Equation 34."""
    d_k = x.shape[-1]
    angle = np.outer(first + np.arange(x.shape[-2]), 10000.0 ** (-2 * np.arange(d_k // 2) / d_k))
    pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)
    return np.stack([pairs.real, pairs.imag], -1).reshape(x.shape)


@functools.cache
def bucket(offset: int) -> int:
    """Of 32 buckets, 16 for each side: 0 to 7 one distance each, then by factors of 16^(1/8) up to 128."""
    distance, right = abs(offset), offset > 0
    # The first whole distance of the buckets 8 to 15: 8 · 16^(n/8), rounded up.
    starts = [math.ceil(round(8 * 16 ** (n / 8), 9)) for n in range(8)]
    n = distance if distance < 8 else 7 + sum(distance >= start for start in starts)
    return n + 16 * right


@functools.cache
def causal_bucket(offset: int) -> int:
    """Of 32 buckets, all to the left: 0 to 15 one distance each, then by factors of 8^(1/16) up to 128."""
    distance = max(0, -offset)
    starts = [math.ceil(round(16 * 8 ** (n / 16), 9)) for n in range(16)]
    return distance if distance < 16 else 15 + sum(distance >= start for start in starts)


def relative_bias(offsets: Array, table: Array, bucket: Callable[[int], int]) -> Array:
    """(H,T,S) of offsets key − query (T,S) and a table (buckets,H)."""
    return np.moveaxis(table[np.vectorize(bucket)(offsets)], -1, 0)


def slopes(n_heads: int) -> list[float]:
    assert n_heads == 4, "the rule for powers of two"
    return [2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)]


# --- activations -----------------------------------------------------------------------------------------------------

_ERFC = np.vectorize(math.erfc, otypes=[float])


def normal_share(z: Array) -> Array:
    """Φ: the share of a standard normal distribution below z."""
    return np.asarray(0.5 * _ERFC(-z / math.sqrt(2)))


CURVES: dict[str, Callable[[Array], Array]] = {
    "relu": lambda z: np.where(z > 0, z, 0 * z),
    "gelu": lambda z: z * normal_share(z),
    "gelu_tanh": lambda z: 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z * z * z))),
    "silu": lambda z: z / (1 + np.exp(-z)),
}
GATES = {"swiglu": "silu", "geglu": "gelu"}

# --- norms -----------------------------------------------------------------------------------------------------------


def per_word(rows: Array) -> Array:
    centred = rows - rows.mean(-1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + EPSILON))


def per_word_rms(rows: Array) -> Array:
    return np.asarray(rows / np.sqrt((rows**2).mean(-1, keepdims=True) + EPSILON))


NORMS: dict[str, Callable[[Array], Array]] = {"layer": per_word, "rms": per_word_rms}


def alpha(path: str, n_layers: int) -> float:
    """DeepNorm's α where an encoder and a decoder are as deep. Wang et al. 2022, Figure 2: 0.81 (N⁴M)^(1/16)."""
    return 0.81 * (n_layers**5) ** (1 / 16) if path.startswith("encoder") else (3 * n_layers) ** (1 / 4)


class Row(NamedTuple):
    """A row (1,d_model) that the decoder puts out, and the keys and values (H,1,d_k) of its own attentions by path."""

    output: Array
    keys_and_values: dict[str, tuple[Array, Array]]


class Network:
    """A pass in parts: every value by its name in `tensors`.

    Args: config: what config.json says; w: the weights by name
          kinds: by the path of an attention, network or Add & Norm ("rms pre"): another kind than config says
          heads_off: (path of the attention, head) whose result is 0
          scale_off, positions_off, causal_mask_off: what is left out
          blocks_off: paths of sub-layers that write 0; relu_off: paths of networks without their ReLU
          units_off: (path of the network, hidden unit) that is 0
          records: last names of the tensors that are kept; None: all
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        w: Weights,
        *,
        kinds: Mapping[str, str] | None = None,
        heads_off: Collection[tuple[str, int]] = (),
        scale_off: bool = False,
        positions_off: bool = False,
        causal_mask_off: bool = False,
        blocks_off: Collection[str] = (),
        relu_off: Collection[str] = (),
        units_off: Collection[tuple[str, int]] = (),
        records: Collection[str] | None = None,
    ) -> None:
        self.config, self.w, self.kinds, self.records = config, w, kinds or {}, records
        self.heads_off, self.blocks_off, self.relu_off, self.units_off = heads_off, blocks_off, relu_off, units_off
        self.scale_off, self.positions_off, self.causal_mask_off = scale_off, positions_off, causal_mask_off
        self.family = config.get("family", "encoder_decoder")
        self.tensors: dict[str, Array] = {}
        self.rows: dict[tuple[int, ...], Row] = {}
        self.past: dict[str, tuple[Array, Array]] = {}  # keys and values of the rows before those that are computed
        self.memory: Array | None = None
        self.seen = np.array(True)

    def __getitem__(self, name: str) -> Array:
        """A tensor by name, or a learned weight."""
        return self.tensors[name] if name in self.tensors else self.w[name]

    def keep(self, name: str, value: Array) -> Array:
        if self.records is None or name.rpartition(".")[2] in self.records:
            self.tensors[name] = value
        return value

    def kind(self, path: str) -> str:
        """What an attention does about positions; a network's activation; the norm and place of an Add & Norm."""
        part = path.rpartition(".")[2]
        if path in self.kinds:
            return self.kinds[path]
        if part == "feed_forward":
            return self.config.get("activation", "relu")
        if part.startswith("add_norm"):
            return f"{self.config.get('norm', 'layer')} {self.config.get('norm_place', 'post')}"
        return self.config.get("positions", "sinusoidal") if part == "self_attn" else ""

    def home(self, path: str) -> str:
        """Where the weights of a path are: at the first layer, if all share its own."""
        return re.sub(r"(?<=\.layers\.)\d+", "0", path) if self.config.get("shares_layers") else path

    def linear(self, path: str, rows: Array) -> Array:
        """torch keeps W transposed, (out, in)."""
        path = self.home(path)
        product = rows @ self.w[f"{path}.weight"].T
        return product + self.w[f"{path}.bias"] if f"{path}.bias" in self.w else product

    def normalise(self, norm: str, path: str, rows: Array) -> Array:
        path = self.home(path)
        scaled = self.w[f"{path}.weight"] * NORMS[norm](rows)
        return scaled + self.w[f"{path}.bias"] if norm == "layer" else scaled

    # --- what goes in ---

    def embed(self, stack: str, ids: list[int], first: int = 0, segments: list[int] | None = None) -> Array:
        """first: the position of the first id. Only the translators multiply by √d_model; only BERT knows segments and
        normalises."""
        path, d_model = f"{stack}.embedding", self.config["d_model"]
        x = self.keep(f"{path}.tokens", self.w[EMBEDDING][ids])
        if self.family == "encoder_decoder":
            x = self.keep(f"{path}.scaled", x * math.sqrt(d_model))
        if segments:
            x = x + self.keep(f"{path}.segments", self.w["embedding.segments.weight"][segments])
            self.keep(f"{path}.with_segments", x)
        x = x + self.keep(f"{path}.positions", self.places(first, first + len(ids)))
        if segments:
            x = self.normalise("layer", "embedding.norm", self.keep(f"{path}.sum", x))
        return self.keep(f"{path}.output", x)

    def places(self, first: int, last: int) -> Array:
        kind, d_model = self.config.get("positions", "sinusoidal"), self.config["d_model"]
        if self.positions_off or kind not in ("sinusoidal", "learned"):
            return np.zeros((last - first, d_model))
        return (positions(last, d_model) if kind == "sinusoidal" else self.w["embedding.positions.table.weight"])[
            first:last
        ]

    # --- sub-layers ---

    def heads_of(self, matrix: str, rows: Array) -> Array:
        """Rows (…,T,d_model) times a matrix, cut into heads."""
        return cut(self.linear(matrix, rows), self.config["n_heads"])

    def attention(self, path: str, x: Array, memory: Array, allowed: Array, first: int = 0) -> Array:
        """softmax(QKᵀ/√d_k)V W^O. first: the position of the first row of x"""
        kind = self.kind(path)
        way = (kind if path in self.kinds else self.config.get("attention")) if path.endswith("self_attn") else ""
        if way == "latent":
            return self.from_latent(path, x, allowed)
        q = self.keep(f"{path}.q", self.heads_of(f"{path}.w_q", x))
        if way in ("grouped_query", "multi_query"):
            k, v = self.shared_in_groups(path, memory)
        else:
            k, v = (self.keep(f"{path}.{one}", self.heads_of(f"{path}.w_{one}", memory)) for one in "kv")
        if kind == "rotary":
            q = self.keep(f"{path}.rotated_q", turned(q, first))
            k = self.keep(f"{path}.rotated_k", turned(k, first))
        if first:
            k, v = (np.concatenate(pair, axis=-2) for pair in zip(self.past[path], (k, v), strict=True))
        if way in ("linear", "linear_exponential"):
            return self.joined_heads(path, self.through_state(path, q, k, v, allowed, way))
        if way and way.startswith("windowed"):  # "windowed 2": with another reach than config says
            reach = int(way.partition(" ")[2] or self.config.get("reach", 64))
            return self.joined_heads(path, self.in_window(path, q, k, v, allowed, reach))
        if way == "squeezed":
            return self.to_squeezed(path, q, k, v, allowed)
        return self.mixed(path, q, k, v, allowed, first)

    def to_squeezed(self, path: str, q: Array, k: Array, v: Array, allowed: Array) -> Array:
        """Row by row: what a query may see is gathered for it alone. A causal one sees finished blocks, and its own."""
        length, is_causal, squeezed = k.shape[-2], len(allowed) > 1, []
        for name, rows in (("k", k), ("v", v)):
            weights = self.w[f"{path}.squeeze_{name}"]
            block = weights.shape[1]
            starts = range(0, length - block + 1 if is_causal else length, block)
            blocks = [rows[..., start : start + block, :] for start in starts]
            parts = [weights[:, : part.shape[-2]] @ part for part in blocks] or [rows[..., :0, :]]
            squeezed.append(self.keep(f"{path}.squeezed_{name}", np.concatenate(parts, axis=-2)))
        heads = []
        for t in range(q.shape[-2]):
            n_rows, own = t // block * len(weights), slice(t // block * block, t + 1)
            keys, values = squeezed
            if is_causal:
                keys = np.concatenate([keys[..., :n_rows, :], k[..., own, :]], axis=-2)
                values = np.concatenate([values[..., :n_rows, :], v[..., own, :]], axis=-2)
            shares = softmax(q[..., t : t + 1, :] @ keys.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))
            heads.append(shares @ values)
        return self.joined_heads(path, np.concatenate(heads, axis=-2))

    def in_window(self, path: str, q: Array, k: Array, v: Array, allowed: Array, reach: int) -> Array:
        """Plain attention under a band; of it is kept what lies in the band, a column for each distance."""
        length = k.shape[-2]
        near = abs(np.subtract.outer(np.arange(length), np.arange(length))) <= reach
        products = q @ k.swapaxes(-1, -2)
        scores = np.where(allowed & near, products / math.sqrt(q.shape[-1]), -np.inf)
        weights = softmax(scores)

        def band(pairs: Array, beyond: float = 0.0) -> Array:
            sides = np.full((*pairs.shape[:-1], reach), beyond)
            wide = np.concatenate([sides, pairs, sides], axis=-1)
            return np.stack([wide[..., t, t : t + 2 * reach + 1] for t in range(length)], axis=-2)

        kept = ("products", products, 0), ("scaled", products / math.sqrt(q.shape[-1]), 0), ("scores", scores, -np.inf)
        for name, pairs, beyond in (*kept, ("weights", weights, 0)):
            self.keep(f"{path}.{name}", band(pairs, beyond))
        return weights @ v

    def through_state(self, path: str, q: Array, k: Array, v: Array, allowed: Array, way: str) -> Array:
        """Katharopoulos et al. 2020, Equation 4, of all pairs; the state where all queries share it."""
        by_elu = (np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))) for x in (q, k))
        queries, keys = by_elu if way == "linear" else (np.exp(q), np.exp(k))
        self.keep(f"{path}.features_q", queries)
        self.keep(f"{path}.features_k", keys)
        if len(allowed) == 1:
            self.keep(f"{path}.state", np.einsum("hsi,hsj->hij", keys, v))
            self.keep(f"{path}.total", keys.sum(-2, keepdims=True))
        shares = queries @ keys.swapaxes(-1, -2) * allowed
        return shares / shares.sum(-1, keepdims=True) @ v

    def shared_in_groups(self, path: str, memory: Array) -> tuple[Array, Array]:
        """Each group's keys and values, as often as it has heads."""
        n_heads, shared = self.config["n_heads"], []
        for one in "kv":
            rows = self.linear(f"{path}.w_{one}", memory)
            groups = self.keep(f"{path}.group_{one}", cut(rows, rows.shape[-1] * n_heads // self.config["d_model"]))
            shared.append(self.keep(f"{path}.{one}", np.repeat(groups, n_heads // groups.shape[-3], axis=-3)))
        return shared[0], shared[1]

    def from_latent(self, path: str, x: Array, allowed: Array) -> Array:
        """DeepSeek-V2, Equations 9 to 19, its rotary part apart: two sums of products that are added."""
        n_heads, small = self.config["n_heads"], self.keep(f"{path}.compressed", self.linear(f"{path}.w_c", x))
        length = np.sqrt((small**2).mean(-1, keepdims=True) + 1e-6)
        small = self.keep(f"{path}.latent", self.w[f"{path}.norm.weight"] * small / length)
        q = cut(self.linear(f"{path}.w_q", x), n_heads)
        k, v = (cut(self.linear(f"{path}.w_{one}", small), n_heads) for one in "kv")
        q_place = self.keep(f"{path}.q_position", cut(self.linear(f"{path}.w_qr", x), n_heads))
        k_place = self.keep(f"{path}.key", cut(self.linear(f"{path}.w_kr", x), 1))
        for name, value in (("q_content", q), ("k_content", k), ("v", v)):
            self.keep(f"{path}.{name}", value)
        q_place, k_place = (
            self.keep(f"{path}.rotated_q", turned(q_place)),
            self.keep(f"{path}.rotated_k", turned(k_place)),
        )
        products = q @ k.swapaxes(-1, -2) + q_place @ k_place.swapaxes(-1, -2)
        scores = np.where(allowed, products / math.sqrt(q.shape[-1] + q_place.shape[-1]), -np.inf)
        self.keep(f"{path}.scores", scores)
        return self.joined_heads(path, self.keep(f"{path}.weights", softmax(scores)) @ v)

    def experts(self, path: str, x: Array) -> Array:
        """Row by row: the expert or the two with the largest share; two of them add up to 1."""
        shares = self.keep(f"{path}.shares", softmax(self.keep(f"{path}.router", self.linear(f"{path}.router", x))))
        n_asked, output, gates = 1 + self.config["feed_forward"].endswith("2"), np.zeros_like(x), np.zeros_like(shares)
        for t, row in enumerate(x):
            asked = sorted(range(shares.shape[-1]), key=lambda e: -shares[t, e])[:n_asked]
            for e in asked:
                gates[t, e] = shares[t, e] / (shares[t, asked].sum() if n_asked > 1 else 1)
                hidden = np.maximum(self.linear(f"{path}.experts.{e}.w_1", row), 0)
                output[t] += gates[t, e] * self.linear(f"{path}.experts.{e}.w_2", hidden)
        self.keep(f"{path}.gates", gates)
        return self.keep(f"{path}.output", output)

    def mixed(self, path: str, q: Array, k: Array, v: Array, allowed: Array, first: int = 0) -> Array:
        scaled = self.keep(f"{path}.products", q @ k.swapaxes(-1, -2))
        scaled = self.keep(f"{path}.scaled", scaled if self.scale_off else scaled / math.sqrt(q.shape[-1]))
        if self.kind(path) in ("relative", "alibi"):
            offsets = np.subtract.outer(first + np.arange(q.shape[-2]), np.arange(k.shape[-2])) * -1
            scaled = self.keep(f"{path}.biased", scaled + self.keep(f"{path}.bias", self.bias(path, offsets)))
        weights = self.keep(f"{path}.weights", softmax(self.keep(f"{path}.scores", np.where(allowed, scaled, -np.inf))))
        return self.joined_heads(path, weights @ v)

    def joined_heads(self, path: str, heads: Array) -> Array:
        """What the heads return, side by side, times W^O."""
        for head in [head for one, head in self.heads_off if one == path]:
            heads[head] = 0
        concat = np.concatenate(np.moveaxis(self.keep(f"{path}.heads", heads), -3, 0), axis=-1)
        output = self.linear(f"{path}.w_o", self.keep(f"{path}.concat", concat))
        return self.keep(f"{path}.output", (path not in self.blocks_off) * output)

    def bias(self, path: str, offsets: Array) -> Array:
        if self.kind(path) == "alibi":
            return -np.array(slopes(self.config["n_heads"]))[:, None, None] * np.abs(offsets)
        side = causal_bucket if path.startswith("decoder") else bucket
        return relative_bias(offsets, self.w[f"{path}.positions.table.weight"], side)

    def feed_forward(self, path: str, x: Array) -> Array:
        if self.config.get("feed_forward", "").startswith("experts"):
            return self.experts(path, x)
        kind = "none" if path in self.relu_off else self.kind(path)
        before = self.keep(f"{path}.pre_activation", self.linear(f"{path}.w_1", x))
        hidden = before if kind == "none" else CURVES[GATES.get(kind, kind)](before)
        if kind in GATES:
            hidden = self.keep(f"{path}.gate", hidden) * self.keep(f"{path}.value", self.linear(f"{path}.v", x))
        if units := [unit for network, unit in self.units_off if network == path]:
            hidden = np.where(np.isin(np.arange(hidden.shape[-1]), units), 0, hidden)
        output = self.linear(f"{path}.w_2", self.keep(f"{path}.hidden", hidden))
        return self.keep(f"{path}.output", (path not in self.blocks_off) * output)

    def joined(self, path: str, x: Array, sublayer: Callable[[Array], Array]) -> Array:
        """The residual stream (…,T,d_model) behind a sub-layer with its norm."""
        norm, place = self.kind(path).split()
        if place in ("pre", "sandwich"):
            change = sublayer(self.keep(f"{path}.normed", self.normalise(norm, f"{path}.norm", x)))
            if place == "sandwich":
                change = self.keep(f"{path}.renormed", self.normalise(norm, f"{path}.norm_after", change))
            return self.keep(f"{path}.output", x + change)
        scale = alpha(path, self.config["n_layers"]) if place == "deep" else 1.0
        total = self.keep(f"{path}.sum", scale * x + sublayer(x))
        return self.keep(f"{path}.output", self.normalise(norm, f"{path}.norm", total))

    # --- stacks ---

    def stack(self, name: str, x: Array, allowed: Array, first: int = 0) -> Array:
        """All layers. x (…,T,d_model): rows from position `first` on; allowed: of the attention to the stack itself"""
        for n in range(self.config["n_layers"]):
            path = f"{name}.layers.{n}"
            own = functools.partial(self.own_attention, f"{path}.self_attn", allowed=allowed, first=first)
            x = self.joined(f"{path}.add_norm_1", x, own)
            if reads := name == "decoder" and self.memory is not None:
                x = self.joined(f"{path}.add_norm_2", x, functools.partial(self.reading, f"{path}.cross_attn"))
            network = functools.partial(self.feed_forward, f"{path}.feed_forward")
            x = self.joined(f"{path}.add_norm_{2 + reads}", x, network)
        if self.config.get("norm_place", "post") in ("pre", "sandwich"):
            x = self.keep(f"{name}.normed", self.normalise(self.config.get("norm", "layer"), f"{name}.norm", x))
        return x

    def own_attention(self, path: str, y: Array, allowed: Array, first: int) -> Array:
        return self.attention(path, y, y, allowed, first)

    def reading(self, path: str, y: Array) -> Array:
        assert self.memory is not None
        return self.attention(path, y, self.memory, self.seen)

    def decoder_states(self, tgt: list[int]) -> Array:
        past = np.ones((len(tgt), len(tgt)), bool) if self.causal_mask_off else np.tri(len(tgt), dtype=bool)
        return self.stack("decoder", self.embed("decoder", tgt), past)

    def decoder(self, tgt: list[int]) -> Array:
        return self.decoder_states(tgt) @ self.w[EMBEDDING].T

    def next_logits(self, tgt: list[int]) -> Array:
        """Logits (V) of the piece after the last one."""
        needs_all = self.causal_mask_off or self.config.get("attention") == "latent"  # which keeps no keys
        last = self.decoder_states(tgt)[-1] if needs_all else self.last_row(tuple(tgt)).output[0]
        return np.asarray(last @ self.w[EMBEDDING].T)

    def last_row(self, tgt: tuple[int, ...]) -> Row:
        """The decoder's last row. No row sees one behind it, so those before it are what they were without it."""
        if tgt not in self.rows:
            before, first = [self.last_row(tgt[:n]) for n in range(1, len(tgt))], len(tgt) - 1
            paths = [f"decoder.layers.{n}.self_attn" for n in range(self.config["n_layers"])]
            self.past = {
                path: tuple(np.concatenate([row.keys_and_values[path][i] for row in before], -2) for i in (0, 1))
                for path in paths * bool(first)
            }  # type: ignore[assignment]
            x = self.stack("decoder", self.embed("decoder", [tgt[-1]], first), np.array(True), first)
            keys = {path: self.tensors.get(f"{path}.rotated_k", self.tensors[f"{path}.k"]) for path in paths}
            self.rows[tgt] = Row(x, {path: (keys[path], self.tensors[f"{path}.v"]) for path in paths})
        return self.rows[tgt]
