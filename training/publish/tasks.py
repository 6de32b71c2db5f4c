"""Fine-tune the small BERT for four tasks and put that into the app: `python -m training.publish.tasks TASKS`.

TASKS is the folder of `training.loop.tasks`. Of each task the head and the last layers learn, and where a whole text is
told the table of tokens; these alone are kept, in assets/models/tasks, and the app joins them to the small BERT.
Printed and kept is the share of right answers on test, of the rounded weights, as the app runs them; beside it that of
counting words.
"""

import argparse
import json
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from model.adapting.fine_tuned import FineTunedReader
from model.families.encoder_only import EncoderOnly
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import UnknownModelError, load_model
from model.parts.task_heads import TASK_HEADS, file_of, learning_in, load_task, save_task
from training.compare_pretraining import BATCH, PARTS, learn, with_head
from training.loop.finetune_loop import Accuracy, accuracy, loss_of, train_only
from training.loop.tasks import TASKS, spread
from training.measure.word_counts import counted
from training.publish.translator import CARD, CARDS, METRICS

BERT = "bert-mini"
N_LAYERS = 2  # that learn, of the last
EXAMPLES, EPOCHS, RATE = 8000, 5, 4e-4  # the most to learn from; times that each is read
# The share of tokens that are hidden in training, by the kind of task: an answer or a word that is hidden could not be
# told, and whether two texts say the same often hangs on one word.
HIDES = {"sentence": 0.3, "pair": 0.1}


def publish(name: str, tasks: Path, folder: Path, examples: int, epochs: int, rate: float) -> dict[str, Any]:
    """Train and keep what a task changes; returns its figures.

    Raises: OSError, ValueError, UnknownModelError, CheckpointError
    """
    task, loaded = TASKS[name], load_model(BERT)
    network = loaded.model
    assert isinstance(network, EncoderOnly)
    train, _, test = (list(task.read(tasks, part, loaded.tokenizer)) for part in PARTS)
    train = spread(iter(train), examples)
    model = with_head(network, task)
    assert isinstance(model, FineTunedReader)
    n_learning = train_only(model, learning_in(network, task.head, N_LAYERS))
    steps = max(1, epochs * len(train) // BATCH)
    learn(model, train, steps, rate, loss_of(task.kind), HIDES.get(task.kind, 0.0))
    save_task(file_of(name, folder), model)
    found = accuracy(load_task(load_network(), file_of(name, folder)), task.kind, test)
    return {
        "kind": task.kind,
        "train": len(train),
        "epochs": epochs,
        "learning_rate": rate,
        "weights": n_learning,
        "n": found.n,
        "right": round(found.right, 4),
        **({} if (share := counted(name, tasks, len(train), loaded.tokenizer)) is None else {"counted": share}),
    }


def load_network() -> EncoderOnly:
    network = load_model(BERT).model
    assert isinstance(network, EncoderOnly)
    return network


def filled_in(card: str, figures: Mapping[str, Any], folder: Path, **more: Any) -> str:
    """A model card of tasks: its words with the figures filled in."""
    told = {
        name: f"{one['right']:.1%} ± {Accuracy(one['right'], one['n']).standard_error:.1%} of {one['n']:,}"
        for name, one in figures.items()
    }
    megabytes = sum(file.stat().st_size for file in folder.glob("*.safetensors")) / 1e6
    words = (CARDS / card).read_text(encoding="utf-8")
    return words.format(right=told, figures=figures, batch=BATCH, megabytes=megabytes, **more)


def card(figures: Mapping[str, Any], folder: Path) -> str:
    return filled_in("tasks.md", figures, folder, n_layers=N_LAYERS, hides=HIDES)


@dataclass(frozen=True)
class Publishing:
    """A command that fine-tunes a model for each of some tasks and keeps what came of it.

    publish: of a task's name, the folder of the texts, the folder for the weights, examples, epochs, rate, returns its
    figures; card: of all figures and the folder; examples: the most; epochs: times that each is read
    """

    name: str
    about: str | None
    tasks: Collection[str]
    publish: Callable[[str, Path, Path, int, int, float], dict[str, Any]]
    card: Callable[[Mapping[str, Any], Path], str]
    examples: int
    epochs: int
    rate: float

    def run(self, folder: Path) -> int:
        """Returns: the command's exit status"""
        parser = argparse.ArgumentParser(prog=f"python -m training.publish.{self.name}", description=self.about)
        parser.add_argument("tasks", type=Path, help="folder of the tasks' files")
        parser.add_argument("--only", nargs="+", choices=self.tasks, default=[*self.tasks], metavar="TASK")
        parser.add_argument("--examples", type=int, default=self.examples, help="to learn from, of each task")
        parser.add_argument("--epochs", type=int, default=self.epochs, help="times that each example is read")
        parser.add_argument("--rate", type=float, default=self.rate, help="the highest learning rate")
        given = parser.parse_args()
        torch.set_num_threads(1)
        folder.mkdir(parents=True, exist_ok=True)
        metrics = folder / METRICS
        try:
            figures = json.loads(metrics.read_text()) if metrics.exists() else {}
            for name in given.only:
                figures[name] = self.publish(name, given.tasks, folder, given.examples, given.epochs, given.rate)
                metrics.write_text(json.dumps(figures, indent=2) + "\n")
                print(f"{name}: {json.dumps(figures[name])}", flush=True)
            if {*figures} == {*self.tasks}:
                (folder / CARD).write_text(self.card(figures, folder), encoding="utf-8")
        except (OSError, ValueError, UnknownModelError, CheckpointError) as error:
            print(error, file=sys.stderr)
            return 1
        return 0


def main(folder: Path = TASK_HEADS) -> int:
    return Publishing("tasks", __doc__, TASKS, publish, card, EXAMPLES, EPOCHS, RATE).run(folder)


if __name__ == "__main__":
    sys.exit(main())
