"""How far a student's probabilities lie from its teacher's: each number of that."""

import numpy as np

from explain.core import Blank, Cell, WorkedStep, factor, rule, tex


@rule("divergence")
def _of_entry(cell: Cell) -> WorkedStep:
    """A row is one entry: its softened probability by teacher and student, and p · ln(p/q). The constant is T."""
    (entry, column), (temperature,), names = cell.index, cell.made.constants, cell.made.reads
    scores = [cell.read(n) / temperature for n in (0, 1)]
    p, q = (float(row[entry] - row.max() - np.log(np.exp(row - row.max()).sum())) for row in scores)  # as logarithms
    if column == 2:
        lines = [f'{x} = t["{name}"].astype(float) / {temperature:g}' for x, name in zip("pq", names, strict=True)]
        lines += [f"{x} = {x}[{entry}] - {x}.max() - np.log(np.exp({x} - {x}.max()).sum())" for x in "pq"]
        difference = rf"{tex(p)} - {factor(q)}"
        return WorkedStep(
            "What this piece adds to the KL divergence: p · ln(p/q), and ln(p/q) is ln p − ln q. It is below 0 where "
            "the student gives the piece more than the teacher does.",
            rf"{tex(np.exp(p))}\cdot ({difference}) = {tex(cell.value)}",
            cell.value,
            "\n".join([*lines, "np.exp(p) * (p - q)"]),
            names,
            Blank(difference, round(p, 4) - round(q, 4)),
        )
    row, name = cell.read(column), names[column]
    top, total = float(row.max()), float(np.exp(scores[column] - scores[column].max()).sum())
    power = rf"e^{{({tex(float(row[entry]))} - {factor(top)}) / {temperature:g}}}"
    return WorkedStep(
        f"Softmax at temperature {temperature:g} over {len(row):,} logits. The largest, {tex(top)}, is first taken off "
        f"this one; what is left is divided by {temperature:g}. Below the line stands the sum of such powers for all.",
        rf"\frac{{{power}}}{{{tex(total)}}} = {tex(cell.value)}",
        cell.value,
        f'x = (t["{name}"].astype(float) - t["{name}"].max()) / {temperature:g}\nnp.exp(x[{entry}]) / np.exp(x).sum()',
        (name,),
        Blank(power, float(np.exp((round(float(row[entry]), 4) - round(top, 4)) / temperature))),
    )
