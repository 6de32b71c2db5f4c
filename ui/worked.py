"""How a number came about: any cell of any tensor, from the numbers one step earlier, with the model's own values.

One rule a kind of tensor; the kind is the end of the tensor's name. Cells count from 0 here, from 1 on the screen.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from figures.grouping import Group
from model.trace import Array

NAMED = 3  # products written out in a long sum; the rest are added up
LISTED = 4  # terms written out of a softmax or a weighted sum
DIGITS = 4
NORM_EPSILON = 1e-5  # torch's, added to a variance so that nothing is divided by 0


@dataclass(frozen=True)
class WorkedStep:
    """One step: what is done, in words (plain text); the formula (LaTeX); the value it ends in, as the model has it.

    snippet: Python that computes the value again from `t`, the arrays named in `needs` (see `arrays`)
    """

    says: str
    formula: str
    value: float
    snippet: str = ""
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Numbers:
    """Where rules find their numbers: the tensors of one trace and the weights of the model that made them."""

    tensors: Mapping[str, Array]
    weights: Mapping[str, Array]

    def __getitem__(self, name: str) -> np.ndarray:
        """A tensor or weight in float64, so that sums of it are as exact as can be."""
        found = self.tensors[name] if name in self.tensors else self.weights[name]
        return found.astype(np.float64)


Rule = Callable[[Numbers, re.Match[str], tuple[int, ...]], WorkedStep]
RULES: list[tuple[re.Pattern[str], Rule]] = []


def rule(pattern: str) -> Callable[[Rule], Rule]:
    """Register a rule for tensors whose whole name matches."""

    def register(function: Rule) -> Rule:
        RULES.append((re.compile(pattern), function))
        return function

    return register


def worked(numbers: Numbers, name: str, index: tuple[int, ...]) -> WorkedStep:
    """How `numbers[name][index]` came from the numbers one step earlier.

    Raises: KeyError if no rule knows this kind of tensor
    """
    for pattern, function in RULES:
        if found := pattern.fullmatch(name):
            return function(numbers, found, index)
    raise KeyError(f"no rule works out {name!r}")


def tex(value: float, digits: int = DIGITS) -> str:
    """A number as LaTeX, with a fixed count of decimals; −∞ too."""
    if np.isneginf(value):
        return r"-\infty"
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def factor(value: float) -> str:
    """A number as a factor: in brackets if it is negative."""
    text = tex(value)
    return f"({text})" if text.startswith("-") else text


def dot_product(left: np.ndarray, right: np.ndarray) -> tuple[str, str]:
    """A long sum of products: in words which of them are written out, and the sum as LaTeX."""
    products = left * right
    largest = np.argsort(-np.abs(products), kind="stable")[:NAMED]
    terms = [rf"{factor(left[i])}\cdot {factor(right[i])}" for i in largest]
    count = len(products)
    if count <= NAMED:
        return f"All {count} products are written out.", " + ".join(terms)
    rest = products.sum() - products[largest].sum()
    dimensions = ", ".join(str(i + 1) for i in largest)
    says = f"The largest of the {count} products, those of dimensions {dimensions}, are written out; the other "
    return says + f"{count - NAMED} are summed in the last term.", " + ".join([*terms, factor(rest)])


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


EMBEDDING = "embedding.matrix.weight"


@rule(r"(encoder|decoder)\.embedding\.tokens")
def _looked_up(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    row, dimension = index
    matrix, looked_up = numbers.weights[EMBEDDING], numbers.tensors[found[0]][row]
    # The trace keeps no ids: a row belongs to the entry whose embedding it is.
    candidates = np.flatnonzero(matrix[:, dimension] == looked_up[dimension])
    token = next(int(i) for i in candidates if np.array_equal(matrix[i], looked_up))
    value = numbers[found[0]][index]
    name = f"{EMBEDDING}[{token}]"
    others = len(matrix) - 1
    return WorkedStep(
        f"The id is {token}, so this is column {dimension + 1} of row {token} of E (rows counted from 0). As a "
        f"product with the one-hot vector: one of {len(matrix):,} terms counts, the others are multiplied by 0.",
        rf"1\cdot {factor(value)} + {others}\cdot 0 = {tex(value)}",
        value,
        f't["{name}"][{dimension}]',
        (name,),
    )


@rule(r"(encoder|decoder)\.embedding\.scaled")
def _scaled_embedding(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    source = f"{found[1]}.embedding.tokens"
    before, value = numbers[source][index], numbers[found[0]][index]
    d_model = numbers[source].shape[-1]
    return WorkedStep(
        f"The embedding is multiplied by √d_model = √{d_model}, so that it is not drowned by the positions.",
        rf"\sqrt{{{d_model}}}\cdot {factor(before)} = {tex(math.sqrt(d_model))}\cdot {factor(before)} = {tex(value)}",
        value,
        f't["{source}"]{_subscript(index)} * np.sqrt({d_model})',
        (source,),
    )


@rule(r"(encoder|decoder)\.embedding\.positions")
def _position(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    position, dimension = index
    d_model = numbers[found[0]].shape[-1]
    even = dimension - dimension % 2
    name = "cos" if dimension % 2 else "sin"
    value = numbers[found[0]][index]
    angle = position / 10000 ** (even / d_model)
    return WorkedStep(
        f"Position {position} (counted from 0), dimension {dimension} (from 0), "
        f"which is {'odd: a cosine' if dimension % 2 else 'even: a sine'}; 2i = {even}.",
        rf"\{name}\!\left(\frac{{{position}}}{{10000^{{{even}/{d_model}}}}}\right)"
        rf" = \{name}({tex(angle)}) = {tex(value)}",
        value,
        f"np.{name}({position} / 10000 ** ({even} / {d_model}))",
    )


@rule(r"(encoder|decoder)\.embedding\.output")
def _embedded(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    names = tuple(f"{found[1]}.embedding.{what}" for what in ("scaled", "positions"))
    one, two, value = (numbers[n][index] for n in (*names, found[0]))
    return WorkedStep(
        "The scaled embedding and the positional encoding are added, element by element.",
        rf"{tex(one)} + {factor(two)} = {tex(value)}",
        value,
        " + ".join(f't["{n}"]{_subscript(index)}' for n in names),
        names,
    )


@rule(r"(encoder|decoder)\.layers\.(\d+)\.(self|cross)_attn\.([qkv])")
def _projection(numbers: Numbers, found: re.Match[str], index: tuple[int, ...]) -> WorkedStep:
    stack, layer, attention, letter = found[1], int(found[2]), found[3], found[4]
    head, row, dimension = index
    what = "self" if attention == "self" else "cross_q" if letter == "q" else "memory"
    source = layer_input(numbers, stack, layer, what)
    matrix = f"{stack}.layers.{layer}.{attention}_attn.w_{letter}.weight"
    column = head * numbers[found[0]].shape[-1] + dimension
    x, w = numbers[source][row], numbers[matrix][column]
    value = numbers[found[0]][index]
    named, total = dot_product(x, w)
    capital = letter.upper()
    return WorkedStep(
        f"Row {row + 1} of the input X times column {column + 1} of W^{capital} "
        f"(head {head + 1}, its dimension {dimension + 1}). {named}",
        rf"{letter}_{{{row + 1},{dimension + 1}}} = x_{{{row + 1}}} \cdot W^{capital}_{{:,{column + 1}}} "
        rf"= {total} = {tex(value)}",
        value,
        f't["{source}"][{row}] @ t["{matrix}"][{column}]  # torch keeps W transposed: its rows are W\'s columns',
        (source, matrix),
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
            f't["{source}"]{_subscript(index)}',
            (source,),
        )
    return WorkedStep(
        f"Divide by √d_k = √{d_k}, the square root of the width of a key, so that scores keep a moderate size.",
        rf"\frac{{{tex(before)}}}{{\sqrt{{{d_k}}}}} = \frac{{{tex(before)}}}{{{tex(math.sqrt(d_k))}}} = {tex(value)}",
        value,
        f't["{source}"]{_subscript(index)} / np.sqrt({d_k})',
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
        "-np.inf  # masked" if masked else f't["{source}"]{_subscript(index)}',
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


def worked_cosine(numbers: Numbers, name: str, row: int, column: int) -> WorkedStep:
    """The cosine of the angle between two rows of a tensor."""
    left, right = numbers[name][row], numbers[name][column]
    lengths = [float(np.linalg.norm(side)) for side in (left, right)]
    product = float(left @ right)
    value = product / (lengths[0] * lengths[1])
    named, total = dot_product(left, right)
    # No fraction around the long sum: a fraction cannot break at the end of a line.
    return WorkedStep(
        f"The dot product of rows {row + 1} and {column + 1}, divided by their lengths (the square root of the sum of "
        f"squares). {named}",
        rf"({total})\,/\,({tex(lengths[0])}\cdot {tex(lengths[1])}) = \frac{{{tex(product)}}}"
        rf"{{{tex(lengths[0] * lengths[1])}}} = {tex(value)}",
        value,
        f't = t["{name}"].astype(float)\na, b = t[{row}], t[{column}]\n'
        "(a @ b) / (np.linalg.norm(a) * np.linalg.norm(b))",
        (name,),
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


def arrays(numbers: Numbers, steps: Sequence[WorkedStep]) -> dict[str, Array]:
    """The arrays that the snippets of these steps need, by name, as the model computed them; `name[n]` is one row."""

    def one(name: str) -> Array:
        whole, _, row = name.removesuffix("]").partition("[")
        found = numbers.tensors[whole] if whole in numbers.tensors else numbers.weights[whole]
        return found[int(row)] if row else found

    return {name: one(name) for name in dict.fromkeys(name for step in steps for name in step.needs)}


def _subscript(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]"
