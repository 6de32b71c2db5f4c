"""How the numbers of attention came about: scores, weights, heads."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from explain.core import (
    Blank,
    Cell,
    Numbers,
    WorkedStep,
    dot_product,
    factor,
    largest_product,
    rule,
    subscript,
    tex,
    worked,
)
from figures.grouping import Group

LISTED = 4  # terms written out of a weighted sum


@rule("dot")
def _products(cell: Cell) -> WorkedStep:
    head, row, column = cell.index
    names = cell.made.reads
    column += _first_of_window(cell)
    named, total = dot_product(cell.read(0)[head, row], cell.read(1)[head, column])
    return WorkedStep(
        f"Multiply query {row + 1} and key {column + 1} element by element and add up. {named}",
        rf"q_{{{row + 1}}}\cdot k_{{{column + 1}}} = {total} = {tex(cell.value)}",
        cell.value,
        f't["{names[0]}"][{head}, {row}] @ t["{names[1]}"][{head}, {column}]',
        names,
        largest_product(cell.read(0)[head, row], cell.read(1)[head, column]),
    )


def _first_of_window(cell: Cell) -> int:
    """The first row that this one may look at: 0, or where its window begins, if rows stand window by window."""
    places = int(cell.made.constants[0]) if cell.made.constants else 0
    return cell.index[1] // places * places if places else 0


@rule("divide_by_sqrt_d_k")
def _scaled(cell: Cell) -> WorkedStep:
    source = cell.made.reads[0]
    before, value = cell.read()[cell.index], cell.value
    d_k = cell.read(1).shape[-1]
    if before != 0 and math.isclose(value, before, rel_tol=1e-5):
        return WorkedStep(
            "The scale is switched off: the product stays as it is.",
            rf"{tex(before)} \to {tex(value)}",
            value,
            f't["{source}"]{subscript(cell.index)}',
            (source,),
        )
    return WorkedStep(
        f"Divide by the square root of d_k = {d_k}, the count of numbers in a key, to keep scores at a moderate size.",
        rf"\frac{{{tex(before)}}}{{\sqrt{{{d_k}}}}} = \frac{{{tex(before)}}}{{{tex(math.sqrt(d_k))}}} = {tex(value)}",
        value,
        f't["{source}"]{subscript(cell.index)} / np.sqrt({d_k})',
        (source,),
        Blank(rf"{factor(before)} / {tex(math.sqrt(d_k))}", value),
    )


@rule("mask")
def _scores(cell: Cell) -> WorkedStep:
    source, before, value = cell.made.reads[0], cell.read()[cell.index], cell.value
    masked = np.isneginf(value)
    return WorkedStep(
        "The mask covers this position: its score becomes −∞."
        if masked
        else "The mask lets this position through: the score stays.",
        rf"{tex(before)} \to {tex(value)}",
        value,
        "-np.inf  # masked" if masked else f't["{source}"]{subscript(cell.index)}',
        (source,),
    )


@rule("weighted_sum")
def _heads(cell: Cell) -> WorkedStep:
    head, row, dimension = cell.index
    names, value, first = cell.made.reads, cell.value, _first_of_window(cell)
    weights = cell.read(0)[head, row]
    values = cell.read(1)[head, first : first + len(weights), dimension]
    order = np.argsort(-weights, kind="stable")[:LISTED]
    terms = [rf"{tex(weights[j])}\cdot {factor(values[j])}" for j in order]
    all_or_own, span = ("its window's", f"{first}:{first + len(weights)}") if cell.made.constants else ("all", ":")
    whose = f"{all_or_own} {len(weights)} value vectors"
    says = f"The weighted sum of dimension {dimension + 1} of {whose}, largest weights first"
    if len(order) < len(weights):
        terms.append(factor(float(weights @ values - weights[order] @ values[order])))
        says += f" ({len(weights) - len(order)} of them in the last term)"
    return WorkedStep(
        says + ".",
        rf"{' + '.join(terms)} = {tex(value)}",
        value,
        f't["{names[0]}"][{head}, {row}] @ t["{names[1]}"][{head}, {span}, {dimension}]',
        names,
        largest_product(weights, values),
    )


@rule("concatenate")
def _concat(cell: Cell) -> WorkedStep:
    row, column = cell.index
    source, d_k = cell.made.reads[0], cell.read().shape[-1]
    head, dimension = divmod(column, d_k)
    before, value = cell.read()[head, row, dimension], cell.value
    return WorkedStep(
        f"The heads' results are laid side by side, {d_k} columns each: column {column + 1} is dimension "
        f"{dimension + 1} of head {head + 1}.",
        rf"{tex(before)} \to {tex(value)}",
        value,
        f't["{source}"][{head}, {row}, {dimension}]',
        (source,),
    )


@rule("average")
def _average(cell: Cell) -> WorkedStep:
    row, column = cell.index
    sources = cell.made.reads
    per_head = np.stack([cell.numbers[source][:, row, column] for source in sources])
    values = per_head.mean(1) if len(sources) > 1 else per_head[0]
    names = [f"{'the average of layer' if len(sources) > 1 else 'head'} {n + 1}" for n in range(len(values))]
    return replace(
        worked_average(values.tolist(), names, cell.value),
        snippet=f"np.mean([t[name][:, {row}, {column}] for name in {list(sources)}])",
        needs=sources,
    )


@rule("rotate")
def _rotated(cell: Cell) -> WorkedStep:
    head, row, dimension = cell.index
    source, x = cell.made.reads[0], cell.read()[head, row]
    pair, second = divmod(dimension, 2)
    d_k = len(x)
    angle = row / 10000 ** (2 * pair / d_k)
    even, odd = x[2 * pair], x[2 * pair + 1]
    first, sign, last = ("sin", "+", "cos") if second else ("cos", "-", "sin")
    return WorkedStep(
        f"Position {row} (counted from 0) turns dimensions {2 * pair + 1} and {2 * pair + 2} together by the angle "
        f"{row} / 10000^({2 * pair}/{d_k}), in radians.",
        rf"{factor(even)}\cdot\{first}({tex(angle)}) {sign} {factor(odd)}\cdot\{last}({tex(angle)}) "
        rf"= {tex(cell.value)}",
        cell.value,
        f'one, two = t["{source}"][{head}, {row}, {2 * pair}:{2 * pair + 2}]\n'
        f"angle = {row} / 10000 ** ({2 * pair} / {d_k})\n"
        f"one * np.{first}(angle) {sign} two * np.{last}(angle)",
        (source,),
    )


def worked_weight(numbers: Numbers, path: str, index: tuple[int, int, int]) -> list[WorkedStep]:
    """From a query and a key to one weight (head, row, column) of the attention at `path`, all steps in a row."""
    steps = [
        worked(numbers, name, index)
        for name in (f"{path}.{what}" for what in ("products", "scaled", "biased"))
        if name in numbers.tensors
    ]
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
        f"Weights to the pieces of the column's word ({len(column.pieces)}) are added; the pieces of the row's word "
        f"({len(row.pieces)}) are averaged.",
        formula,
        result,
    )


@rule("dot_in_window")
def _products_in_window(cell: Cell) -> WorkedStep:
    head, row, column = cell.index
    names, place = cell.made.reads, row + column - int(cell.made.constants[0])
    if not 0 <= place < cell.read(1).shape[1]:
        return WorkedStep("The window reaches beyond the text: there is no key.", tex(0), cell.value, "0.0", names)
    named, total = dot_product(cell.read(0)[head, row], cell.read(1)[head, place])
    return WorkedStep(
        f"Column {column + 1} of the window is key {place + 1}. Multiply query {row + 1} and this key element by "
        f"element and add up. {named}",
        rf"q_{{{row + 1}}}\cdot k_{{{place + 1}}} = {total} = {tex(cell.value)}",
        cell.value,
        f't["{names[0]}"][{head}, {row}] @ t["{names[1]}"][{head}, {place}]',
        names,
        largest_product(cell.read(0)[head, row], cell.read(1)[head, place]),
    )


@rule("sum_in_window")
def _heads_of_window(cell: Cell) -> WorkedStep:
    head, row, dimension = cell.index
    (weights, values), reach = cell.made.reads, int(cell.made.constants[0])
    start, end = max(0, row - reach), min(cell.read(1).shape[1], row + reach + 1)
    seen = cell.read(0)[head, row, start - row + reach : end - row + reach], cell.read(1)[head, start:end, dimension]
    named, total = dot_product(*seen, of="places")
    return WorkedStep(
        f"The weighted sum of dimension {dimension + 1} of value vectors {start + 1} to {end}, those in the window. "
        f"{named}",
        rf"{total} = {tex(cell.value)}",
        cell.value,
        f't["{weights}"][{head}, {row}, {start - row + reach}:{end - row + reach}]'
        f' @ t["{values}"][{head}, {start}:{end}, {dimension}]',
        (weights, values),
        largest_product(*seen),
    )


@rule("elu_plus_one")
def _feature(cell: Cell) -> WorkedStep:
    (source,), before = cell.made.reads, float(cell.read()[cell.index])
    says = "A positive number grows by 1." if before > 0 else "Of a negative number x, the feature is e to the x."
    formula = f"{tex(before)} + 1" if before > 0 else f"e^{{{tex(before)}}}"
    return WorkedStep(
        f"{says} So every feature is positive.",
        f"{formula} = {tex(cell.value)}",
        cell.value,
        f'x = t["{source}"]{subscript(cell.index)}\nx + 1 if x > 0 else np.exp(x)',
        (source,),
        Blank(formula, cell.value),
    )


@rule("exponential")
def _exponential(cell: Cell) -> WorkedStep:
    (source,), before = cell.made.reads, float(cell.read()[cell.index])
    formula = f"e^{{{tex(before)}}}"
    return WorkedStep(
        "The feature of a number x is e to the x, so every feature is positive.",
        f"{formula} = {tex(cell.value)}",
        cell.value,
        f'np.exp(t["{source}"]{subscript(cell.index)})',
        (source,),
        Blank(formula, cell.value),
    )


@rule("sum_of_products")
def _state(cell: Cell) -> WorkedStep:
    head, *rows, i, j = cell.index
    (keys, values), end = cell.made.reads, rows[0] + 1 if rows else cell.read().shape[1]
    pair = cell.read(0)[head, :end, i], cell.read(1)[head, :end, j]
    named, total = dot_product(*pair, of="positions")
    return WorkedStep(
        f"One product for each of {end} positions: dimension {i + 1} of its key's features times dimension {j + 1} of "
        f"its value. {named}",
        f"{total} = {tex(cell.value)}",
        cell.value,
        f't["{keys}"][{head}, :{end}, {i}] @ t["{values}"][{head}, :{end}, {j}]',
        (keys, values),
        largest_product(*pair),
    )


@rule("sum_of_keys")
def _total(cell: Cell) -> WorkedStep:
    head, row, i = cell.index
    (keys,), n_rows = cell.made.reads, cell.numbers[cell.name].shape[1]
    end = row + 1 if n_rows > 1 else cell.read().shape[1]
    summed = cell.read()[head, :end, i]
    terms = [tex(one) for one in summed[: LISTED - 1]] + [tex(summed[LISTED - 1 :].sum())] * (end >= LISTED)
    return WorkedStep(
        f"Dimension {i + 1} of the features of {end} keys, added up.",
        f"{' + '.join(terms)} = {tex(cell.value)}",
        cell.value,
        f't["{keys}"][{head}, :{end}, {i}].sum()',
        (keys,),
    )


@rule("read_state")
def _read_state(cell: Cell) -> WorkedStep:
    head, row, j = cell.index
    queries, state, total = cell.made.reads
    is_causal = cell.read(1).ndim == 4  # then there is a state for each query
    where, at = ((head, row), row) if is_causal else ((head,), 0)
    query, column = cell.read(0)[head, row], cell.read(1)[where][:, j]
    (named, above), (_, below) = dot_product(query, column), dot_product(query, cell.read(2)[head, at])
    return WorkedStep(
        f"The features of query {row + 1} times column {j + 1} of the state, over the same features times the sum of "
        f"all keys' features, so that shares add up to 1. Above: {named}",
        rf"\frac{{{above}}}{{{below}}} = {tex(cell.value)}",
        cell.value,
        f'query = t["{queries}"][{head}, {row}]\n'
        f'query @ t["{state}"]{subscript(where)}[:, {j}] / (query @ t["{total}"][{head}, {at}])',
        (queries, state, total),
        largest_product(query, column),
    )
