"""The mechanism of Check: rules that work a cell out, and how they write arithmetic.

One rule a kind of tensor; the kind is the end of the tensor's name. Cells count from 0 here, from 1 on the screen.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from figures.statistics import softmax
from model.trace import Array

NAMED = 3  # products written out in a long sum; the rest are added up
DIGITS = 4


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
        """A tensor or weight in float64, so that sums of it are as exact as can be.

        Two kinds the model itself need not make: "probabilities" (T,vocab_size), the softmax of the logits, and
        averages (T,S) of attention weights, see `averaged`.
        """
        if name == "probabilities":
            return softmax(self["logits"])
        if name.endswith(".average"):
            return np.asarray(np.mean([self[source] for source in self.averaged(name)], axis=(0, 1)))
        found = self.tensors[name] if name in self.tensors else self.weights[name]
        return found.astype(np.float64)

    def averaged(self, name: str) -> list[str]:
        """Names of the weights (H,T,S) that an average is over.

        `decoder.layers.2.cross_attn.average` is over the heads of one layer, `decoder.cross_attn.average` over those
        of all layers.
        """
        one = name.replace(".average", ".weights")
        stack, _, attention = one.partition(".")
        every = re.compile(rf"{stack}\.layers\.\d+\.{re.escape(attention)}")
        return [one] if one in self.tensors else list(filter(every.fullmatch, self.tensors))


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


def linear(
    numbers: Numbers, source: str, row: int, matrix: str, column: int, bias: str = ""
) -> tuple[str, str, str, tuple[str, ...]]:
    """One number of xW + b, where torch keeps W transposed: its rows are W's columns.

    Returns: which products are written out, in words; the sum as LaTeX; the snippet and what it needs
    """
    named, total = dot_product(numbers[source][row], numbers[matrix][column])
    snippet = f't["{source}"][{row}] @ t["{matrix}[{column}]"]'
    needs: tuple[str, ...] = source, f"{matrix}[{column}]"
    if bias:
        total += f" + {factor(numbers[bias][column])}"
        snippet += f' + t["{bias}"][{column}]'
        needs = *needs, bias
    return named, total, snippet, needs


def arrays(numbers: Numbers, steps: Sequence[WorkedStep]) -> dict[str, Array]:
    """The arrays that the snippets of these steps need, by name, as the model computed them; `name[n]` is one row."""

    def one(name: str) -> Array:
        whole, _, row = name.removesuffix("]").partition("[")
        found = numbers.tensors[whole] if whole in numbers.tensors else numbers.weights[whole]
        return found[int(row)] if row else found

    return {name: one(name) for name in dict.fromkeys(name for step in steps for name in step.needs)}


def subscript(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]"
