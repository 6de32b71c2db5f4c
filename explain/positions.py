"""How the numbers of position schemes other than the sinusoids came about: learned vectors, and biases for distance."""

from explain.core import DIGITS, Blank, Cell, WorkedStep, rule, tex
from model.parts.positions import MAX_DISTANCE, N_BUCKETS, bucket_of


@rule("learned_position")
def _position(cell: Cell) -> WorkedStep:
    row, dimension = cell.index
    (table,) = cell.made.weights
    return WorkedStep(
        f"Position {row + 1} has a vector of its own: row {row + 1} of a table that was learned. This is dimension "
        f"{dimension + 1} of it.",
        rf"p_{{{row + 1},{dimension + 1}}} = {tex(cell.value)}",
        cell.value,
        f't["{table}[{row}]"][{dimension}]',
        (f"{table}[{row}]",),
    )


@rule("bias_of_bucket")
def _bias_of_bucket(cell: Cell) -> WorkedStep:
    head, row, column = cell.index
    (table,), causal = cell.made.weights, bool(cell.made.constants[0])
    bucket = bucket_of(column - row, causal)
    return WorkedStep(
        f"{_stands(row, column)} {_shares(column - row, causal)} The number "
        f"of head {head + 1} for that is in row {bucket + 1} of {N_BUCKETS} in the table.",
        rf"r_{{{bucket + 1}}} = {tex(cell.value)}",
        cell.value,
        f't["{table}[{bucket}]"][{head}]',
        (f"{table}[{bucket}]",),
    )


def _stands(row: int, column: int) -> str:
    distance = abs(column - row)
    if not distance:
        return f"Query {row + 1} and key {column + 1} stand at the same position."
    side = "right" if column > row else "left"
    return f"Key {column + 1} stands {distance} place{'s'[: distance > 1]} to the {side} of query {row + 1}."


def _shares(offset: int, causal: bool) -> str:
    """Which distances have the same number as this one."""
    if causal and offset > 0:
        return "The mask hides it, so there is no number for it; it is given that of distance 0."
    bucket, side = bucket_of(offset, causal), 1 if offset > 0 else -1
    alike = [d for d in range(2 * MAX_DISTANCE) if bucket_of(side * d, causal) == bucket]
    if len(alike) == 1:
        return "So short a distance has a number to itself."
    if bucket == bucket_of(side * 2 * MAX_DISTANCE, causal):
        return f"All distances from {alike[0]} on share one number."
    return f"The distances from {alike[0]} to {alike[-1]} share one number."


@rule("bias_of_distance")
def _bias_of_distance(cell: Cell) -> WorkedStep:
    head, row, column = cell.index
    slope, distance = cell.made.constants[head], abs(column - row)
    return WorkedStep(
        f"{_stands(row, column)} The slope of head {head + 1}, {tex(slope)}, is fixed. Slope times distance is taken "
        "off the score.",
        rf"-{tex(slope)}\cdot {distance} = {tex(cell.value)}",
        cell.value,
        f"-{slope} * abs({column} - {row})",
        blank=Blank(rf"-{tex(slope)}\cdot {distance}", -round(slope, DIGITS) * distance),
    )
