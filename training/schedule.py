"""How the learning rate goes: up, level, down."""


def learning_rate_factor(step: int, warmup_steps: int, steps: int, decay_fraction: float) -> float:
    """Share of the peak learning rate at a step: a linear rise, a plateau, a linear fall to 0 at the end.

    Unlike the paper's inverse square root (Vaswani et al. 2017, §5.3, Eq. 3), the plateau does not depend on where the
    end lies, so that a run can be lengthened while it is under way, and the fall to 0 makes its weights settle
    (Hägele et al. 2024, §3).
    """
    rise = (step + 1) / warmup_steps
    fall = (steps - step) / (decay_fraction * steps)
    return max(0.0, min(1.0, rise, fall))
