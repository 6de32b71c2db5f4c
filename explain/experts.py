"""How the numbers of a mixture of experts came about: whom a row asks, and what it is told."""

import numpy as np

from explain.core import Blank, Cell, WorkedStep, dot_product, factor, largest_product, rule, subscript, tex


@rule("keep_largest")
def _gate(cell: Cell) -> WorkedStep:
    (row, expert), (source,), asked = cell.index, cell.made.reads, int(cell.made.constants[0])
    shares = cell.read()[row]
    kept = np.sort(np.argsort(-shares, kind="stable")[:asked])
    if expert not in kept:
        place = "the" if asked == 1 else "among the"
        says = f"The row does not ask expert {expert + 1}: its share is not {place} largest."
        return WorkedStep(says, tex(0), cell.value, "0.0", (source,))
    whole, snippet = float(shares[kept].sum()), f't["{source}"]{subscript(cell.index)}'
    if asked == 1:
        says = f"Expert {expert + 1} has the largest share of this row; its share stays as it is."
        return WorkedStep(says, f"{tex(shares[expert])} = {tex(cell.value)}", cell.value, snippet, (source,))
    total = " + ".join(tex(shares[n]) for n in kept)
    return WorkedStep(
        f"Experts {', '.join(str(n + 1) for n in kept)} have the largest shares. They are divided by their sum, "
        "so that they add up to 1.",
        rf"\frac{{{tex(shares[expert])}}}{{{total}}} = {tex(cell.value)}",
        cell.value,
        f'{snippet} / t["{source}"][{row}, {kept.tolist()}].sum()',
        (source,),
        Blank(total, whole),
    )


@rule("ask_expert")
def _answer(cell: Cell) -> WorkedStep:
    row, expert, dimension = cell.index
    source = cell.made.reads[0]
    if not cell.read(1)[row, expert]:
        return WorkedStep(f"Row {row + 1} does not ask expert {expert + 1}.", tex(0), cell.value, "0.0", (source,))
    w_1, b_1, w_2, b_2 = cell.made.weights[4 * expert : 4 * expert + 4]
    hidden = np.maximum(0, cell.numbers[w_1] @ cell.read()[row] + cell.numbers[b_1])
    column, bias = cell.numbers[w_2][dimension], float(cell.numbers[b_2][dimension])
    named, total = dot_product(hidden, column, of="units")
    return WorkedStep(
        f"Expert {expert + 1} is a feed-forward network: ReLU(xW₁ + b₁)W₂ + b₂. Its hidden units times column "
        f"{dimension + 1} of its W₂, plus the bias at the end. {named}",
        f"{total} + {factor(bias)} = {tex(cell.value)}",
        cell.value,
        f'hidden = np.maximum(0, t["{w_1}"] @ t["{source}"][{row}] + t["{b_1}"])\n'
        f'hidden @ t["{w_2}[{dimension}]"] + t["{b_2}"][{dimension}]',
        (source, w_1, b_1, f"{w_2}[{dimension}]", b_2),
        largest_product(hidden, column),
    )


@rule("sum_of_experts")
def _mixed(cell: Cell) -> WorkedStep:
    row, dimension = cell.index
    gates, answers = cell.made.reads
    asked = np.flatnonzero(cell.read(0)[row])
    parts = [(float(cell.read(0)[row, n]), float(cell.read(1)[row, n, dimension])) for n in asked]
    terms = [rf"{tex(gate)}\cdot {factor(answer)}" for gate, answer in parts]
    return WorkedStep(
        f"What expert {' and '.join(str(n + 1) for n in asked)} answered, times its gate.",
        f"{' + '.join(terms)} = {tex(cell.value)}",
        cell.value,
        f't["{gates}"][{row}] @ t["{answers}"][{row}, :, {dimension}]',
        (gates, answers),
        Blank(terms[0], round(parts[0][0], 4) * round(parts[0][1], 4)),
    )
