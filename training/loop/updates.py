"""The training loop as a generator: it updates the weights with one batch, yields a record of that, and goes on.

It needs torch alone, so a page can run it as well as the command. Whoever reads the records may stop at any of them by
closing the generator; the weights then are those of the last record.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from model.text.tokenizer import PAD_ID
from training.loop.recipe import Recipe
from training.loop.schedule import learning_rate_factor

Batch = Mapping[str, Tensor]
Loss = Callable[[nn.Module, Batch], Tensor]


@dataclass(frozen=True)
class Step:
    """One update of the weights.

    step:           updates made so far, this one included
    loss:           of the batch, before the update
    gradient_norm:  length of the gradient of all weights together, before it is clipped
    learning_rate:  that of this update
    target_tokens:  labels in the batch, padding not counted
    """

    step: int
    loss: float
    gradient_norm: float
    learning_rate: float
    target_tokens: int


class DivergedError(ArithmeticError):
    """The loss or its gradient is no longer a number; the message says at which step. The weights are as before it."""


class Machinery(Protocol):
    """The parts of a step that differ between devices and precisions. accelerate's Accelerator fits."""

    def autocast(self) -> contextlib.AbstractContextManager[Any]: ...
    def backward(self, loss: Tensor) -> None: ...
    def clip_grad_norm_(self, parameters: Iterable[nn.Parameter], max_norm: float) -> Tensor: ...


class OneDevice:
    """The machinery for one device, in the precision of the weights."""

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def backward(self, loss: Tensor) -> None:
        loss.backward()

    def clip_grad_norm_(self, parameters: Iterable[nn.Parameter], max_norm: float) -> Tensor:
        return nn.utils.clip_grad_norm_(parameters, max_norm)


ONE_DEVICE = OneDevice()


@dataclass(frozen=True)
class Learner:
    """A model in training.

    averaged: the running average of its weights, which does better than the last weights while the learning rate is
              still high
    """

    model: nn.Module
    averaged: AveragedModel
    optimizer: torch.optim.Optimizer


def new_learner(model: nn.Module, recipe: Recipe) -> Learner:
    """A model ready for its first step. Its own weights are what training changes.

    Source: Vaswani et al. 2017, §5.3 (Adam, β₁ 0.9, β₂ 0.98, ε 10⁻⁹). Differs: they average the last checkpoints
            (§6.1), this keeps an exponential moving average
    """
    return Learner(
        model,
        AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(recipe.average_decay)),
        torch.optim.Adam(model.parameters(), recipe.peak_learning_rate, betas=(0.9, 0.98), eps=1e-9, fused=True),
    )


def training_steps(
    learner: Learner,
    batches: Iterable[Batch],
    recipe: Recipe,
    loss: Loss,
    start: int = 0,
    machinery: Machinery = ONE_DEVICE,
) -> Iterator[Step]:
    """Update the weights with one batch after the other, as long as there are batches and at most to `recipe.steps`.

    Args:   loss: of a model on a batch, a scalar; start: how many updates were made before
    Yields: a record of each update
    Raises: DivergedError, before it changes a weight, if the loss or its gradient is infinite or not a number
    """
    model, optimizer = learner.model, learner.optimizer
    for step, batch in zip(range(start, recipe.steps), batches, strict=False):
        factor = learning_rate_factor(step, recipe.warmup_steps, recipe.steps, recipe.decay_fraction)
        learning_rate = recipe.peak_learning_rate * factor
        for group in optimizer.param_groups:
            group["lr"] = learning_rate
        model.train()
        with machinery.autocast():
            value = loss(model, batch)
        machinery.backward(value)
        norm = machinery.clip_grad_norm_(model.parameters(), recipe.max_grad_norm)
        if not (value.isfinite() and norm.isfinite()):
            raise DivergedError(
                f"step {step + 1}: the loss is {value.item()}, the length of its gradient {norm.item()}; "
                "a lower learning rate may help"
            )
        optimizer.step()
        optimizer.zero_grad()
        learner.averaged.update_parameters(model)
        yield Step(
            step=step + 1,
            loss=value.item(),
            gradient_norm=norm.item(),
            learning_rate=learning_rate,
            target_tokens=int((batch["labels"] != PAD_ID).sum()),
        )
