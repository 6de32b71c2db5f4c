"""Train a model of the family: `python -m training.family NAME --data FILE… --valid FILE… --out FOLDER`.

NAME is tokenizer or a model below. Begin with the tokenizer, which all but in-context share; it
needs no --valid. in-context needs neither --data nor --valid: it draws its own. A .txt FILE holds documents with a
blank line between them; of a .tsv FILE the first column is read. Each model gets a folder of its own in FOLDER, with a
log of its training. Start the same command again after a kill: it goes on from at most a minute before. It runs
unchanged on a CPU, a GPU or several machines (`accelerate launch -m training.family …`).
"""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from accelerate import Accelerator
from rich.console import Console

from model.config import NARROWER, narrow
from model.files.checkpoint import TOKENIZER, CheckpointError
from model.text.tokenizer import MORE_SPECIALS, SPECIALS, Tokenizer
from training.loop.corpus import read_documents
from training.loop.data import NO_VARIATION
from training.loop.objectives import FromExamples, Material, Writing
from training.loop.reading import Reading
from training.loop.recipe import Recipe
from training.loop.resumable_run import Evaluation, Run, Subject
from training.loop.updates import DivergedError, Step
from training.siblings import LOG, Log
from training.train import show

VOCABULARY = "tokenizer"
VOCAB_SIZE = 8000


def recipe(steps: int, batch_tokens: int, peak_learning_rate: float, warmup_steps: int) -> Recipe:
    """What the recipes have in common: plain cross-entropy on the texts as they are."""
    return Recipe(
        steps,
        batch_tokens,
        peak_learning_rate,
        warmup_steps,
        label_smoothing=0.0,
        variation=NO_VARIATION,
    )


RECIPES: dict[str, Recipe] = {
    # Each takes half an hour to an hour of one core of a server of 2026; --steps trains longer.
    "gpt-mini": recipe(3000, 3072, 2e-3, 500),
    "gpt-linear": recipe(3000, 3072, 2e-3, 500),
    "gpt-squeezed": recipe(3000, 3072, 2e-3, 500),
    "lstm": recipe(3000, 3072, 2e-3, 500),  # these as long as gpt-mini, so that they can be compared
    "bert-mini": recipe(7000, 3072, 1e-3, 500),
    **{narrow(width): recipe(3000, 3072, 2e-3, 500) for width in NARROWER},
    "in-context": recipe(8000, 64 * 82, 1e-3, 1000),
}


LEARNERS: dict[str, Callable[[Material], Writing | Reading | FromExamples]] = {
    "gpt-mini": Writing,
    "gpt-linear": Writing,
    "gpt-squeezed": Writing,
    "lstm": Writing,
    **{narrow(width): Writing for width in NARROWER},
    "bert-mini": Reading,
    "in-context": FromExamples,
}


@dataclass(frozen=True)
class FamilyTask:
    """One model of the family to be trained. data, valid: files of text; out: the folder of all of them"""

    name: str
    data: tuple[Path, ...]
    valid: tuple[Path, ...]
    root: Path
    recipe: Recipe
    seed: int = 1

    @property
    def out(self) -> Path:
        return self.root / self.name

    def subject(self, accelerator: Accelerator) -> Subject:
        """Raises: ValueError, naming the file, if it holds no text, or without a tokenizer"""
        return LEARNERS[self.name](self)


def train_tokenizer(data: tuple[Path, ...], root: Path, vocab_size: int = VOCAB_SIZE) -> Tokenizer:
    """The vocabulary that all models of the family share, trained on these files and kept in the folder."""
    root.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.train(read_documents(data), vocab_size, (*SPECIALS, *MORE_SPECIALS))
    unfinished = root / f"{TOKENIZER}.new"
    tokenizer.save(unfinished)
    unfinished.replace(root / TOKENIZER)
    return tokenizer


def records(run: Run, save_every: int) -> Iterator[Step | Evaluation]:
    """The records of a run; its log is kept on the way."""
    log = Log(run.task.out / LOG, run.clock.step)
    for record in run.records(save_every):
        if run.accelerator.is_main_process:
            log.add(record)
        yield record


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.family", description=__doc__)
    parser.add_argument("name", choices=[VOCABULARY, *RECIPES])
    parser.add_argument("--data", nargs="+", type=Path, default=[], help="files to learn from")
    parser.add_argument("--valid", nargs="+", type=Path, default=[], help="files to choose the best weights by")
    parser.add_argument("--out", required=True, type=Path, help="folder for all models of the family")
    parser.add_argument("--steps", type=int, help="end of the schedule; default: the recipe's")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save-every", type=int, default=500, metavar="STEPS", help="validate and save this often")
    parser.add_argument("--threads", type=int, help="processor cores to use; default: all")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    name, data = arguments.name, tuple(arguments.data)
    if not data and name != "in-context":
        parser.error("--data is missing: files to learn from")
    if not arguments.valid and name not in (VOCABULARY, "in-context"):
        parser.error("--valid is missing: files to choose the best weights by")
    try:
        if name == VOCABULARY:
            print(f"{train_tokenizer(data, arguments.out).vocab_size} entries in {arguments.out / TOKENIZER}")
            return 0
        chosen = RECIPES[name]
        if arguments.steps:
            chosen = dataclasses.replace(chosen, steps=arguments.steps)
        run = Run(FamilyTask(name, data, tuple(arguments.valid), arguments.out, chosen, arguments.seed))
        show(records(run, arguments.save_every), chosen.steps, Console(quiet=not run.accelerator.is_main_process))
    except (DivergedError, CheckpointError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
