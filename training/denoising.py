"""Train a small BART and a small T5: `python -m training.denoising --data FILE… --valid FILE… --tasks FOLDER
--out FOLDER`.

The last FOLDER holds the vocabulary, tokenizer.json, and gets a folder for each, with a log of its training. The texts
are those of `training.family`; the tasks, which T5 alone learns, those of `training.loop.tasks`. Start the same command
again after a kill: it skips what is finished and goes on from at most a minute before.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from accelerate import Accelerator

from training.descendants import begun, parser_of, train_each
from training.family import FamilyTask, recipe
from training.loop.restoring import Restoring, TextToText

BART, T5 = "bart-mini", "t5-mini"
LEARNERS = {BART: Restoring, T5: TextToText}
# BART takes half an hour of one core of a server of 2026 that multiplies bfloat16, else up to three times as long. T5
# begins as BART, so it takes a few minutes; its few steps are averaged over fewer.
RECIPES = {BART: recipe(5000, 3072, 1e-3, 500), T5: replace(recipe(1300, 3072, 1e-3, 100), average_decay=0.99)}


@dataclass(frozen=True)
class Denoising(FamilyTask):
    """One of the two to be trained. tasks: the folder of the tasks; BART needs none"""

    tasks: Path | None = None

    def subject(self, accelerator: Accelerator) -> Restoring:
        return LEARNERS[self.name](self)


def main() -> int:
    parser = parser_of("denoising", __doc__, LEARNERS)
    parser.add_argument("--tasks", type=Path, help=f"folder of the tasks that {T5} learns")
    given = begun(parser)
    names = given.only or [*LEARNERS]
    if T5 in names and not given.tasks:
        parser.error(f"--tasks is missing: the folder of the tasks that {T5} learns")
    files = tuple(given.data), tuple(given.valid), given.out
    return train_each(Denoising(name, *files, RECIPES[name], tasks=given.tasks) for name in names)


if __name__ == "__main__":
    sys.exit(main())
