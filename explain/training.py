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
        f"The loss of row {row + 1} is minus the logarithm of P, the probability of the right letter. Softmax makes P "
        f"of the {len(logits):,} logits of the row. The largest of them, {tex(top)}, is first taken off all. Then the "
        "loss is the logarithm of the sum of e to the power of each, less the right letter's own.",
        rf"-\ln P = \ln({tex(total)}) - ({tex(logits[right])} - {factor(top)}) = {tex(cell.value)}",
        cell.value,
        f'row = t["logits[{row}]"].astype(float)\nrow = row - row.max()\nnp.log(np.exp(row).sum()) - row[{right}]',
        (f"logits[{row}]",),
        Blank(rf"\ln({tex(total)})", math.log(round(total, 4))),
    )
