"""Train a preset: `python -m training.train PRESET DATA… --valid FILE --out FOLDER`.

Runs unchanged on a CPU, a GPU or several machines (`accelerate launch -m training.train …`). Start the same command
again after a kill: it goes on from the last saved state.
"""

import argparse
import dataclasses
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from training.loop.recipe import RECIPES
from training.loop.resumable_run import Evaluation, Run, Task
from training.loop.updates import DivergedError, Step

SHOW_EVERY = 20  # steps


def in_words(evaluation: Evaluation) -> str:
    speed = evaluation.target_tokens / evaluation.seconds
    return (
        f"step {evaluation.step}: validation loss {evaluation.validation_loss:.4f} nats a token, "
        f"epoch {evaluation.epochs:.2f}, {evaluation.seconds / 60:.1f} minutes, {speed:.0f} target tokens a second"
    )


def show(records: Iterable[Step | Evaluation], last_step: int, console: Console) -> None:
    """Run a training to its end, with a progress bar and a line for every evaluation."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        bar = None
        for record in records:
            if bar is None:
                bar = progress.add_task("training", total=last_step, completed=record.step - 1)
                if record.step > 1:
                    console.print(f"going on from step {record.step - 1}")
            if isinstance(record, Evaluation):
                console.print(in_words(record))
            elif record.step % SHOW_EVERY == 0 or record.step == last_step:
                progress.update(bar, completed=record.step, description=f"loss {record.loss:.3f}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.train", description=__doc__)
    parser.add_argument("preset", choices=sorted(RECIPES))
    parser.add_argument(
        "data", nargs="+", type=Path, help="files with one `English<TAB>German` a line, or FILE for FILE.en, FILE.de"
    )
    parser.add_argument(
        "--valid", required=True, type=Path, help="a file of the same form, for choosing the best weights"
    )
    parser.add_argument("--out", required=True, type=Path, help="folder for the model and the state to resume from")
    parser.add_argument("--steps", type=int, help="end of the schedule; default: the recipe's")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save-every", type=int, default=500, metavar="STEPS", help="validate and save this often")
    arguments = parser.parse_args()
    recipe = RECIPES[arguments.preset]
    if arguments.steps:
        recipe = dataclasses.replace(recipe, steps=arguments.steps)
    where = arguments.data, arguments.valid, arguments.out
    task = Task(arguments.preset, *where, recipe, arguments.seed)
    run = Run(task)
    try:
        show(run.records(arguments.save_every), recipe.steps, Console(quiet=not run.accelerator.is_main_process))
    except DivergedError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
