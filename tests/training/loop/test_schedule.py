"""The learning rate: up, level, down."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.config import PRESETS
from training import denoising, family
from training.loop.data import NO_VARIATION, Variation
from training.loop.recipe import RECIPES
from training.loop.schedule import learning_rate_factor, phases

ROOT = Path(__file__).parents[3]
WARMUP, STEPS, DECAY = 10, 100, 0.3


def factors(steps: int = STEPS) -> list[float]:
    return [learning_rate_factor(step, WARMUP, steps, DECAY) for step in range(steps + 1)]


def test_up_level_down() -> None:
    curve = factors()
    assert curve[:10] == pytest.approx([n / 10 for n in range(1, 11)])
    assert curve[10:71] == [1.0] * 61
    assert curve[70:] == pytest.approx([1 - n / 30 for n in range(31)])
    assert curve[-1] == 0


def test_the_end_does_not_change_what_comes_before_the_fall() -> None:
    assert factors(200)[:71] == factors()[:71]


@given(st.integers(0, 500), st.integers(1, 300), st.integers(1, 400), st.floats(0.05, 1))
def test_a_share_of_the_peak(step: int, warmup_steps: int, steps: int, decay_fraction: float) -> None:
    factor = learning_rate_factor(step, warmup_steps, steps, decay_fraction)
    assert 0 <= factor <= 1
    assert (factor > 0) == (step < steps)


@pytest.mark.parametrize("preset", RECIPES)
def test_every_recipe_reaches_its_peak(preset: str) -> None:
    recipe = RECIPES[preset]
    curve = [
        learning_rate_factor(step, recipe.warmup_steps, recipe.steps, recipe.decay_fraction)
        for step in range(recipe.steps)
    ]
    assert max(curve) == 1
    assert curve[0] < 0.2
    assert curve[-1] < 0.1


def test_the_recipes_numbers_as_their_papers_give_them() -> None:
    """Vaswani et al. 2017, §5.4, smoothed with 0.1; Wu et al. 2021 trained on the captions as they were."""
    assert {recipe.label_smoothing for recipe in RECIPES.values()} == {0.1}
    assert {recipe.max_grad_norm for recipe in RECIPES.values()} == {1.0}
    assert RECIPES["multi30k-tiny"].variation == NO_VARIATION
    assert RECIPES["base"].variation == RECIPES["tiny"].variation == Variation(0.15, 0.05, 0.15, 0.02, 0.06)


def test_the_model_of_a_papers_sizes_and_its_recipe_are_those_that_are_told() -> None:
    config, recipe = PRESETS["multi30k-tiny"], RECIPES["multi30k-tiny"]
    told = " ".join((ROOT / "docs/multi30k.md").read_text(encoding="utf-8").split())
    assert (
        f"{recipe.steps:,} steps, batches of at most {recipe.batch_tokens:,} tokens on either side, warm-up over "
        f"{recipe.warmup_steps:,} steps to a learning rate of {recipe.peak_learning_rate}, which falls to 0 over the "
        f"last {recipe.decay_fraction:.0%} of the steps."
    ) in told
    assert (
        f"{config.n_layers} + {config.n_layers} layers, d_model {config.d_model}, d_ff {config.d_ff}, "
        f"{config.n_heads} heads, one vocabulary of {config.vocab_size:,} pieces for both languages."
    ) in told
    assert "the norm stands before each sublayer, and positions are rotated" in told
    assert (config.norm_place, config.positions) == ("pre", "rotary")


def test_every_recipe_has_a_model_and_every_model_a_recipe() -> None:
    translators = {name for name, config in PRESETS.items() if config.family == "encoder_decoder"}
    assert RECIPES.keys() | denoising.RECIPES.keys() == translators
    assert not RECIPES.keys() & denoising.RECIPES.keys()
    assert family.RECIPES.keys() - {"lstm", "in-context"} == PRESETS.keys() - translators


@pytest.mark.parametrize("preset", RECIPES)
def test_the_phases_are_where_the_curve_bends(preset: str) -> None:
    recipe = RECIPES[preset]
    rise, level, fall = phases(recipe.warmup_steps, recipe.steps, recipe.decay_fraction)
    assert [rise.first, level.first, fall.first] == [1, rise.last + 1, level.last + 1]
    assert fall.last == recipe.steps

    def factor(step: int) -> float:  # counted from 1
        return learning_rate_factor(step - 1, recipe.warmup_steps, recipe.steps, recipe.decay_fraction)

    assert [factor(step) for step in (rise.last, level.first, level.last)] == [1, 1, 1]
    assert max(factor(rise.last - 1), factor(fall.first)) < 1
