"""Fine-tune on four tasks, with pre-training and without: `python -m training.compare_pretraining TASKS`.

TASKS is the folder of `training.loop.tasks`. A model learns each task in several ways: from its pre-trained weights,
from random ones, with the language-model loss as a second one, and with an LSTM in its place. All learn alike, all
weights, with the learning rate of --rates that does best on val. Printed is the share of right answers on test, a line
for each task. `--out FILE` keeps the figures for the lesson; the same command again goes on where a kill has ended it.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from model.adapting.fine_tuned import FineTuned, FineTunedReader, FineTunedWriter
from model.families.encoder_only import Reader
from model.files.checkpoint import CheckpointError, load_untrained
from model.files.load_special_models import load_lstm
from model.files.loaded_model import MODELS, LoadedModel, UnknownModelError, load_folder, load_model
from model.text.tokenizer import Tokenizer
from training.live.labelling import AUXILIARY
from training.loop.finetune_loop import Accuracy, Example, accuracy, fine_tune, for_a_writer, loss_of, recipe
from training.loop.resumable_run import pick_precision
from training.loop.tasks import KEPT, ROW_TASKS, TASKS, Task, spread
from training.loop.updates import Loss

BATCH = 16  # texts
PARTS = ("train", "val", "test")
ALL = TASKS | ROW_TASKS


@dataclass(frozen=True)
class Way:
    """How a model begins, by its name, and λ, the weight of the language-model loss that goes along."""

    begins: Callable[[str], nn.Module]
    auxiliary: float = 0.0


def loaded(name: str) -> LoadedModel:
    """A model that comes with the app, by its name; or one in another folder, given as a path."""
    return load_folder(Path(name)) if "/" in name else load_model(name)


def as_pretrained(name: str) -> nn.Module:
    return loaded(name).model  # anew each time: training changes it


WAYS = {
    "pretrained": Way(as_pretrained),
    "random": Way(lambda name: load_untrained(MODELS / name)),
    "second_loss": Way(as_pretrained, AUXILIARY),
    "lstm": Way(lambda name: load_lstm(), AUXILIARY),  # pre-trained, too
}
OF_A_READER = ("pretrained", "random")  # it has no language-model loss


@dataclass(frozen=True)
class Settings:
    """examples, tests: of each task, to learn from and to measure with; epochs: times that each example is read"""

    examples: int
    tests: int
    epochs: int
    rates: tuple[float, ...]


def with_head(network: nn.Module, task: Task) -> FineTuned:
    """A network with a new head for this task; the same one each time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if isinstance(network, Reader):
            return FineTunedReader(network, task.n_classes, task.head)
        return FineTunedWriter(network, task.n_classes, task.head)  # type: ignore[arg-type]


def examples_of(task: Task, folder: Path, tokenizer: Tokenizer, settings: Settings, to_write: bool) -> list[Any]:
    """What is learned from, chosen by and measured with; to_write: for a GPT or an LSTM."""
    parts = []
    for part in PARTS:
        most = settings.examples if part == "train" else settings.tests
        some = spread(task.read(folder, part, tokenizer), most)
        parts.append([for_a_writer(one, task.kind == "tags") for one in some] if to_write else some)
    return parts


def learn(
    model: FineTuned, examples: Sequence[Example], steps: int, rate: float, loss: Loss, hides: float = 0.0
) -> None:
    """Fine-tune, in half precision where the processor computes it natively.

    Raises: training.loop.updates.DivergedError
    """
    machinery = Accelerator(mixed_precision=pick_precision())
    for _ in fine_tune(model, examples, recipe(steps, rate), loss, BATCH, machinery, hides):
        pass


def measured(
    way: Way, name: str, task: Task, parts: Sequence[Sequence[Example]], settings: Settings
) -> tuple[Accuracy, float]:
    """The share of right answers on test after a training, and its learning rate: the one that did best on val."""
    train, val, test = parts
    steps = max(1, settings.epochs * len(train) // BATCH)
    best: tuple[float, float, nn.Module] | None = None
    for rate in settings.rates:
        model = with_head(way.begins(name).cpu().requires_grad_(True), task)
        learn(model, train, steps, rate, loss_of(task.kind, way.auxiliary))
        right = accuracy(model, task.kind, val).right
        if best is None or right > best[0]:
            best = right, rate, model
    assert best is not None
    return accuracy(best[2], task.kind, test), best[1]


def standard_errors_apart(right: Mapping[str, float], n: int) -> float:
    """How far the share from pre-trained weights lies above that from random ones."""
    errors = [Accuracy(right[name], n).standard_error for name in OF_A_READER]
    return round((right["pretrained"] - right["random"]) / max(1e-9, sum(e**2 for e in errors) ** 0.5), 2)


class Kept:
    """The figures of a model, in a file that may hold those of others; without a file they are forgotten.

    Figures that were measured with other settings are not gone on with.
    """

    def __init__(self, file: Path | None, name: str, settings: Settings) -> None:
        self.file = file
        self.all: dict[str, Any] = json.loads(file.read_text()) if file and file.exists() else {}
        used = json.loads(json.dumps(asdict(settings)))
        if self.all.get(name, {}).get("settings") != used:
            self.all[name] = {"settings": used, "tasks": {}}
        self.tasks: dict[str, Any] = self.all[name]["tasks"]

    def right(self, task: str) -> dict[str, float]:
        """The shares of this task so far, by way."""
        return dict(self.tasks.get(task, {}).get("right", {}))

    def add(self, task: str, way: str, found: Accuracy, rate: float, about: Mapping[str, Any]) -> None:
        line = self.tasks.setdefault(task, {**about, "n": found.n, "right": {}, "rates": {}})
        line["right"][way], line["rates"][way] = round(found.right, 4), rate
        if {*OF_A_READER} <= {*line["right"]}:
            line["standard_errors_apart"] = standard_errors_apart(line["right"], found.n)
        if self.file:
            self.file.write_text(json.dumps(self.all, indent=2) + "\n")


def measure_all(given: argparse.Namespace) -> None:
    """Raises: OSError, ValueError, UnknownModelError, CheckpointError"""
    settings = Settings(given.examples, given.tests, given.epochs, tuple(given.rates))
    kept = Kept(given.out, Path(given.model).name, settings)
    model = loaded(given.model)
    to_write = not isinstance(model.model, Reader)
    ways = [way for way in given.ways if to_write or way in OF_A_READER]
    for name in given.only:
        task, parts = ALL[name], None
        for way in ways:
            if way in kept.right(name):
                continue
            parts = parts or examples_of(task, given.tasks, model.tokenizer, settings, to_write)
            found, rate = measured(WAYS[way], given.model, task, parts, settings)
            kept.add(name, way, found, rate, {"kind": task.kind, "train": len(parts[0])})
        print(f"{name}: {json.dumps(kept.tasks[name])}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.compare_pretraining", description=__doc__)
    parser.add_argument("tasks", type=Path, help="folder of the tasks' files")
    parser.add_argument("--model", default="gpt-mini", help="one that comes with the app, or the path of a folder")
    parser.add_argument("--only", nargs="+", choices=ALL, default=[*TASKS], metavar="TASK")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS], metavar="WAY", help=", ".join(WAYS))
    parser.add_argument("--examples", type=int, default=2000, help="to learn from, of each task")
    parser.add_argument("--tests", type=int, default=1066, help="to choose by, and to measure with, of each task")
    parser.add_argument("--epochs", type=int, default=3, help="times that each example is read")
    parser.add_argument("--rates", nargs="+", type=float, default=[3e-4, 1e-3], help="learning rates to choose from")
    parser.add_argument("--out", type=Path, help=f"keep the figures in this file; the lesson reads {KEPT.name}")
    torch.set_num_threads(1)
    try:
        measure_all(parser.parse_args())
    except (OSError, ValueError, UnknownModelError, CheckpointError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
