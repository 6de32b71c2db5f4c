"""Train siblings of bert-mini: `python -m training.descendants --data FILE… --valid FILE… --out FOLDER`.

FOLDER holds the vocabulary, tokenizer.json, and gets a folder for each sibling, with a log of its training. The texts
are those of `training.family`. Start the same command again after a kill: it skips those that are finished and goes on
from at most a minute before.
"""

import argparse
import dataclasses
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from accelerate import Accelerator
from rich.console import Console

from model.files.checkpoint import CheckpointError
from model.files.loaded_model import MODELS
from training.family import RECIPES, FamilyTask, records
from training.loop.reading import BERT, PRESET, Reading, Way
from training.loop.recipe import Recipe
from training.loop.replacing import Replacing
from training.loop.resumable_run import Run
from training.loop.updates import DivergedError
from training.publish.siblings import is_finished
from training.train import show

BASE = RECIPES[PRESET]
SAVE_EVERY = 500  # steps
PART, PASSES_STEPS = 24, 3500  # one document of so many is read about 20 times in so many steps
TEACHER = MODELS / PRESET
SMALL = {"d_model": 128, "d_ff": 512, "n_layers": 2}  # so that each of the four trains in less than an hour
N_STUDENT, STUDENTS_STEPS = {"n_layers": 2}, 4000  # it begins as its teacher's layers, and so has less to learn
ELECTRAS_STEPS = 1000  # it begins as bert-mini


@dataclass(frozen=True)
class Sibling:
    """way: how it learns; seed; steps, average_decay: where its recipe is shorter than bert-mini's"""

    way: Way = BERT
    seed: int = 1
    steps: int = BASE.steps
    average_decay: float = BASE.average_decay

    @property
    def recipe(self) -> Recipe:
        return dataclasses.replace(BASE, steps=self.steps, average_decay=self.average_decay)


def again(in_pairs: bool, new_blanks: bool) -> Sibling:
    """Of the four after RoBERTa (Liu et al. 2019, §4): the same rows pass after pass, with or without neighbours to
    tell, with the same blanks or new ones. No pair is two single sentences: nearly all rows are long with pairs, too.
    """
    way = Way(SMALL, in_pairs=in_pairs, single=0.0, new_rows=False, new_blanks=new_blanks, one_of=PART)
    return Sibling(way, steps=PASSES_STEPS)


def on_from_bert(way: Way) -> Sibling:
    """Of two that begin as bert-mini and go on: one learns from swaps, the other from blanks, as before."""
    return Sibling(way, steps=ELECTRAS_STEPS, average_decay=0.99)  # of so few, not of the first


SIBLINGS: dict[str, Sibling] = {
    "bert-2": Sibling(seed=2),
    "bert-3": Sibling(seed=3),
    "roberta-pairs-static": again(in_pairs=True, new_blanks=False),
    "roberta-pairs-dynamic": again(in_pairs=True, new_blanks=True),
    "roberta-texts-static": again(in_pairs=False, new_blanks=False),
    "roberta-texts-dynamic": again(in_pairs=False, new_blanks=True),
    "distilled": Sibling(Way(N_STUDENT, in_pairs=False, teacher=TEACHER, is_taught=True), steps=STUDENTS_STEPS),
    "untaught": Sibling(Way(N_STUDENT, in_pairs=False, teacher=TEACHER), steps=STUDENTS_STEPS),
    "electra-mini": on_from_bert(Way({"family": "discriminator"}, in_pairs=False, teacher=TEACHER)),
    "bert-longer": on_from_bert(Way(in_pairs=False, teacher=TEACHER)),
    "albert-mini": Sibling(Way({"d_embedding": 64, "shares_layers": True})),
}


@dataclass(frozen=True)
class Descent(FamilyTask):
    """One sibling to be trained; its name is that of its folder."""

    way: Way = BERT

    def subject(self, accelerator: Accelerator) -> Reading:
        return (Replacing if "family" in self.way.parts else Reading)(self, self.way)


def task_of(name: str, data: Sequence[Path], valid: Sequence[Path], root: Path) -> Descent:
    one = SIBLINGS[name]
    return Descent(name, tuple(data), tuple(valid), root, one.recipe, one.seed, one.way)


def parser_of(command: str, description: str | None, names: Iterable[str]) -> argparse.ArgumentParser:
    """What a command that trains several of the family takes."""
    parser = argparse.ArgumentParser(prog=f"python -m training.{command}", description=description)
    parser.add_argument("--data", nargs="+", type=Path, required=True, help="files to learn from")
    parser.add_argument("--valid", nargs="+", type=Path, required=True, help="files to choose the best weights by")
    parser.add_argument("--out", required=True, type=Path, help="folder for all of them")
    parser.add_argument("--only", nargs="+", choices=[*names], metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--threads", type=int, help="processor cores to use; default: all")
    return parser


def begun(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """What was typed; the processor's cores are set by it."""
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    return given


def train_each(tasks: Iterable[FamilyTask]) -> int:
    """Train one after the other, but for those that are finished. Returns: the command's exit status"""
    console, n_failed = Console(), 0
    for task in tasks:
        if is_finished(task.out):
            console.print(f"{task.name} is finished")
            continue
        try:
            show(records(Run(task), SAVE_EVERY), task.recipe.steps, console)
        except (DivergedError, CheckpointError, ValueError, OSError) as error:
            print(f"{task.name}: {error}", file=sys.stderr)
            n_failed += 1
    return 1 if n_failed else 0


def main() -> int:
    given = begun(parser_of("descendants", __doc__, SIBLINGS))
    return train_each(task_of(name, given.data, given.valid, given.out) for name in given.only or SIBLINGS)


if __name__ == "__main__":
    sys.exit(main())
