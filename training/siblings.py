"""Train small translators that differ in one part each: `python -m training.siblings DATA… --valid FILE --out FOLDER`.

All have the translator's vocabulary, one recipe and, but for the plain ones with another seed, the same seed. If one
version of `training.loop.data` trains them, they have the same batches in the same order, too. Of those that come with
the app, the ones with other attention or experts were trained last: their batches hold other pairs, in all as many.

Each gets a folder of its own in FOLDER, with a log of its training for curves.
Start the same command again after a kill: it skips those that are finished and goes on from at most a minute before.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from model.files import checkpoint
from training.loop.recipe import RECIPES
from training.loop.resumable_run import FIGURES, Evaluation, Run, Task
from training.loop.updates import DivergedError, Step
from training.train import show

PRESET = "sibling"
EVALUATE_EVERY = 500  # steps
LOG, LOG_EVERY = "log.json", 10  # steps
BALANCE = 0.01  # α of Fedus et al. 2021, §2.2
SNAPSHOT_STEPS = (0, 50, 100, 200, 400, 700, 1000, 1500, 2000, 3000, 5000)  # and the last


@dataclass(frozen=True)
class Sibling:
    """One of the small translators.

    parts: in which it differs from the plain one; has_snapshots: how it was before
    balance: how much it counts in its training that experts do unequal shares of the work
    """

    parts: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1
    has_snapshots: bool = False
    balance: float = 0.0


def siblings() -> dict[str, Sibling]:
    """All by name, in the order in which they are trained."""
    one_part = {
        "positions": ("learned", "relative", "rotary", "alibi", "none"),
        "norm_place": ("pre", "sandwich", "deep"),
        "norm": ("rms",),
        "activation": ("gelu", "gelu_tanh", "silu", "swiglu", "geglu"),
        "attention": ("grouped_query", "multi_query", "latent"),
    }
    named = {
        f"{part}-{kind}".replace("_", "-"): Sibling({part: kind}) for part, kinds in one_part.items() for kind in kinds
    }
    return {
        "plain-1": Sibling(has_snapshots=True),
        **named,
        "experts-balanced": Sibling({"feed_forward": "experts"}, balance=BALANCE),
        "experts-free": Sibling({"feed_forward": "experts"}),
        "experts-two": Sibling({"feed_forward": "experts_top_2"}, balance=BALANCE),
        "plain-2": Sibling(seed=2),
        "plain-3": Sibling(seed=3),
    }


SIBLINGS = siblings()


class Log:
    """What can be drawn of a training: loss, length of the gradient and learning rate at some steps, and validation.

    Written whenever something is added, so that it is never behind the saved state of the run.

    step: the run goes on from here; what was written of later steps is dropped, since they are made again
    """

    def __init__(self, path: Path, step: int) -> None:
        self.path = path
        rows: dict[str, list[dict[str, Any]]] = json.loads(path.read_text()) if path.exists() else {}
        self.rows = {
            name: [row for row in rows.get(name, []) if row["step"] <= step] for name in ("steps", "validation")
        }

    def add(self, record: Step | Evaluation) -> None:
        if isinstance(record, Evaluation):
            row = {"step": record.step, "loss": record.validation_loss}
            self.rows["validation"].append(row)
        elif record.step % LOG_EVERY == 0 or record.step == 1:
            names = ("loss", "gradient_norm", "learning_rate")
            rounded = {name: float(f"{getattr(record, name):.5g}") for name in names}
            self.rows["steps"].append({"step": record.step, **rounded})
        else:
            return
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self.rows))
        fresh.rename(self.path)


def task_of(name: str, data: Sequence[Path], valid: Path, out: Path) -> Task:
    sibling = SIBLINGS[name]
    return Task(PRESET, data, valid, out / name, RECIPES[PRESET], sibling.seed, sibling.parts, balance=sibling.balance)


def is_finished(task: Task) -> bool:
    path = task.out / FIGURES
    return path.exists() and json.loads(path.read_text())["steps"] >= task.recipe.steps


def records(run: Run, has_snapshots: bool) -> Iterator[Step | Evaluation]:
    """The records of a run; its log and snapshots are kept on the way.

    A snapshot holds the weights as they are at a step, not their running average, which would lag behind.
    """
    folder, steps = run.task.out, {*SNAPSHOT_STEPS, run.task.recipe.steps} if has_snapshots else set()

    def keep_snapshot(step: int) -> None:
        if step in steps:
            (folder / checkpoint.SNAPSHOTS).mkdir(exist_ok=True)
            checkpoint.save_weights(folder / checkpoint.snapshot(step), run.learner.model.state_dict())

    log = Log(run.task.out / LOG, run.clock.step)
    if run.clock.step == 0:
        keep_snapshot(0)
    for record in run.records(EVALUATE_EVERY):
        log.add(record)
        if isinstance(record, Step):
            keep_snapshot(record.step)
        yield record


def copy_vocabulary(out: Path) -> None:
    """Let a run keep the translator's vocabulary."""
    out.mkdir(parents=True, exist_ok=True)
    vocabulary = out / checkpoint.TOKENIZER
    if not vocabulary.exists():
        shutil.copyfile(checkpoint.SHIPPED / checkpoint.TOKENIZER, unfinished := vocabulary.with_suffix(".new"))
        unfinished.rename(vocabulary)


def train(name: str, task: Task, console: Console) -> None:
    """Train one sibling to its end. Raises: DivergedError"""
    console.print(f"{name}: {task.parts or 'plain'}, seed {task.seed}")
    copy_vocabulary(task.out)
    show(records(Run(task), SIBLINGS[name].has_snapshots), task.recipe.steps, console)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.siblings", description=__doc__)
    parser.add_argument("data", nargs="+", type=Path, help="files with one `English<TAB>German` a line")
    parser.add_argument(
        "--valid", required=True, type=Path, help="a file of the same form, for choosing the best weights"
    )
    parser.add_argument("--out", required=True, type=Path, help="folder for all of them")
    parser.add_argument("--only", nargs="+", choices=SIBLINGS, metavar="NAME", help=f"of {', '.join(SIBLINGS)}")
    arguments = parser.parse_args()
    console, n_diverged = Console(), 0
    for name in arguments.only or SIBLINGS:
        task = task_of(name, arguments.data, arguments.valid, arguments.out)
        if is_finished(task):
            console.print(f"{name} is finished")
            continue
        try:
            train(name, task, console)
        except DivergedError as error:
            print(f"{name}: {error}", file=sys.stderr)
            n_diverged += 1
    return 1 if n_diverged else 0


if __name__ == "__main__":
    sys.exit(main())
