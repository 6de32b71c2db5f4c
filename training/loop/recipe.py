"""How each preset of `model.config` is trained."""

from dataclasses import dataclass, replace

from training.loop.data import NO_VARIATION, Variation


@dataclass(frozen=True)
class Recipe:
    """The numbers of a training run."""

    steps: int
    batch_tokens: int = 3000  # most padded target tokens (and source tokens) in a batch
    peak_learning_rate: float = 1e-3
    warmup_steps: int = 1000
    decay_fraction: float = 0.3  # share of all steps in which the learning rate falls to 0
    label_smoothing: float = 0.1  # Vaswani et al. 2017, §5.4
    max_grad_norm: float = 1.0
    average_decay: float = 0.999  # of the running average of the weights, which is what is kept
    variation: Variation = Variation()


def in_steps(recipe: Recipe, steps: int) -> Recipe:
    """The recipe in so many steps; a short training warms up in a tenth of them, at least in one."""
    return replace(recipe, steps=steps, warmup_steps=min(recipe.warmup_steps, max(1, steps // 10)))


RECIPES: dict[str, Recipe] = {
    "base": Recipe(steps=9_000),
    "tiny": Recipe(steps=40, batch_tokens=400, warmup_steps=10, average_decay=0.9),
    # About half an hour on one core, for each of many. Small batches and a high rate, since so short a training gains
    # from each further step. With 1130 one reads as much as the older ones did, whose batches held at most 1500.
    "sibling": Recipe(steps=6_000, batch_tokens=1130, peak_learning_rate=2e-3),
    # The published baseline saw no variations, so neither does ours.
    "multi30k-tiny": Recipe(
        steps=14_000,
        batch_tokens=2048,
        peak_learning_rate=4e-3,
        warmup_steps=1000,
        decay_fraction=0.6,
        variation=NO_VARIATION,
    ),
}
