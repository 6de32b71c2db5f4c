"""How what training makes small came about."""

import math

import numpy as np

from explain.core import Blank, Cell, WorkedStep, factor, rule, tex


@rule("cross_entropy")
def _loss(cell: Cell) -> WorkedStep:
    """Minus the logarithm of the right token's probability; the constants are the right tokens, one a row."""
    row, logits = cell.index[0], cell.read()[cell.index[0]]
    right, top = int(cell.made.constants[row]), float(logits.max())
    total = float(np.exp(logits - top).sum())
    return WorkedStep(
        f"The loss of row {row + 1} is minus the logarithm of P, the probability of the right piece. Softmax makes P "
        f"of the {len(logits):,} logits of the row, a score for each piece. The largest of them, {tex(top)}, is first "
        "taken off all. Then the loss is the logarithm of the sum of e to the power of each, less the right piece's "
        "own.",
        rf"-\ln P = \ln({tex(total)}) - ({tex(logits[right])} - {factor(top)}) = {tex(cell.value)}",
        cell.value,
        f'row = t["logits[{row}]"].astype(float)\nrow = row - row.max()\nnp.log(np.exp(row).sum()) - row[{right}]',
        (f"logits[{row}]",),
        Blank(rf"\ln({tex(total)})", math.log(round(total, 4))),
    )


@rule("smoothed_cross_entropy")
def _smoothed_loss(cell: Cell) -> WorkedStep:
    """The loss against a target that is not quite sure; the constants are ε and the right tokens, one a row."""
    row, logits = cell.index[0], cell.read()[cell.index[0]]
    smoothing, right = cell.made.constants[0], int(cell.made.constants[row + 1])
    top = float(logits.max())
    costs = math.log(float(np.exp(logits - top).sum())) + top - logits
    sure = rf"{1 - smoothing:g}\cdot {tex(costs[right])}"
    return WorkedStep(
        f"With label smoothing the right piece of row {row + 1} counts only {1 - smoothing:g}. The other "
        f"{smoothing:g} is shared by all {len(logits):,} pieces alike. So it multiplies the mean of −ln P over all of "
        "them.",
        rf"{sure} + {smoothing:g}\cdot {tex(costs.mean())} = {tex(cell.value)}",
        cell.value,
        f'row = t["logits[{row}]"].astype(float)\ncosts = np.log(np.exp(row - row.max()).sum()) + row.max() - row\n'
        f"(1 - {smoothing}) * costs[{right}] + {smoothing} * costs.mean()",
        (f"logits[{row}]",),
        Blank(sure, (1 - smoothing) * round(float(costs[right]), 4)),
    )
