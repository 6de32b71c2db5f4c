"""How the learning rate goes: up, level, down."""

from dataclasses import dataclass


def learning_rate_factor(step: int, warmup_steps: int, steps: int, decay_fraction: float) -> float:
    """Share of the peak learning rate at a step: a linear rise, a plateau, a linear fall to 0 at the end.

    Unlike the paper's inverse square root (Vaswani et al. 2017, §5.3, Eq. 3), the plateau does not depend on where the
    end lies, so that a run can be lengthened while it is under way, and the fall to 0 makes its weights settle
    (Hägele et al. 2024, §3).
    """
    rise = (step + 1) / warmup_steps
    fall = (steps - step) / (decay_fraction * steps)
    return max(0.0, min(1.0, rise, fall))


@dataclass(frozen=True)
class Phase:
    """A stretch of a training, from its first step to its last, both counted from 1."""

    name: str
    first: int
    last: int


def phases(warmup_steps: int, steps: int, decay_fraction: float) -> tuple[Phase, Phase, Phase]:
    """The rise, the plateau and the fall of `learning_rate_factor`, for warm-ups that end before the fall begins."""
    fall = next(
        step for step in range(warmup_steps, steps)
        if learning_rate_factor(step, warmup_steps, steps, decay_fraction) < 1
    )  # fmt: skip
    return (
        Phase("warm-up", 1, warmup_steps),
        Phase("plateau", warmup_steps + 1, fall),
        Phase("fall", fall + 1, steps),
    )
