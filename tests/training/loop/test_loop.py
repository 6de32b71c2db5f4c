"""One step of the loop after the other: clipping, Adam, how it ends. `test_run.py` works out a whole training."""

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from model.text.tokenizer import PAD_ID
from training.loop.recipe import Recipe
from training.loop.updates import DivergedError, Learner, OneDevice, new_learner, training_steps


class Point(nn.Module):
    """One weight, for losses whose slope is known."""

    def __init__(self, x: float) -> None:
        super().__init__()
        self.x = nn.Parameter(torch.tensor(x, dtype=torch.float64))


NOTHING = {"labels": torch.tensor([[5, 5, PAD_ID]])}


def times(slope: float) -> Any:
    return lambda model, batch: slope * model.x


def test_adam_by_hand_for_a_slope_as_small_as_epsilon() -> None:
    """The first step of Adam is rate · g / (|g| + ε): half the rate if g = ε = 10⁻⁹."""
    recipe = Recipe(steps=10, warmup_steps=1, peak_learning_rate=0.5)
    learner = new_learner(Point(3.0), recipe)
    next(training_steps(learner, [NOTHING], recipe, times(1e-9)))
    assert learner.model.get_parameter("x").item() == pytest.approx(3 - 0.25, abs=1e-6)


@pytest.mark.parametrize(("slope", "used"), [(5.0, 0.5), (0.2, 0.2)])
def test_a_long_gradient_is_cut_to_the_limit_and_a_short_one_is_left(slope: float, used: float) -> None:
    recipe = Recipe(steps=10, max_grad_norm=0.5)
    learner = new_learner(Point(3.0), recipe)
    used_by_adam = []
    learner.optimizer.register_step_pre_hook(lambda *_: used_by_adam.append(learner.model.get_parameter("x").grad))
    (step,) = training_steps(learner, [NOTHING], recipe, times(slope))
    assert [g.item() for g in used_by_adam] == pytest.approx([used], abs=1e-5)
    assert step.gradient_norm == pytest.approx(slope)


def test_each_gradient_is_its_own_batchs_alone() -> None:
    """Slopes 1, then 0: the second gradient is 0, not what the first left behind."""
    recipe = Recipe(steps=10)
    slopes = iter([1.0, 0.0])
    records = list(
        training_steps(new_learner(Point(3.0), recipe), [NOTHING] * 2, recipe, lambda m, _: next(slopes) * m.x)
    )
    assert [record.gradient_norm for record in records] == [1, 0]


def test_closing_the_generator_stops_with_the_weights_of_the_last_record() -> None:
    recipe = Recipe(steps=9, warmup_steps=4, peak_learning_rate=0.07, decay_fraction=0.4, average_decay=0.7)
    whole, parted = (new_learner(Point(3.0), recipe) for _ in range(2))

    def state(learner: Learner) -> list[float]:
        return [weight.item() for weight in (*learner.model.parameters(), *learner.averaged.parameters())]

    expected = [state(whole) for _ in training_steps(whole, [NOTHING] * 9, recipe, times(0.3))]
    unread = iter([NOTHING] * 9)
    steps = training_steps(parted, unread, recipe, times(0.3))
    for _ in range(4):
        next(steps)
    steps.close()
    assert state(parted) == expected[3] != expected[4]
    assert len(list(unread)) == 5
    later = training_steps(parted, [NOTHING] * 9, recipe, times(0.3), start=4)
    assert [step.step for step in later] == list(range(5, 10))
    assert state(parted) == expected[-1]


def test_it_ends_with_the_recipe_or_with_the_batches() -> None:
    recipe = Recipe(steps=3)
    unread = iter([NOTHING] * 5)
    assert len(list(training_steps(new_learner(Point(1.0), recipe), unread, recipe, times(1)))) == 3
    assert len(list(unread)) == 2, "no batch is read in vain"
    assert len(list(training_steps(new_learner(Point(1.0), recipe), [NOTHING], recipe, times(1)))) == 1


def test_the_loss_is_computed_in_training_mode_whatever_came_before() -> None:
    recipe, modes = Recipe(steps=3), []

    def loss(model: nn.Module, batch: object) -> Tensor:
        modes.append(model.training)
        return model.get_parameter("x") * 1

    learner = new_learner(Point(1.0), recipe)
    for _ in training_steps(learner, [NOTHING] * 3, recipe, loss):
        learner.model.eval()
    assert modes == [True] * 3


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_loss_that_is_no_number_ends_the_training_before_it_spoils_the_weights(loss: float) -> None:
    recipe = Recipe(steps=9)
    losses = iter([1.0, 1.0, loss])
    learner = new_learner(Point(3.0), recipe)
    steps = training_steps(learner, [NOTHING] * 9, recipe, lambda m, _: next(losses) * m.x)
    next(steps), next(steps)
    before = [p.clone() for p in (*learner.model.parameters(), *learner.averaged.parameters())]
    with pytest.raises(DivergedError, match=r"^step 3: the loss is (nan|inf), .*; a lower learning rate may help$"):
        next(steps)
    after = [*learner.model.parameters(), *learner.averaged.parameters()]
    assert all(torch.equal(a, b) for a, b in zip(after, before, strict=True))


def test_a_gradient_that_is_no_number_does_too() -> None:
    """√x has an infinite slope at 0, where its value is 0."""
    recipe = Recipe(steps=9)
    learner = new_learner(Point(0.0), recipe)
    with pytest.raises(DivergedError, match=r"^step 1: the loss is 0.0, the length of its gradient (inf|nan);"):
        next(training_steps(learner, [NOTHING], recipe, lambda m, _: m.x.sqrt()))
    assert learner.model.get_parameter("x").item() == 0


def test_what_differs_between_devices_is_left_to_the_machinery() -> None:
    calls: list[str] = []

    class Recorded(OneDevice):
        @contextlib.contextmanager
        def autocast(self) -> Iterator[None]:
            calls.append("autocast")
            yield
            calls.append("end of autocast")

        def backward(self, loss: Tensor) -> None:
            calls.append("backward")
            super().backward(loss)

        def clip_grad_norm_(self, parameters: Any, max_norm: float) -> Tensor:
            calls.append(f"clip to {max_norm}")
            return super().clip_grad_norm_(parameters, max_norm)

    def loss(model: nn.Module, batch: object) -> Tensor:
        calls.append("loss")
        return model.get_parameter("x") * 1

    recipe = Recipe(steps=1, max_grad_norm=0.25)
    list(training_steps(new_learner(Point(1.0), recipe), [NOTHING], recipe, loss, machinery=Recorded()))
    assert calls == ["autocast", "loss", "end of autocast", "backward", "clip to 0.25"]
