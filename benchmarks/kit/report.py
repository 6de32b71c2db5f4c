"""What was measured, as a table for people and one line of JSON for programs."""

import json
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured number; the bar, if there is one, is the largest it may be."""

    name: str
    value: float
    unit: str
    bar: float | None = None

    @property
    def missed(self) -> bool:
        return self.bar is not None and self.value > self.bar


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that `percent` of the values do not exceed; of a single value, that value."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else values[0]


def report(figures: Sequence[Figure]) -> None:
    width = max(len(figure.name) for figure in figures)
    for figure in figures:
        bar = "" if figure.bar is None else f"   at most {figure.bar:g}: {'MISSED' if figure.missed else 'reached'}"
        print(f"{figure.name:<{width}}  {figure.value:10.2f} {figure.unit:<10}{bar}")
    found = {figure.name: round(figure.value, 4) for figure in figures}
    missed = [figure.name for figure in figures if figure.missed]
    print(json.dumps({"figures": found, "missed": missed, "machine": platform.platform()}))
