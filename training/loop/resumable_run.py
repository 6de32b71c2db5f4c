"""A training run that keeps its state in a folder and goes on after a kill. It yields a record of every step."""

import dataclasses
import json
import platform
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch import Tensor, nn
from torch.utils.data import DataLoader

from model.build import build_model
from model.config import PRESETS, ModelConfig
from model.files import checkpoint
from model.text.tokenizer import Tokenizer
from training.loop.data import NO_VARIATION, epoch_loader, read_pairs, swapped
from training.loop.folders import complete_folder, replace_folder
from training.loop.loss import batch_loss, validation_loss
from training.loop.recipe import Recipe
from training.loop.updates import Batch, Learner, Machinery, Step, new_learner, training_steps

FIGURES = "training.json"
VALIDATION_TOKENS = 3000  # in a batch
SAVE_SECONDS = 60.0  # at most between two saved states: what a kill may cost


@dataclass(frozen=True)
class Evaluation:
    """The averaged weights after `step` updates, measured on the validation pairs.

    validation_loss: nats a token; is_best: the lowest so far, so these weights were kept
    epochs, target_tokens, seconds: spent on training so far, over all starts of the run
    """

    step: int
    validation_loss: float
    is_best: bool
    epochs: float
    target_tokens: int
    seconds: float


class Clock:
    """Where the run stands; accelerate saves and restores it with the rest."""

    def __init__(self) -> None:
        self.step = 0
        self.epoch = 0
        self.batch = 0  # batches of this epoch already used
        self.batches_in_epoch = 1
        self.seconds = 0.0
        self.target_tokens = 0
        self.best_loss = float("inf")
        self.best_step = 0

    @property
    def epochs(self) -> float:
        return self.epoch + self.batch / self.batches_in_epoch

    def state_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)


@dataclass(frozen=True)
class Task:
    """What a run trains: a preset, by a recipe, on files of sentence pairs.

    valid: pairs to choose the best weights by; out: the folder for them and for the state to resume from
    parts: fields of ModelConfig in which the model differs from the preset; reverse: German is read, English written
    balance: how much it counts in training that experts do unequal shares of the work
    """

    preset: str
    data: Sequence[Path]
    valid: Path
    out: Path
    recipe: Recipe
    seed: int = 1
    parts: Mapping[str, str | int | float] = field(default_factory=dict)
    reverse: bool = False
    balance: float = 0.0

    def subject(self, accelerator: Accelerator) -> "Translation":
        return Translation(self, accelerator)

    def config(self, vocab_size: int) -> ModelConfig:
        """Of the model. vocab_size: little data fills no large vocabulary, so it may be less than the preset's."""
        changes: dict[str, Any] = {"vocab_size": vocab_size, **self.parts}
        return dataclasses.replace(PRESETS[self.preset], **changes)


class Subject(Protocol):
    """What a run trains: a model, its batches and its loss."""

    def new_model(self) -> nn.Module: ...

    def loader(self, epoch: int, processes: int) -> DataLoader[Any]:
        """The batches of an epoch, by the epoch alone, so that a resumed run sees the same ones."""

    def loss(self, model: nn.Module, batch: Batch) -> Tensor: ...

    def validation_loss(self, model: nn.Module, machinery: Machinery) -> float:
        """Nats a token on the validation data; leaves the model in evaluation mode."""

    def save(self, weights: dict[str, Tensor]) -> None:
        """Write the model into the run's folder."""

    def figures(self) -> dict[str, Any]:
        """What `training.json` says of the model and its data."""


class Undertaking(Protocol):
    """A task that a run can take on. out: the folder of the model and of the state to resume from"""

    @property
    def out(self) -> Path: ...
    @property
    def recipe(self) -> Recipe: ...
    @property
    def seed(self) -> int: ...
    def subject(self, accelerator: Accelerator) -> Subject: ...


class Translation:
    """A translator in training: its vocabulary, its sentence pairs and their loss.

    Raises: ValueError if a file holds no pair
    """

    def __init__(self, task: Task, accelerator: Accelerator) -> None:
        self.task = task
        self.pairs, self.valid_pairs = read_pairs(task.data), read_pairs([task.valid])
        if task.reverse:
            self.pairs, self.valid_pairs = swapped(self.pairs), swapped(self.valid_pairs)
        self.tokenizer = self._tokenizer(accelerator)
        self.config = task.config(self.tokenizer.vocab_size)

    def _tokenizer(self, accelerator: Accelerator) -> Tokenizer:
        """The vocabulary in the run's folder; if there is none yet, one is trained."""
        path = self.task.out / checkpoint.TOKENIZER
        if accelerator.is_main_process and not path.exists():
            unfinished = path.with_suffix(".new")
            sides = (side for pair in self.pairs for side in pair)
            Tokenizer.train(sides, PRESETS[self.task.preset].vocab_size).save(unfinished)
            unfinished.rename(path)
        accelerator.wait_for_everyone()
        return checkpoint.load_tokenizer(self.task.out)

    def new_model(self) -> nn.Module:
        return build_model(self.config)

    def loader(self, epoch: int, processes: int) -> DataLoader[Any]:
        task, recipe = self.task, self.task.recipe
        return epoch_loader(
            self.pairs,
            self.tokenizer,
            recipe.batch_tokens,
            recipe.variation,
            task.seed,
            epoch,
            self.config.max_len,
            processes,
        )

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        return batch_loss(model, batch, self.task.recipe.label_smoothing, balance=self.task.balance)

    def validation_loss(self, model: nn.Module, machinery: Machinery) -> float:
        batches = epoch_loader(
            self.valid_pairs, self.tokenizer, VALIDATION_TOKENS, NO_VARIATION, 0, 0, self.config.max_len
        )
        return validation_loss(model, batches, machinery)

    def save(self, weights: dict[str, Tensor]) -> None:
        checkpoint.save(self.task.out, self.config, self.tokenizer, weights)

    def figures(self) -> dict[str, Any]:
        return {
            "preset": self.task.preset,
            "parts": dict(self.task.parts),
            "reversed": self.task.reverse,
            "balance": self.task.balance,
            "data": ", ".join(path.name for path in self.task.data),
            "pairs": len(self.pairs),
        }


class Run:
    """A task under way: what is trained, and where it stands: at the last saved state, if there is one.

    Raises: ValueError if there is nothing to learn from
    """

    def __init__(self, task: Undertaking) -> None:
        self.task = task
        self._state = task.out / "state"
        self.accelerator = Accelerator(
            mixed_precision=pick_precision(), dataloader_config=DataLoaderConfiguration(even_batches=False)
        )
        set_seed(task.seed)
        task.out.mkdir(parents=True, exist_ok=True)
        self.subject = task.subject(self.accelerator)
        self.learner = self._learner()
        self.clock = Clock()
        self.accelerator.register_for_checkpointing(self.clock, self.learner.averaged)
        if state := complete_folder(self._state):
            self.accelerator.load_state(str(state))

    def _learner(self) -> Learner:
        learner = new_learner(self.subject.new_model(), self.task.recipe)
        learner.averaged.to(self.accelerator.device)
        model, optimizer = self.accelerator.prepare(learner.model, learner.optimizer)
        return Learner(model, learner.averaged, optimizer)

    def records(self, save_every: int = 500) -> Iterator[Step | Evaluation]:
        """Train until the recipe's last step, and keep in `task.out` the averaged weights that did best.

        Closing the generator stops the run; it then loses what it did since its state was saved: at an Evaluation, and
        every SAVE_SECONDS if it is one process.

        Args:   save_every: steps from one evaluation and saved state to the next; there is also one after the last step
        Yields: a Step for every update, and an Evaluation once its weights and its state are saved
        Raises: ValueError if the model can take none of the pairs; DivergedError
        """
        started = saved = time.perf_counter()
        for step in self._steps():
            self.clock.seconds += time.perf_counter() - started
            yield step
            if step.step % save_every == 0 or step.step == self.task.recipe.steps:
                yield self._evaluate()
                saved = time.perf_counter()
            elif self.accelerator.num_processes == 1 and time.perf_counter() - saved >= SAVE_SECONDS:
                self._save_state()  # several processes, each with a clock of its own, would not do so at one step
                saved = time.perf_counter()
            started = time.perf_counter()  # neither the reader's time nor the evaluation counts

    def _steps(self) -> Iterator[Step]:
        """The updates that are still to be made."""
        recipe, clock, loss = self.task.recipe, self.clock, self.subject.loss
        for step in training_steps(self.learner, self._batches(), recipe, loss, clock.step, self.accelerator):
            clock.step = step.step
            clock.batch += 1
            clock.target_tokens += step.target_tokens * self.accelerator.num_processes
            yield step

    def _batches(self) -> Iterator[Batch]:
        """Epoch after epoch, from the first batch that was not used yet."""
        clock = self.clock
        while True:
            loader = self.accelerator.prepare_data_loader(
                self.subject.loader(clock.epoch, self.accelerator.num_processes)
            )
            clock.batches_in_epoch = len(loader)
            yield from self.accelerator.skip_first_batches(loader, clock.batch) if clock.batch else loader
            clock.epoch, clock.batch = clock.epoch + 1, 0

    def _evaluate(self) -> Evaluation:
        """Validate the averaged weights, keep them if they are the best so far, and save the state."""
        clock, averaged = self.clock, self.learner.averaged.module
        loss = self.subject.validation_loss(averaged, self.accelerator)
        is_best = loss < clock.best_loss
        if is_best:
            clock.best_loss, clock.best_step = loss, clock.step
        if self.accelerator.is_main_process:
            if is_best:
                self.subject.save(averaged.state_dict())
            (self.task.out / FIGURES).write_text(json.dumps(self._figures(), indent=2) + "\n")
        self._save_state()
        return Evaluation(clock.step, loss, is_best, clock.epochs, clock.target_tokens, clock.seconds)

    def _figures(self) -> dict[str, Any]:
        """What is known about the run; `training.publish` carries it over."""
        clock = self.clock
        return {
            **self.subject.figures(),
            "steps": clock.step,
            "epochs": round(clock.epochs, 2),
            "target_tokens": clock.target_tokens,
            "seconds": round(clock.seconds),
            "device": str(self.accelerator.device),
            "hardware": hardware(),
            "precision": self.accelerator.mixed_precision,
            "seed": self.task.seed,
            "validation_loss": round(clock.best_loss, 4),  # of the weights that were kept
            "kept_step": clock.best_step,
            "recipe": dataclasses.asdict(self.task.recipe),
        }

    def _save_state(self) -> None:
        """Save all that a resumed run needs. A kill at any moment leaves either the old state or the new one whole."""
        fresh = self._state.with_name("state.new")
        if self.accelerator.is_main_process:
            shutil.rmtree(fresh, ignore_errors=True)
        self.accelerator.wait_for_everyone()
        self.accelerator.save_state(str(fresh))
        self.accelerator.wait_for_everyone()  # the others may still write to it
        if self.accelerator.is_main_process:
            replace_folder(fresh, self._state)
        self.accelerator.wait_for_everyone()


def hardware() -> str:
    """The processor or GPU, in words."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{torch.get_num_threads()} CPU cores ({platform.machine()})"


def pick_precision() -> str:
    """bf16 where the hardware computes it natively, else none."""
    if torch.cuda.is_available():
        return "bf16" if torch.cuda.is_bf16_supported() else "no"
    return "bf16" if torch.cpu._is_avx512_bf16_supported() else "no"
