"""How the numbers of the inputs came about: look-up, scaling, positions."""

import math

import numpy as np

from explain.core import (
    DIGITS,
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
)


@rule("look_up")
def _looked_up(cell: Cell) -> WorkedStep:
    row, dimension = cell.index
    (name,) = cell.made.weights
    matrix, looked_up = cell.numbers.weights[name], cell.numbers.tensors[cell.name][row]
    # The trace keeps no ids: a row belongs to the entry whose embedding it is.
    candidates = np.flatnonzero(matrix[:, dimension] == looked_up[dimension])
    token = next(int(i) for i in candidates if np.array_equal(matrix[i], looked_up))
    value, source, others = cell.value, f"{name}[{token}]", len(matrix) - 1
    if name.endswith("segments.weight"):
        says = f"This piece stands in text {token + 1}, so this is dimension {dimension + 1} of row {token + 1} of S."
    else:
        says = f"The id is {token}, so this is dimension {dimension + 1} of the row of E that belongs to it."
    return WorkedStep(
        f"{says} As a product with the one-hot vector: one of {len(matrix):,} terms counts, the others are multiplied "
        "by 0.",
        rf"1\cdot {factor(value)} + {others}\cdot 0 = {tex(value)}",
        value,
        f't["{source}"][{dimension}]',
        (source,),
    )


@rule("times_sqrt_d_model")
def _scaled_embedding(cell: Cell) -> WorkedStep:
    source, before, value = cell.made.reads[0], cell.read()[cell.index], cell.value
    d_model = cell.read().shape[-1]
    return WorkedStep(
        f"The embedding is multiplied by √d_model = √{d_model}, so that it is not drowned by the positions.",
        rf"\sqrt{{{d_model}}}\cdot {factor(before)} = {tex(math.sqrt(d_model))}\cdot {factor(before)} = {tex(value)}",
        value,
        f't["{source}"]{subscript(cell.index)} * np.sqrt({d_model})',
        (source,),
        Blank(rf"{tex(math.sqrt(d_model))}\cdot {factor(before)}", value),
    )


@rule("sinusoid")
def _position(cell: Cell) -> WorkedStep:
    position, dimension = cell.index
    d_model, value = cell.numbers[cell.name].shape[-1], cell.value
    even = dimension - dimension % 2
    name, other = ("cos", "sin") if dimension % 2 else ("sin", "cos")
    angle = position / 10000 ** (even / d_model)
    other_value = math.sin(angle) if dimension % 2 else math.cos(angle)  # the pair's other number, left to the learner
    return WorkedStep(
        f"Here pos = {position}: the formula counts positions from 0. Dimension {dimension + 1} is the "
        f"{'cosine' if dimension % 2 else 'sine'} of pair {even // 2 + 1}. The formula counts pairs from 0 too, so "
        f"i = {even // 2} and 2i = {even}. Angles are in radians.",
        rf"\{name}\!\left(\frac{{{position}}}{{10000^{{{even}/{d_model}}}}}\right)"
        rf" = \{name}({tex(angle)}) = {tex(value)}",
        value,
        f"np.{name}({position} / 10000 ** ({even} / {d_model}))",
        blank=Blank(rf"\{other}({tex(angle)})", other_value),
    )


@rule("add_positions")
def _embedded(cell: Cell) -> WorkedStep:
    return _sum(cell, "The scaled embedding and the positional encoding are added, element by element.")


@rule("add_embeddings")
def _embeddings_added(cell: Cell) -> WorkedStep:
    return _sum(cell, "Two vectors are added, element by element.")


@rule("add_residual")
def _added(cell: Cell) -> WorkedStep:
    return _sum(cell, "What ran past the sub-layer (the residual stream) plus what the sub-layer wrote.")


@rule("add_bias")
def _biased(cell: Cell) -> WorkedStep:
    return _sum(cell, "The score plus what the position scheme adds for the distance between query and key.")


@rule("add_weighted_residual")
def _added_to_weighted(cell: Cell) -> WorkedStep:
    stream, written = (cell.read(n)[cell.index] for n in (0, 1))
    (alpha,), at = cell.made.constants, subscript(cell.index)
    term = rf"{tex(alpha)}\cdot {factor(stream)}"
    return WorkedStep(
        f"What the sub-layer read (the residual stream), times α = {tex(alpha)}, plus what the sub-layer wrote. α "
        "belongs to the depth of the stack.",
        rf"{term} + {factor(written)} = {tex(cell.value)}",
        cell.value,
        f'{alpha} * t["{cell.made.reads[0]}"]{at} + t["{cell.made.reads[1]}"]{at}',
        cell.made.reads,
        Blank(term, round(alpha, DIGITS) * round(float(stream), DIGITS)),
    )


def _sum(cell: Cell, says: str) -> WorkedStep:
    first, second = (cell.read(n)[cell.index] for n in (0, 1))
    return WorkedStep(
        says,
        rf"{tex(first)} + {factor(second)} = {tex(cell.value)}",
        cell.value,
        " + ".join(f't["{name}"]{subscript(cell.index)}' for name in cell.made.reads),
        cell.made.reads,
        Blank(rf"{tex(first)} + {factor(second)}", float(first + second)),
    )


@rule("copy")
def _copied(cell: Cell) -> WorkedStep:
    (source,) = cell.made.reads
    return WorkedStep(
        "Nothing is added here: the number stays as it is.",
        rf"{tex(cell.read()[cell.index])} \to {tex(cell.value)}",
        cell.value,
        f't["{source}"]{subscript(cell.index)}',
        cell.made.reads,
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
        largest_product(left, right),
    )
