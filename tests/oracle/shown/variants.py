"""The translator with a part exchanged, in NumPy and float64, after the papers: positions, activations, norms.

The weights that the translator does not have are drawn by torch from seed 0, in the order in which they are needed.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from tests.oracle.language.approved import Prose
from tests.oracle.language.page import Page
from tests.oracle.language.statement import factor, tex
from tests.oracle.language.words import text_of
from tests.oracle.passes.decode import Writer, greedy
from tests.oracle.passes.forward import EOS, FOLDER, Array, Forward, config, weights
from tests.oracle.passes.network import CURVES, GATES, alpha, bucket, normal_share, slopes
from tests.oracle.passes.untrained import drawn_matrices, drawn_table
from tests.oracle.shown.worked import (
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
    sum_of_two,
)

prose = Prose("variants")

N_BUCKETS = 32


class Variant(Forward):
    """A pass in which some parts are of another kind. kinds: by the path of the attention, network or Add & Norm."""

    def __init__(self, src: list[int], labels: list[int], kinds: dict[str, str], **changes: Any) -> None:
        w = dict(weights())
        for path, kind in kinds.items():
            if kind == "relative":
                w[f"{path}.positions.table.weight"] = bucket_table()
            elif kind in GATES:
                w |= {f"{path}.{name}.weight": drawn for name, drawn in gated_matrices().items()}
                del w[f"{path}.w_1.bias"], w[f"{path}.w_2.bias"]
            elif kind.endswith("sandwich"):
                w |= {f"{path}.norm_after.{name}": w[f"{path}.norm.{name}"] for name in ("weight", "bias")}
        super().__init__(src, labels, w=w, kinds=kinds, **changes)


def rewritten(page: Page, most: int, **kinds: str) -> tuple[int, ...]:
    """What greedy search writes for the page's sentence under exchanged parts, at most so many pieces."""
    writer = Writer(page.sentence)
    writer.passes = Variant(page.oracle.ids["encoder"], [EOS], {p.replace("__", "."): k for p, k in kinds.items()})
    return greedy(writer, most=most)


def most_anew(page: Page) -> int:
    return min(len(page.labels) + 5, 20)


def begins_anew(page: Page, ids: Sequence[int]) -> str:
    """How the new translation begins, if that is not as the old one does."""
    text = text_of(list(ids))
    if ids[-1:] == (EOS,):
        return "" if text == page.translation else text or "(nothing)"
    return "" if [*ids] == [*page.oracle.labels[: len(ids)]] else f"{text} …"


def variant(page: Page, **kinds: str) -> Variant:
    """The page's sentence and translation under exchanged parts; a dot in a path is written as two underscores."""
    named = tuple((path.replace("__", "."), kind) for path, kind in kinds.items())
    return _variant(page.sentence, tuple(page.oracle.ids["encoder"]), tuple(page.oracle.labels), named)


@functools.lru_cache(64)
def _variant(sentence: str, src: tuple[int, ...], labels: tuple[int, ...], kinds: Any) -> Variant:
    return Variant(list(src), list(labels), dict(kinds))


# --- positions -------------------------------------------------------------------------------------------------------


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


def rotated(oracle: Forward, name: str, index: Index) -> Step:
    head, row, dimension = index
    source = name.replace("rotated_", "")
    x, d_k, i = oracle[source][head, row], oracle[source].shape[-1], dimension // 2
    angle, (one, two) = row / 10000 ** (2 * i / d_k), x[2 * i : 2 * i + 2]
    first, sign, last = ("cos", "-", "sin") if dimension % 2 == 0 else ("sin", "+", "cos")
    return Step(
        prose.line("turned", row, 2 * i + 1, 2 * i + 2, 2 * i, d_k),
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
    says = "The score plus what the position scheme adds for the distance between query and key."
    return sum_of_two(oracle, says, [name.replace("biased", what) for what in ("scaled", "bias")], index)


def bias(oracle: Forward, name: str, index: Index) -> Step:
    head, row, column = index
    path, distance = name.removesuffix(".bias"), abs(column - row)
    if oracle.kind(path) == "alibi":
        slope = slopes(config()["n_heads"])[head]
        return Step(
            prose.line("slope", stands(row, column), head + 1, tex(slope)),
            rf"-{tex(slope)}\cdot {distance} = {tex(-slope * distance)}",
            f"-{slope} * abs({column} - {row})",
            Blank(rf"-{tex(slope)}\cdot {distance}", -round(slope, 4) * distance),
        )
    mine = bucket(column - row)
    same = [d for d in range(200) if bucket(d if column > row else -d) == mine]
    shares = prose.words("share of a distance", same[0], same[-1])[
        "alone" if len(same) == 1 else "on" if same[-1] == 199 else "between"
    ]
    table = f"{path}.positions.table.weight[{mine}]"
    return Step(
        prose.line("bucket", stands(row, column), shares, head + 1, mine + 1, N_BUCKETS),
        rf"r_{{{mine + 1}}} = {tex(oracle[name][index])}",
        f't["{table}"][{head}]',
    )


# --- activations -----------------------------------------------------------------------------------------------------


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
    kind = oracle.kind(path)
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


def norm_reads(oracle: Forward, name: str) -> str:
    """What the norm reads that makes a tensor; the tensor itself if no norm makes it."""
    path, what = name.rpartition(".")[::2]
    stream, change = stream_and_change(path)
    return {"output": f"{path}.sum", "normed": stream, "renormed": change}.get(what, name)


def normalised(oracle: Forward, name: str, index: Index) -> Step:
    path, (row, dimension) = name.rpartition(".")[0], index
    kind = oracle.kind(path)
    if kind == "layer post":
        return normed(oracle, name, index)
    source, weights = norm_reads(oracle, name), f"{path}.norm" + "_after" * name.endswith(".renormed")
    x, gamma = oracle[source][row], oracle[f"{path}.norm.weight"][dimension]
    if kind.startswith("rms"):
        return Step(
            prose.line("rms norm", dimension + 1, len(x)),
            rf"{factor(gamma)}\cdot\frac{{{tex(x[dimension])}}}{{{tex(math.sqrt((x**2).mean() + 1e-5))}}} = "
            + tex(oracle[name][index]),
            f'row = t["{source}"][{row}].astype(float)\n'
            f't["{weights}.weight"][{dimension}] * row[{dimension}] / np.sqrt((row**2).mean() + 1e-05)',
        )
    return normed(oracle, name, index, source, weights)


def summed(oracle: Forward, name: str, index: Index) -> Step:
    path = name.removesuffix(".sum")
    if not oracle.kind(path).endswith("deep"):
        return added(oracle, name, index)
    names, factor_of_stream = stream_and_change(path), alpha(path, config()["n_layers"])
    stream, change = (oracle[one][index] for one in names)
    term = rf"{tex(factor_of_stream)}\cdot {factor(stream)}"
    return Step(
        prose.line("deep norm", tex(factor_of_stream)),
        rf"{term} + {factor(change)} = {tex(oracle[name][index])}",
        f'{factor_of_stream} * t["{names[0]}"]{at(index)} + t["{names[1]}"]{at(index)}',
        Blank(term, round(factor_of_stream, 4) * round(float(stream), 4)),
    )


_NORM = r"(?:encoder|decoder)\.layers\.\d+\.add_norm_\d\."
_NETWORK = r"(?:encoder|decoder)\.layers\.\d+\.feed_forward\."
_SELF = r"(?:encoder|decoder)\.layers\.\d+\.self_attn\."
RULES |= {_SELF + r"rotated_[qk]": rotated, _SELF + "bias": bias, _SELF + "biased": biased}
RULES |= {_NORM + "sum": summed} | {_NORM + what: normalised for what in ("output", "normed", "renormed")}
RULES |= {_NETWORK + "hidden": activated, _NETWORK + "gate": activated, _NETWORK + "value": passed}
