"""How the numbers of the inputs came about: look-up, scaling, positions."""

import math
import re

import numpy as np

from explain.core import Numbers, WorkedStep, dot_product, factor, rule, subscript, tex

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
        f't["{source}"]{subscript(index)} * np.sqrt({d_model})',
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
        f"which is {'odd: a cosine' if dimension % 2 else 'even: a sine'}; 2i = {even}. Angles are in radians.",
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
        " + ".join(f't["{n}"]{subscript(index)}' for n in names),
        names,
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
