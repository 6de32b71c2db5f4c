"""How the numbers of attention came about: projections, scores, weights, heads."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from explain.core import Numbers, WorkedStep, dot_product, factor, linear, rule, subscript, tex, worked
from figures.grouping import Group

LISTED = 4  # terms written out of a softmax or a weighted sum


def layer_input(numbers: Numbers, stack: str, layer: int, what: str) -> str:
    """Name of the tensor that a projection of this layer reads.

    what: "self" (also the layer's own input), "cross_q" or "memory"
    """
    match what:
        case "self":
            return f"{stack}.embedding.output" if layer == 0 else output_of(stack, layer - 1)
        case "cross_q":
            return f"{stack}.layers.{layer}.add_norm_1.output"
        case _:
            last = max(int(n.split(".")[2]) for n in numbers.tensors if n.startswith("encoder.layers."))
            return output_of("encoder", last)


def output_of(stack: str, layer: int) -> str:
    """Name of a layer's output."""
    return f"{stack}.layers.{layer}.add_norm_{2 if stack == 'encoder' else 3}.output"


@rule(r"(encoder|decoder)\.layers\.(\d+)\.(self|cross)_attn\.([qkv])")
def _projection(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    stack, layer, attention, letter = found[1], int(found[2]), found[3], found[4]
    head, row, dimension = index
    what = "self" if attention == "self" else "cross_q" if letter == "q" else "memory"
    source = layer_input(numbers, stack, layer, what)
    matrix = f"{stack}.layers.{layer}.{attention}_attn.w_{letter}.weight"
    column = head * numbers[found[0]].shape[-1] + dimension
    value = numbers[found[0]][index]
    named, total, snippet, needs = linear(numbers, source, row, matrix, column)
    capital = letter.upper()
    return WorkedStep(
        f"Row {row + 1} of the input X times column {column + 1} of W^{capital} "
        f"(head {head + 1}, its dimension {dimension + 1}). {named}",
        rf"{letter}_{{{row + 1},{dimension + 1}}} = x_{{{row + 1}}} \cdot W^{capital}_{{:,{column + 1}}} "
        rf"= {total} = {tex(value)}",
        value,
        f"{snippet}  # torch keeps W transposed: its rows are W's columns",
        needs,
    )


ATTENTION = r"((?:encoder|decoder)\.layers\.\d+\.(?:self|cross)_attn)"


@rule(ATTENTION + r"\.products")
def _products(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    head, row, column = index
    names = f"{found[1]}.q", f"{found[1]}.k"
    q, k = numbers[names[0]][head, row], numbers[names[1]][head, column]
    value = numbers[found[0]][index]
    named, total = dot_product(q, k)
    return WorkedStep(
        f"Multiply query {row + 1} and key {column + 1} element by element and add up. {named}",
        rf"q_{{{row + 1}}}\cdot k_{{{column + 1}}} = {total} = {tex(value)}",
        value,
        f't["{names[0]}"][{head}, {row}] @ t["{names[1]}"][{head}, {column}]',
        names,
    )


@rule(ATTENTION + r"\.scaled")
def _scaled(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    source = f"{found[1]}.products"
    before, value = numbers[source][index], numbers[found[0]][index]
    d_k = numbers[f"{found[1]}.q"].shape[-1]
    if before != 0 and math.isclose(value, before, rel_tol=1e-5):
        return WorkedStep(
            "The scale is switched off: the product stays as it is.",
            rf"{tex(before)} \to {tex(value)}",
            value,
            f't["{source}"]{subscript(index)}',
            (source,),
        )
    return WorkedStep(
        f"Divide by the square root of d_k = {d_k}, the count of numbers in a key, to keep scores at a moderate size.",
        rf"\frac{{{tex(before)}}}{{\sqrt{{{d_k}}}}} = \frac{{{tex(before)}}}{{{tex(math.sqrt(d_k))}}} = {tex(value)}",
        value,
        f't["{source}"]{subscript(index)} / np.sqrt({d_k})',
        (source,),
    )


@rule(ATTENTION + r"\.scores")
def _scores(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    source = f"{found[1]}.scaled"
    before, value = numbers[source][index], numbers[found[0]][index]
    masked = np.isneginf(value)
    return WorkedStep(
        "The mask covers this position: its score becomes −∞."
        if masked
        else "The mask lets this position through: the score stays.",
        rf"{tex(before)} \to {tex(value)}",
        value,
        "-np.inf  # masked" if masked else f't["{source}"]{subscript(index)}',
        (source,),
    )


@rule(ATTENTION + r"\.weights")
def _weights(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    head, row, column = index
    source = f"{found[1]}.scores"
    scores = numbers[source][head, row]
    value = numbers[found[0]][index]
    snippet = f'row = t["{source}"][{head}, {row}]\nnp.exp(row[{column}]) / np.exp(row).sum()'
    if np.isneginf(scores[column]):
        return WorkedStep(
            "The mask covers this position: its score is −∞, so its weight is 0.",
            rf"e^{{-\infty}} = 0 \;\Rightarrow\; {tex(value)}",
            value,
            snippet,
            (source,),
        )
    seen = np.flatnonzero(np.isfinite(scores))
    # This cell's term and the largest others are written out; the sum is over all.
    order = [column, *[j for j in seen[np.argsort(-scores[seen], kind="stable")] if j != column]][:LISTED]
    terms = [rf"e^{{{tex(scores[j])}}}" for j in order]
    says = f"Softmax: e to this score, over the sum for all {len(seen)} positions that this row may see"
    if len(order) < len(seen):
        terms.append(tex(float(np.exp(scores[seen]).sum() - np.exp(scores[order]).sum())))
        says += f" ({len(seen) - len(order)} of them in the last term)"
    return WorkedStep(
        says + ".",
        rf"\frac{{e^{{{tex(scores[column])}}}}}{{{' + '.join(terms)}}} = {tex(value)}",
        value,
        snippet,
        (source,),
    )


@rule(ATTENTION + r"\.heads")
def _heads(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    head, row, dimension = index
    names = f"{found[1]}.weights", f"{found[1]}.v"
    weights, values = numbers[names[0]][head, row], numbers[names[1]][head, :, dimension]
    value = numbers[found[0]][index]
    order = np.argsort(-weights, kind="stable")[:LISTED]
    terms = [rf"{tex(weights[j])}\cdot {factor(values[j])}" for j in order]
    says = f"The weighted sum of dimension {dimension + 1} of all {len(weights)} value vectors, largest weights first"
    if len(order) < len(weights):
        terms.append(factor(float(weights @ values - weights[order] @ values[order])))
        says += f" ({len(weights) - len(order)} of them in the last term)"
    return WorkedStep(
        says + ".",
        rf"{' + '.join(terms)} = {tex(value)}",
        value,
        f't["{names[0]}"][{head}, {row}] @ t["{names[1]}"][{head}, :, {dimension}]',
        names,
    )


@rule(ATTENTION + r"\.concat")
def _concat(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    row, column = index
    source = f"{found[1]}.heads"
    d_k = numbers[source].shape[-1]
    head, dimension = divmod(column, d_k)
    before, value = numbers[source][head, row, dimension], numbers[found[0]][index]
    return WorkedStep(
        f"The heads' results are laid side by side, {d_k} columns each: column {column + 1} is dimension "
        f"{dimension + 1} of head {head + 1}.",
        rf"{tex(before)} \to {tex(value)}",
        value,
        f't["{source}"][{head}, {row}, {dimension}]',
        (source,),
    )


@rule(ATTENTION + r"\.output")
def _mixed(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    row, column = index
    value = numbers[found[0]][index]
    named, total, snippet, needs = linear(numbers, f"{found[1]}.concat", row, f"{found[1]}.w_o.weight", column)
    return WorkedStep(
        f"Row {row + 1} of the concatenation times column {column + 1} of W^O, which mixes the heads. {named}",
        rf"{total} = {tex(value)}",
        value,
        snippet,
        needs,
    )


@rule(r"(?:encoder|decoder)\.(?:layers\.\d+\.)?(?:self|cross)_attn\.average")
def _average(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    row, column = index
    sources = numbers.averaged(found[0])
    per_head = np.stack([numbers[source][:, row, column] for source in sources])
    values = per_head.mean(1) if len(sources) > 1 else per_head[0]
    names = [f"{'the average of layer' if len(sources) > 1 else 'head'} {n + 1}" for n in range(len(values))]
    return replace(
        worked_average(values.tolist(), names, float(numbers[found[0]][index])),
        snippet=f"np.mean([t[name][:, {row}, {column}] for name in {sources}])",
        needs=tuple(sources),
    )


def worked_weight(numbers: Numbers, path: str, index: tuple[int, int, int]) -> list[WorkedStep]:
    """From a query and a key to one weight (head, row, column) of the attention at `path`, all steps in a row."""
    steps = [worked(numbers, f"{path}.{what}", index) for what in ("products", "scaled")]
    masked = np.isneginf(numbers[f"{path}.scores"][index])
    return [*steps, worked(numbers, f"{path}.{'scores' if masked else 'weights'}", index)]


def worked_average(values: Sequence[float], names: Sequence[str], result: float) -> WorkedStep:
    """A mean of several weights."""
    total = " + ".join(tex(v) for v in values)
    return WorkedStep(
        f"The average of {len(values)} weights: {', '.join(names)}.",
        rf"\frac{{{total}}}{{{len(values)}}} = {tex(result)}",
        result,
    )


def worked_group(weights: np.ndarray, row: Group, column: Group) -> WorkedStep:
    """A weight between two words, from weights (T,S) between pieces: added over columns, averaged over rows."""
    block = weights[np.ix_(row.pieces, column.pieces)].astype(np.float64)
    result = float(block.sum(1).mean())
    sums = " + ".join("(" + " + ".join(tex(w) for w in line) + ")" for line in block)
    formula = (
        rf"\frac{{{sums}}}{{{len(block)}}} = {tex(result)}" if len(block) > 1 else rf"{sums[1:-1]} = {tex(result)}"
    )
    return WorkedStep(
        f"Weights to the {len(column.pieces)} piece(s) of the column's word are added; the {len(row.pieces)} "
        "piece(s) of the row's word are averaged.",
        formula,
        result,
    )
