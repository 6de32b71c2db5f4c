"""A training that takes memory and does nothing else."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from training.loop.updates import Step


@dataclass(frozen=True)
class Report:
    step: int

    def light(self) -> "Report":
        return self


@dataclass(frozen=True)
class Hungry:
    """n_bytes: so many, after a first report"""

    n_bytes: int
    n_steps: int = 1

    def reports(self, is_due: Callable[[Step], bool]) -> Iterator[Report]:
        yield Report(0)
        taken = bytearray(self.n_bytes)
        yield Report(len(taken) and 1)
