"""The log that a sibling brings along."""

import json
from pathlib import Path

import pytest

from experiments.training.training_log import FILE, load_log
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import MODELS
from training.loop.recipe import RECIPES
from training.loop.schedule import learning_rate_factor


def test_the_learning_rates_are_those_of_the_recipe() -> None:
    log, recipe = load_log("plain-1"), RECIPES["sibling"]
    assert log.steps[0] == 1
    assert log.steps[-1] == recipe.steps == log.validation_steps[-1]
    for step, rate in zip(log.steps, log.learning_rates, strict=True):
        factor = learning_rate_factor(step - 1, recipe.warmup_steps, recipe.steps, recipe.decay_fraction)
        assert rate == pytest.approx(recipe.peak_learning_rate * factor, rel=1e-4)


def test_columns_are_not_exchanged() -> None:
    first = json.loads((MODELS / "plain-1" / FILE).read_text())["steps"][0]
    log = load_log("plain-1")
    assert (log.losses[0], log.gradient_norms[0]) == (first["loss"], first["gradient_norm"])


@pytest.mark.parametrize("damage", ["", "{", "{}", '{"steps": [{"step": 1}], "validation": []}'])
def test_a_damaged_log_is_told_in_one_sentence(tmp_path: Path, damage: str) -> None:
    (tmp_path / "x").mkdir()
    if damage:
        (tmp_path / "x" / FILE).write_text(damage)
    with pytest.raises(CheckpointError, match=f"{FILE} (cannot be read|is missing)"):
        load_log("x", tmp_path)
