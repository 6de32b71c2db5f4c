"""The translator with a part exchanged, in NumPy and float64, after the papers: positions, activations, norms.

The weights that the translator does not have are drawn by torch from seed 0, in the order in which they are needed.
"""

import functools
import math
from typing import Any

import numpy as np
import torch

from tests.oracle.forward import Array, Forward, config, softmax, split_heads
from tests.oracle.page import Page
from tests.oracle.statement import factor, tex
from tests.oracle.worked import RULES, Blank, Index, Step, at

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
            bias = self.keep(f"{path}.bias", relative_bias(len(x)) if kind == "relative" else alibi(len(x)))
            scaled = self.keep(f"{path}.biased", scaled + bias)
        weights = self.keep(f"{path}.weights", softmax(self.keep(f"{path}.scores", np.where(allowed, scaled, -np.inf))))
        concat = self.keep(f"{path}.concat", np.concatenate(list(self.keep(f"{path}.heads", weights @ v)), axis=1))
        return self.keep(f"{path}.output", concat @ w["o"].T)


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


def bucket(offset: int) -> int:
    """Of 32 buckets, 16 for each side: 0 to 7 one distance each, then by factors of 16^(1/8) up to 128."""
    distance, right = abs(offset), offset > 0
    # The first whole distance of the buckets 8 to 15: 8 · 16^(n/8), rounded up.
    starts = [math.ceil(round(8 * 16 ** (n / 8), 9)) for n in range(8)]
    n = distance if distance < 8 else 7 + sum(distance >= start for start in starts)
    return n + 16 * right


@functools.cache
def bucket_table() -> Array:
    return torch.randn(N_BUCKETS, config()["n_heads"], generator=torch.Generator().manual_seed(0)).numpy().astype(float)


def relative_bias(length: int) -> Array:
    rows = [[bucket_table()[bucket(j - i)] for j in range(length)] for i in range(length)]
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


_SELF = r"(?:encoder|decoder)\.layers\.\d+\.self_attn\."
RULES |= {_SELF + r"rotated_[qk]": rotated, _SELF + "bias": bias, _SELF + "biased": biased}
