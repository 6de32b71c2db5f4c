"""Numbers of a scene as they are sent: with as many digits as can be seen."""

from collections.abc import Sequence

DIGITS = 4


def rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{float(value):.{DIGITS}g}")


def points(many: Sequence[tuple[float, float]]) -> list[list[float]]:
    return [[float(f"{float(number):.{DIGITS}g}") for number in point] for point in many]
