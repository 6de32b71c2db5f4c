"""How the numbers between and after the attention blocks came about: feed-forward, Add & Norm, output."""

import math
import re

import numpy as np

from explain.attention import layer_input, output_of
from explain.core import Numbers, WorkedStep, factor, linear, rule, subscript, tex
from explain.inputs import EMBEDDING

NORM_EPSILON = 1e-5  # torch's, added to a variance so that nothing is divided by 0

LAYER = r"(encoder|decoder)\.layers\.(\d+)"


@rule(LAYER + r"\.feed_forward\.pre_activation")
def _widened(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    row, unit = index
    path, value = found[0].rpartition(".")[0], numbers[found[0]][index]
    read = f"{found[1]}.layers.{found[2]}.add_norm_{1 if found[1] == 'encoder' else 2}.output"
    named, total, snippet, needs = linear(numbers, read, row, f"{path}.w_1.weight", unit, f"{path}.w_1.bias")
    return WorkedStep(
        f"Row {row + 1} of what the feed-forward network reads times column {unit + 1} of W₁, plus this unit's bias b₁ "
        f"at the end. {named}",
        rf"{total} = {tex(value)}",
        value,
        snippet,
        needs,
    )


@rule(LAYER + r"\.feed_forward\.hidden")
def _rectified(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    source = found[0].replace("hidden", "pre_activation")
    before, value = numbers[source][index], numbers[found[0]][index]
    return WorkedStep(
        "ReLU: a positive number stays as it is."
        if value > 0
        else "ReLU: a negative number becomes 0; the unit rests.",
        rf"\max(0,\ {tex(before)}) \to {tex(value)}",
        value,
        f'max(0, t["{source}"]{subscript(index)})',
        (source,),
    )


@rule(LAYER + r"\.feed_forward\.output")
def _narrowed(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    row, dimension = index
    path, value = found[0].rpartition(".")[0], numbers[found[0]][index]
    named, total, snippet, needs = linear(
        numbers, f"{path}.hidden", row, f"{path}.w_2.weight", dimension, f"{path}.w_2.bias"
    )
    return WorkedStep(
        f"The hidden units of row {row + 1} times column {dimension + 1} of W₂, plus this dimension's bias b₂ "
        f"at the end. {named}",
        rf"{total} = {tex(value)}",
        value,
        snippet,
        needs,
    )


def added(numbers: Numbers, stack: str, layer: int, n: int) -> tuple[str, str]:
    """Names of the two tensors that Add & Norm number n, from 1, of a layer adds: its input, its sub-layer's output."""
    path = f"{stack}.layers.{layer}"
    stream = layer_input(numbers, stack, layer, "self") if n == 1 else f"{path}.add_norm_{n - 1}.output"
    sublayers = ("self_attn", "feed_forward") if stack == "encoder" else ("self_attn", "cross_attn", "feed_forward")
    return stream, f"{path}.{sublayers[n - 1]}.output"


@rule(LAYER + r"\.add_norm_(\d)\.sum")
def _added(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    names = added(numbers, found[1], int(found[2]), int(found[3]))
    stream, change, value = (numbers[name][index] for name in (*names, found[0]))
    return WorkedStep(
        "What the sub-layer read (the residual stream) plus what the sub-layer wrote.",
        rf"{tex(stream)} + {factor(change)} = {tex(value)}",
        value,
        " + ".join(f't["{name}"]{subscript(index)}' for name in names),
        names,
    )


@rule(r"((?:encoder|decoder)\.layers\.\d+\.add_norm_\d)\.output")
def _add_norm(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    row, dimension = index
    names = f"{found[1]}.sum", f"{found[1]}.norm.weight", f"{found[1]}.norm.bias"
    x, gamma, beta = numbers[names[0]][row], numbers[names[1]][dimension], numbers[names[2]][dimension]
    mean, deviation = float(x.mean()), math.sqrt(x.var() + NORM_EPSILON)
    value = numbers[found[0]][index]
    return WorkedStep(
        f"Add & Norm: from dimension {dimension + 1} of the sum (what the sub-layer read plus what it wrote) take the "
        f"row's mean, divide by the row's standard deviation (over {len(x)} dimensions), then times γ, plus β, two "
        "learned numbers of this dimension.",
        rf"{factor(gamma)}\cdot\frac{{{tex(x[dimension])} - {factor(mean)}}}{{{tex(deviation)}}} + {factor(beta)} "
        rf"= {tex(value)}",
        value,
        f'row = t["{names[0]}"][{row}]\n'
        f't["{names[1]}"][{dimension}] * (row[{dimension}] - row.mean()) / np.sqrt(row.var() + {NORM_EPSILON})'
        f' + t["{names[2]}"][{dimension}]',
        names,
    )


@rule("logits")
def _logit(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    row, token = index
    value = numbers["logits"][index]
    last = max(int(name.split(".")[2]) for name in numbers.tensors if name.startswith("decoder.layers."))
    named, total, snippet, needs = linear(numbers, output_of("decoder", last), row, EMBEDDING, token)
    return WorkedStep(
        f"Row {row + 1} of the decoder's output times the embedding of entry {token}: the more alike the two, the "
        f"larger the logit. {named}",
        rf"{total} = {tex(value)}",
        value,
        snippet,
        needs,
    )


@rule("probabilities")
def _probability(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    row, token = index
    logits, value = numbers["logits"][row], numbers["probabilities"][index]
    top = float(logits.max())
    total = float(np.exp(logits - top).sum())
    return WorkedStep(
        f"Softmax over the {len(logits):,} logits of row {row + 1}. The largest of them, {tex(top)}, is first taken "
        "off all: that changes no ratio and keeps e to the power small. The denominator is the sum over all entries.",
        rf"\frac{{e^{{{tex(logits[token])} - {factor(top)}}}}}{{{tex(total)}}} = {tex(value)}",
        value,
        f'row = t["logits[{row}]"].astype(float)\nnp.exp(row[{token}] - row.max()) / np.exp(row - row.max()).sum()',
        (f"logits[{row}]",),
    )
