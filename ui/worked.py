"""How one attention weight came about: the arithmetic, with the numbers that the model computed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from figures.grouping import Group
from model.trace import Trace

NAMED = 3  # products written out; the rest are added up
DIGITS = 4


@dataclass(frozen=True)
class WorkedStep:
    """One step: what is done, in words (plain text), the formula (LaTeX), and the value it ends in."""

    says: str
    formula: str
    value: float


def tex(value: float, digits: int = DIGITS) -> str:
    """A number as LaTeX; −∞ too."""
    if np.isneginf(value):
        return r"-\infty"
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def worked_weight(trace: Trace, kind: str, layer: int, head: int, row: int, column: int) -> list[WorkedStep]:
    """Steps from a query and a key to one weight (row, column) of one head, in the order the model takes them."""

    def tensor(what: str) -> np.ndarray:
        return trace.attention(kind, layer, what)[head].astype(np.float64)

    q, k = tensor("q")[row], tensor("k")[column]
    products = q * k
    d_k = len(products)
    largest = np.argsort(-np.abs(products))[:NAMED]
    rest = products.sum() - products[largest].sum()
    terms = " + ".join(rf"({tex(q[i])})({tex(k[i])})" for i in largest)
    dot, scaled, score = (float(tensor(what)[row, column]) for what in ("products", "scaled", "scores"))
    scores, weight = tensor("scores")[row], float(tensor("weights")[row, column])
    steps = [
        WorkedStep(
            f"Multiply query and key element by element and add up the {d_k} products. The {NAMED} largest are "
            f"those of dimensions {', '.join(str(i + 1) for i in largest)}; the other {d_k - NAMED} add up to the last "
            "term.",
            rf"q_{{{row + 1}}}\cdot k_{{{column + 1}}} = {terms} + ({tex(rest)}) = {tex(dot)}",
            dot,
        ),
        WorkedStep(
            f"Divide by √{d_k}, the square root of the key's width, so that scores keep a moderate size.",
            rf"\frac{{{tex(dot)}}}{{\sqrt{{{d_k}}}}} = \frac{{{tex(dot)}}}{{{tex(np.sqrt(d_k), 0)}}} = {tex(scaled)}",
            scaled,
        ),
    ]
    if np.isneginf(score):
        steps.append(
            WorkedStep(
                "The mask covers this position, because it lies in the future: its score becomes −∞, its weight 0.",
                rf"{tex(scaled)} \to -\infty,\qquad e^{{-\infty}} = 0",
                weight,
            )
        )
        return steps
    seen = np.flatnonzero(np.isfinite(scores))
    # The largest terms are written out, this cell's among them; the sum is over all.
    order = [column, *[j for j in seen[np.argsort(-scores[seen])] if j != column]][:6]
    denominator = float(np.exp(scores[seen]).sum())
    shown = " + ".join(rf"e^{{{tex(scores[j])}}}" for j in order)
    others = denominator - float(np.exp(scores[order]).sum())
    says = f"Softmax: e to this score, over the sum for all {len(seen)} positions this row may see"
    if len(order) < len(seen):
        shown += rf" + {tex(others)}"
        says += f" ({len(seen) - len(order)} of them in the last term)"
    says += "."
    steps.append(WorkedStep(says, rf"\frac{{e^{{{tex(score)}}}}}{{{shown}}} = {tex(weight)}", weight))
    return steps


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
