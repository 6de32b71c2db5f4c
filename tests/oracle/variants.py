"""The translator with a part exchanged, in NumPy and float64, after the papers: positions, activations, norms.

The weights that the translator does not have are drawn by torch from seed 0, in the order in which they are needed.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from tests.oracle.decode import Writer, greedy
from tests.oracle.forward import EOS, FOLDER, Array, Forward, config, softmax, split_heads
from tests.oracle.page import Page
from tests.oracle.statement import factor, tex
from tests.oracle.untrained import drawn_matrices, drawn_table
from tests.oracle.worked import (
    RULES,
    Blank,
    Index,
    Step,
    added,
    at,
    layer_of,
    linear,
    normed,
    rectified,
    stream_and_change,
)

N_BUCKETS = 32


class Variant(Forward):
    """A pass in which some parts are of another kind. kinds: by the path of the attention, network or Add & Norm."""

    def __init__(self, src: list[int], labels: list[int], kinds: dict[str, str], **changes: Any) -> None:
        self.kinds = kinds
        super().__init__(src, labels, **changes)

    def attention(self, path: str, x: Array, memory: Array, allowed: Array) -> Array:
        if path not in self.kinds:
            return super().attention(path, x, memory, allowed)
        w, kind = {letter: self.w[f"{path}.w_{letter}.weight"] for letter in "qkvo"}, self.kinds[path]
        q, k, v = (self.keep(f"{path}.{letter}", split_heads(x @ w[letter].T)) for letter in "qkv")
        if kind == "rotary":
            q, k = (self.keep(f"{path}.rotated_{name}", turned(one)) for name, one in (("q", q), ("k", k)))
        products = self.keep(f"{path}.products", q @ k.swapaxes(1, 2))
        scaled = self.keep(f"{path}.scaled", products / math.sqrt(q.shape[-1]))
        if kind != "rotary":
            bias = self.keep(f"{path}.bias", self.relative(path, len(x)) if kind == "relative" else alibi(len(x)))
            scaled = self.keep(f"{path}.biased", scaled + bias)
        weights = self.keep(f"{path}.weights", softmax(self.keep(f"{path}.scores", np.where(allowed, scaled, -np.inf))))
        concat = self.keep(f"{path}.concat", np.concatenate(list(self.keep(f"{path}.heads", weights @ v)), axis=1))
        return self.keep(f"{path}.output", concat @ w["o"].T)

    def relative(self, path: str, length: int) -> Array:
        return relative_bias(length, bucket_table())

    def feed_forward(self, path: str, x: Array) -> Array:
        if path not in self.kinds:
            return super().feed_forward(path, x)
        kind = self.kinds[path]
        if kind not in GATES:
            before = x @ self.w[f"{path}.w_1.weight"].T + self.w[f"{path}.w_1.bias"]
            hidden = self.keep(f"{path}.hidden", CURVES[kind](self.keep(f"{path}.pre_activation", before)))
            return self.keep(f"{path}.output", hidden @ self.w[f"{path}.w_2.weight"].T + self.w[f"{path}.w_2.bias"])
        if f"{path}.v.weight" not in self.w:
            self.w = self.w | {f"{path}.{name}.weight": drawn for name, drawn in gated_matrices().items()}
        before = self.keep(f"{path}.pre_activation", x @ self.w[f"{path}.w_1.weight"].T)
        gate = self.keep(f"{path}.gate", CURVES[GATES[kind]](before))
        hidden = self.keep(f"{path}.hidden", gate * self.keep(f"{path}.value", x @ self.w[f"{path}.v.weight"].T))
        return self.keep(f"{path}.output", hidden @ self.w[f"{path}.w_2.weight"].T)

    def encoder(self, src: list[int]) -> Array:
        x = self.embed("encoder", src)
        for n in range(config()["n_layers"]):
            path = f"encoder.layers.{n}"
            x = self.joined(
                f"{path}.add_norm_1", x, lambda y, p=path: self.attention(f"{p}.self_attn", y, y, self.seen)
            )
            x = self.joined(f"{path}.add_norm_2", x, lambda y, p=path: self.feed_forward(f"{p}.feed_forward", y))
        return x

    def attend(self, path: str, x: Array) -> Array:
        return self.attention(path, x, x, self.seen)

    def joined(self, path: str, x: Array, sublayer: Callable[[Array], Array]) -> Array:
        """A sub-layer of the encoder with the norm that it has."""
        if path not in self.kinds:
            return self.add_norm(path, x, sublayer(x))
        norm, place = self.kinds[path].split()
        if place in ("pre", "sandwich"):
            change = sublayer(self.keep(f"{path}.normed", self.normalise(norm, f"{path}.norm", x)))
            if place == "sandwich":
                after = f"{path}.norm_after" if f"{path}.norm_after.weight" in self.w else f"{path}.norm"
                change = self.keep(f"{path}.renormed", self.normalise(norm, after, change))
            return self.keep(f"{path}.output", x + change)
        total = self.keep(f"{path}.sum", (self.alpha(path) if place == "deep" else 1.0) * x + sublayer(x))
        return self.keep(f"{path}.output", self.normalise(norm, f"{path}.norm", total))

    def normalise(self, norm: str, path: str, rows: Array) -> Array:
        beta = self.w[f"{path}.bias"] if norm == "layer" else 0.0
        return np.asarray(self.w[f"{path}.weight"] * NORMS[norm](rows) + beta)

    def alpha(self, path: str) -> float:
        return alpha()


def rewritten(page: Page, most: int, **kinds: str) -> tuple[int, ...]:
    """What greedy search writes for the page's sentence under exchanged parts, at most so many pieces."""
    writer = Writer(page.sentence)
    writer.passes = Variant(page.oracle.ids["encoder"], [EOS], {p.replace("__", "."): k for p, k in kinds.items()})
    return greedy(writer, most=most)


def variant(page: Page, **kinds: str) -> Variant:
    """The page's sentence and translation under exchanged parts; a dot in a path is written as two underscores."""
    named = tuple((path.replace("__", "."), kind) for path, kind in kinds.items())
    return _variant(page.sentence, tuple(page.oracle.ids["encoder"]), tuple(page.oracle.labels), named)


@functools.lru_cache(64)
def _variant(sentence: str, src: tuple[int, ...], labels: tuple[int, ...], kinds: Any) -> Variant:
    return Variant(list(src), list(labels), dict(kinds))


# --- positions -------------------------------------------------------------------------------------------------------


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
@functools.cache
def learned_table() -> Array | None:
    """T5's numbers (buckets,H) as the sibling learned them in its encoder's first layer, if it comes with the app."""
    file = FOLDER.parent / "positions-relative" / "model.safetensors"
    if not file.exists():
        return None
    return load_file(file)["encoder.layers.0.self_attn.positions.table.weight"].astype(np.float64)


def bucket_table() -> Array:
    table = learned_table()
    return drawn_table(N_BUCKETS, config()["n_heads"]) if table is None else table


def relative_bias(length: int, table: Array, bucket: Callable[[int], int] = bucket) -> Array:
    """(H,T,T) of a table (buckets,H)."""
    rows = [[table[bucket(j - i)] for j in range(length)] for i in range(length)]
    return np.moveaxis(np.array(rows), -1, 0)


def slopes() -> list[float]:
    n_heads = config()["n_heads"]
    assert n_heads == 4, "the rule for powers of two"
    return [2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)]


def alibi(length: int) -> Array:
    distance = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    return -np.array(slopes())[:, None, None] * distance


def rotated(oracle: Forward, name: str, index: Index) -> Step:
    head, row, dimension = index
    source = name.replace("rotated_", "")
    x, d_k, i = oracle[source][head, row], oracle[source].shape[-1], dimension // 2
    angle, (one, two) = row / 10000 ** (2 * i / d_k), x[2 * i : 2 * i + 2]
    first, sign, last = ("cos", "-", "sin") if dimension % 2 == 0 else ("sin", "+", "cos")
    return Step(
        f"Position {row} (counted from 0) turns dimensions {2 * i + 1} and {2 * i + 2} together by the angle {row} / "
        f"10000^({2 * i}/{d_k}), in radians.",
        rf"{factor(one)}\cdot\{first}({tex(angle)}) {sign} {factor(two)}\cdot\{last}({tex(angle)}) = "
        + tex(oracle[name][index]),
        f'one, two = t["{source}"][{head}, {row}, {2 * i}:{2 * i + 2}]\n'
        f"angle = {row} / 10000 ** ({2 * i} / {d_k})\n"
        f"one * np.{first}(angle) {sign} two * np.{last}(angle)",
    )


def stands(row: int, column: int) -> str:
    if row == column:
        return f"Query {row + 1} and key {column + 1} stand at the same position."
    distance, side = abs(column - row), "right" if column > row else "left"
    places = "1 place" if distance == 1 else f"{distance} places"
    return f"Key {column + 1} stands {places} to the {side} of query {row + 1}."


def biased(oracle: Forward, name: str, index: Index) -> Step:
    names = [name.replace("biased", what) for what in ("scaled", "bias")]
    one, two = (oracle[n][index] for n in names)
    return Step(
        "The score plus what the position scheme adds for the distance between query and key.",
        f"{tex(one)} + {factor(two)} = {tex(one + two)}",
        " + ".join(f't["{n}"]{at(index)}' for n in names),
        Blank(f"{tex(one)} + {factor(two)}", one + two),
    )


def bias(oracle: Forward, name: str, index: Index) -> Step:
    head, row, column = index
    assert isinstance(oracle, Variant)
    path, distance = name.removesuffix(".bias"), abs(column - row)
    if oracle.kinds[path] == "alibi":
        slope = slopes()[head]
        return Step(
            f"{stands(row, column)} The slope of head {head + 1}, {tex(slope)}, is fixed. Slope times distance is "
            "taken off the score.",
            rf"-{tex(slope)}\cdot {distance} = {tex(-slope * distance)}",
            f"-{slope} * abs({column} - {row})",
            Blank(rf"-{tex(slope)}\cdot {distance}", -round(slope, 4) * distance),
        )
    mine = bucket(column - row)
    same = [d for d in range(200) if bucket(d if column > row else -d) == mine]
    shares = (
        "So short a distance has a number to itself."
        if len(same) == 1
        else f"All distances from {same[0]} on share one number."
        if same[-1] == 199
        else f"The distances from {same[0]} to {same[-1]} share one number."
    )
    table = f"{path}.positions.table.weight[{mine}]"
    return Step(
        f"{stands(row, column)} {shares} The number of head {head + 1} for that is in row {mine + 1} "
        f"of {N_BUCKETS} in the table.",
        rf"r_{{{mine + 1}}} = {tex(oracle[name][index])}",
        f't["{table}"][{head}]',
    )


# --- activations -----------------------------------------------------------------------------------------------------


@np.vectorize
def normal_share(z: float) -> float:
    """Φ: the share of a standard normal distribution below z."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


CURVES: dict[str, Callable[[Array], Array]] = {
    "relu": lambda z: np.where(z > 0, z, 0 * z),
    "gelu": lambda z: z * normal_share(z),
    "gelu_tanh": lambda z: 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))),
    "silu": lambda z: z / (1 + np.exp(-z)),
}
GATES = {"swiglu": "silu", "geglu": "gelu"}


def slope(kind: str, z: Array) -> Array:
    """By complex steps (Squire and Trapp 1998); of the ReLU and of Φ, which take no complex numbers, by formula."""
    if kind == "relu":
        return (z > 0).astype(float)
    if kind == "gelu":
        return normal_share(z) + z * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return np.imag(CURVES[kind](z + 1e-30j)) / 1e-30


@functools.cache
def gated_matrices() -> dict[str, Array]:
    """Xavier's rule, from seed 0: two matrices into two thirds of the units, and one back."""
    d_model, units = config()["d_model"], round(config()["d_ff"] * 2 / 3)
    return drawn_matrices({"w_1": (units, d_model), "v": (units, d_model), "w_2": (d_model, units)})


def activated(oracle: Forward, name: str, index: Index) -> Step:
    path, what = name.rpartition(".")[::2]
    kind = oracle.kinds.get(path, "relu") if isinstance(oracle, Variant) else "relu"
    if kind == "relu":
        return rectified(oracle, name, index)
    if kind in GATES and what == "hidden":
        pair = [oracle[f"{path}.{one}"][index] for one in ("gate", "value")]
        return Step(
            "The gate decides how much of the value passes: the two are multiplied, number by number.",
            rf"{factor(pair[0])}\cdot {factor(pair[1])} = {tex(pair[0] * pair[1])}",
            " * ".join(f't["{path}.{one}"]{at(index)}' for one in ("gate", "value")),
        )
    kind, before = GATES.get(kind, kind), f't["{path}.pre_activation"]{at(index)}'
    x, result = float(oracle[f"{path}.pre_activation"][index]), tex(oracle[name][index])
    if kind == "silu":
        return Step(
            "Swish: the number times its own sigmoid. Large numbers pass, very negative ones become nearly 0.",
            rf"\frac{{{tex(x)}}}{{1 + e^{{{tex(-x)}}}}} = {result}",
            f"x = {before}\nx / (1 + np.exp(-x))",
        )
    if kind == "gelu":
        return Step(
            "GELU: the number times Φ of it, the share of a standard normal distribution that lies below it.",
            rf"{tex(x)}\cdot\Phi({tex(x)}) = {factor(x)}\cdot {tex(float(normal_share(x)))} = {result}",
            f"import math\nx = {before}\nx * (1 + math.erf(x / math.sqrt(2))) / 2",
        )
    return Step(
        "GELU, with a hyperbolic tangent in place of the exact share.",
        rf"0.5\cdot {factor(x)}\cdot(1 + \tanh({tex(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))})) = {result}",
        f"x = {before}\n0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))",
    )


def passed(oracle: Forward, name: str, index: Index) -> Step:
    """The value that a gate lets through."""
    stack, layer = layer_of(name)
    source = f"{stack}.layers.{layer}.add_norm_{1 if stack == 'encoder' else 2}.output"
    return linear(oracle, name, index, "what the feed-forward network reads", source, f"{name[:-6]}.v", "V")


# --- norms -----------------------------------------------------------------------------------------------------------


def per_word(rows: Array) -> Array:
    return (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5)


def per_word_rms(rows: Array) -> Array:
    return rows / np.sqrt((rows**2).mean(1, keepdims=True) + 1e-5)


NORMS: dict[str, Callable[[Array], Array]] = {"layer": per_word, "rms": per_word_rms}


def alpha() -> float:
    """DeepNorm's α in an encoder that a decoder reads. Wang et al. 2022, Figure 2: 0.81 (N⁴M)^(1/16)."""
    return 0.81 * (config()["n_layers"] ** 5) ** (1 / 16)


def norm_reads(oracle: Forward, name: str) -> str:
    """What the norm reads that makes a tensor; the tensor itself if no norm makes it."""
    path, what = name.rpartition(".")[::2]
    stream, change = stream_and_change(path)
    return {"output": f"{path}.sum", "normed": stream, "renormed": change}.get(what, name)


def normalised(oracle: Forward, name: str, index: Index) -> Step:
    path, (row, dimension) = name.rpartition(".")[0], index
    kind = oracle.kinds.get(path, "layer post") if isinstance(oracle, Variant) else "layer post"
    if kind == "layer post":
        return normed(oracle, name, index)
    source, weights = norm_reads(oracle, name), f"{path}.norm" + "_after" * name.endswith(".renormed")
    x, gamma = oracle[source][row], oracle[f"{path}.norm.weight"][dimension]
    if kind.startswith("rms"):
        return Step(
            f"RMS norm: divide dimension {dimension + 1} of the row by the root of the mean square of its {len(x)} "
            "numbers, then times γ, a learned number of this dimension.",
            rf"{factor(gamma)}\cdot\frac{{{tex(x[dimension])}}}{{{tex(math.sqrt((x**2).mean() + 1e-5))}}} = "
            + tex(oracle[name][index]),
            f'row = t["{source}"][{row}].astype(float)\n'
            f't["{weights}.weight"][{dimension}] * row[{dimension}] / np.sqrt((row**2).mean() + 1e-05)',
        )
    beta = oracle[f"{path}.norm.bias"][dimension]
    return Step(
        f"Layer norm: from dimension {dimension + 1} of the row take the row's mean, divide by the row's standard "
        f"deviation (over {len(x)} dimensions), then times γ, plus β, two learned numbers of this dimension.",
        rf"{factor(gamma)}\cdot\frac{{{tex(x[dimension])} - {factor(x.mean())}}}{{{tex(math.sqrt(x.var() + 1e-5))}}} "
        rf"+ {factor(beta)} = {tex(oracle[name][index])}",
        f'row = t["{source}"][{row}]\n'
        f't["{weights}.weight"][{dimension}] * (row[{dimension}] - row.mean()) / np.sqrt(row.var() + 1e-05)'
        f' + t["{weights}.bias"][{dimension}]',
    )


def summed(oracle: Forward, name: str, index: Index) -> Step:
    path = name.removesuffix(".sum")
    if not (isinstance(oracle, Variant) and oracle.kinds.get(path, "").endswith("deep")):
        return added(oracle, name, index)
    names = stream_and_change(path)
    stream, change = (oracle[one][index] for one in names)
    term = rf"{tex(alpha())}\cdot {factor(stream)}"
    return Step(
        f"What the sub-layer read (the residual stream), times α = {tex(alpha())}, plus what the sub-layer wrote. α "
        "belongs to the depth of the stack.",
        rf"{term} + {factor(change)} = {tex(oracle[name][index])}",
        f'{alpha()} * t["{names[0]}"]{at(index)} + t["{names[1]}"]{at(index)}',
        Blank(term, round(alpha(), 4) * round(float(stream), 4)),
    )


_NORM = r"(?:encoder|decoder)\.layers\.\d+\.add_norm_\d\."
_NETWORK = r"(?:encoder|decoder)\.layers\.\d+\.feed_forward\."
_SELF = r"(?:encoder|decoder)\.layers\.\d+\.self_attn\."
RULES |= {_SELF + r"rotated_[qk]": rotated, _SELF + "bias": bias, _SELF + "biased": biased}
RULES |= {_NORM + "sum": summed} | {_NORM + what: normalised for what in ("output", "normed", "renormed")}
RULES |= {_NETWORK + "hidden": activated, _NETWORK + "gate": activated, _NETWORK + "value": passed}
