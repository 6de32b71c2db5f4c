"""The mechanism of Check: rules that work a cell out, and how they write arithmetic.

One rule an operation. Which operation makes a tensor, and from what, is told by the model's anatomy. Cells count from
0 here, from 1 on the screen.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from figures.statistics import softmax
from model.anatomy.structure import Anatomy, Made
from model.files.loaded_model import Array

NAMED = 3  # products written out in a long sum; the rest are added up
DIGITS = 4


@dataclass(frozen=True)
class Blank:
    """A part of a step to be worked out by hand: the formula (LaTeX) without its result, and the result.

    digits: decimals to give; with 0 the answer is a whole number
    """

    formula: str
    answer: float
    digits: int = 2

    @property
    def near(self) -> float:
        """How far a right number may be off: half of the last decimal, and what the rounding of its factors may do.

        Those stand there to four decimals: one more or less of the last in an exponent is 0.01% of e to its power.
        """
        return max(0.6 * 10.0**-self.digits, 2e-4 * abs(self.answer))


@dataclass(frozen=True)
class WorkedStep:
    """One step: what is done, in words (plain text); the formula (LaTeX); the value it ends in, as the model has it.

    snippet: Python that computes the value again from `t`, the arrays named in `needs` (see `arrays`)
    blank:   a part of it that one can do by hand
    """

    says: str
    formula: str
    value: float
    snippet: str = ""
    needs: tuple[str, ...] = ()
    blank: Blank | None = None


@dataclass(frozen=True)
class Numbers:
    """Where rules find their numbers: the tensors of one trace, and the weights and the anatomy of its model."""

    tensors: Mapping[str, Array]
    weights: Mapping[str, Array]
    anatomy: Anatomy

    def __getitem__(self, name: str) -> np.ndarray:
        """A tensor or weight in float64, so that sums of it are as exact as can be.

        Two kinds the model itself need not make: "probabilities" (T,vocab_size), the softmax of the logits, and
        averages (T,S) of attention weights, see `averaged`.
        """
        if name == "probabilities":
            return softmax(self["logits"])
        if name.endswith(".average"):
            return np.asarray(np.mean([self[source] for source in self.averaged(name)], axis=(0, 1)))
        array = self.tensors[name] if name in self.tensors else self.weights[name]
        return array.astype(np.float64)

    def averaged(self, name: str) -> list[str]:
        """Names of the weights (H,T,S) that an average is over.

        `decoder.layers.2.cross_attn.average` is over the heads of one layer, `decoder.cross_attn.average` over those
        of all layers.
        """
        of_layer = name.replace(".average", ".weights")
        if of_layer in self.tensors:
            return [of_layer]
        stack, _, attention = name.removesuffix(".average").partition(".")
        every = re.compile(rf"{re.escape(stack)}\.layers\.\d+\.{re.escape(attention)}\.weights")
        return list(filter(every.fullmatch, self.tensors))

    def made(self, name: str) -> Made:
        """How a tensor is made. Raises: KeyError"""
        if name == "probabilities":
            return Made("softmax_of_logits", ("logits",), (), ("tgt", "vocab"))
        if name.endswith(".average"):
            sources = self.averaged(name)
            return Made("average", tuple(sources), (), self.anatomy.axes(sources[0])[1:])
        return self.anatomy.tensors[name]


@dataclass(frozen=True)
class Cell:
    """One cell of one tensor, to be worked out."""

    numbers: Numbers
    name: str
    index: tuple[int, ...]

    @property
    def made(self) -> Made:
        return self.numbers.made(self.name)

    @property
    def value(self) -> float:
        return float(self.numbers[self.name][self.index])

    def read(self, n: int = 0) -> np.ndarray:
        """The n-th tensor that this one is made from."""
        return self.numbers[self.made.reads[n]]


Rule = Callable[[Cell], WorkedStep]
RULES: dict[str, Rule] = {}


def rule(*operations: str) -> Callable[[Rule], Rule]:
    """Register a rule for tensors made by one of these operations."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(operations, function))
        return function

    return register


def worked(numbers: Numbers, name: str, index: tuple[int, ...]) -> WorkedStep:
    """How `numbers[name][index]` came from the numbers one step earlier.

    Raises: KeyError if no rule knows how this tensor is made
    """
    try:
        operation = numbers.made(name).operation
    except KeyError:
        raise KeyError(f"no rule works out {name!r}") from None
    if operation not in RULES:
        raise KeyError(f"no rule works out {name!r}: explain/ has none for {operation!r}")
    return RULES[operation](Cell(numbers, name, index))


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


def largest_product(left: np.ndarray, right: np.ndarray) -> Blank:
    """The first product that `dot_product` writes out, from the numbers as they are shown."""
    at = int(np.argmax(np.abs(left * right)))
    first, second = round(float(left[at]), DIGITS), round(float(right[at]), DIGITS)
    return Blank(rf"{factor(first)}\cdot {factor(second)}", first * second)


def dot_product(left: np.ndarray, right: np.ndarray, of: str = "dimensions") -> tuple[str, str]:
    """A long sum of products: in words which of them are written out, and the sum as LaTeX. of: what there is one for

    The largest come first; a sum that is short enough to be written out is so in its order.
    """
    products = left * right
    count = len(products)
    largest = np.argsort(-np.abs(products), kind="stable")[:NAMED] if count > NAMED else range(count)
    terms = [rf"{factor(left[i])}\cdot {factor(right[i])}" for i in largest]
    if count <= NAMED:
        return f"All {count} products are written out.", " + ".join(terms)
    rest = products.sum() - products[list(largest)].sum()
    named = ", ".join(str(i + 1) for i in largest)
    says = f"The largest of the {count} products, those of {of} {named}, are written out; "
    others = (
        f"the other {count - NAMED} are summed in the last term." if count > NAMED + 1 else "the other one is last."
    )
    return says + others, " + ".join([*terms, factor(rest)])


def linear(cell: Cell, row: int, column: int) -> tuple[str, str, str, tuple[str, ...], Blank]:
    """One number of xW + b, where torch keeps W transposed: its rows are W's columns.

    Returns: which products are written out, in words; the sum as LaTeX; the snippet and what it needs; a product of it
    """
    numbers, source, (matrix, *biases) = cell.numbers, cell.made.reads[0], cell.made.weights
    named, total = dot_product(numbers[source][row], numbers[matrix][column])
    snippet = f't["{source}"][{row}] @ t["{matrix}[{column}]"]'
    needs: tuple[str, ...] = source, f"{matrix}[{column}]"
    for bias in biases:
        total += f" + {factor(numbers[bias][column])}"
        snippet += f' + t["{bias}"][{column}]'
        needs = *needs, bias
    return named, total, snippet, needs, largest_product(numbers[source][row], numbers[matrix][column])


def arrays(numbers: Numbers, steps: Sequence[WorkedStep]) -> dict[str, Array]:
    """The arrays that the snippets of these steps need, by name, as the model computed them; `name[n]` is one row."""

    def array(name: str) -> Array:
        whole, _, row = name.removesuffix("]").partition("[")
        rows = numbers.tensors[whole] if whole in numbers.tensors else numbers.weights[whole]
        return rows[int(row)] if row else rows

    return {name: array(name) for name in dict.fromkeys(name for step in steps for name in step.needs)}


def subscript(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]"
