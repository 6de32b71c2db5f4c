"""Train the shipped translator: `python -m training.distilled TRAIN.tsv… --german FILE… --english FILE… --valid FILE
--out FOLDER`.

One stage after the other, each into FOLDER: `german-english` translates German sentences back (`back`); two larger
`teacher`s learn from these pairs too, and translate English sentences together (`forward`); two `student`s of the
translator's size learn from all; the better one goes on without `back` (`again`); in the end its weights are moved
further in the direction in which that moved them (`extrapolated`). That folder is the one to publish.

Start the same command again after a kill: it skips the stages that are finished and goes on within the one that is not.

Source: back: Caswell et al. 2019, "Tagged back-translation"; forward: Kim and Rush 2016, "Sequence-level knowledge
distillation", §3.2; extrapolated: Zheng et al. 2024, "Weak-to-Strong Extrapolation Expedites Alignment"
"""

import argparse
import dataclasses
import functools
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from sacrebleu.metrics.bleu import BLEU
from torch import Tensor
from torch.utils.data import DataLoader

from model.files import checkpoint
from model.files.loaded_model import LoadedModel, load_folder
from training.distilling.beam import translate_by_several
from training.distilling.packed_rows import WIDTH
from training.distilling.packed_run import PackedTask
from training.distilling.synthetic_pairs import chunks, write_pairs
from training.evaluate import grouped, streams
from training.loop.data import NO_VARIATION, epoch_loader, read_pairs, swapped
from training.loop.folders import write_whole
from training.loop.loss import validation_loss
from training.loop.recipe import Recipe
from training.loop.resumable_run import FIGURES, VALIDATION_TOKENS, Run
from training.loop.updates import DivergedError
from training.siblings import copy_vocabulary
from training.train import show

SUMMED = ("steps", "kept_step", "epochs", "target_tokens", "seconds")  # figures of trainings, one after the other
BLEU_OF = "validation_bleu"  # its name in the figures of a finished model: greedy
SHARES = (0.0, 0.3, 0.45, 0.6, 0.7, 0.8, 1.1)  # how much further weights are moved: shares of the way that they went


def recipe_of(steps: int, rows: int, warmup_steps: int, decay_fraction: float, peak: float = 1e-3) -> Recipe:
    return Recipe(steps, rows * WIDTH, peak, warmup_steps, decay_fraction)


@dataclass(frozen=True)
class Training:
    """How a stage trains a model.

    alpha: of R-Drop; parts: in which it differs from the preset; reverse: German is read, English written
    also: stages whose pairs are read too, and in each how-manieth epoch
    starts: stages, of which it goes on from the best
    """

    recipe: Recipe
    seed: int = 1
    alpha: float = 4.0
    parts: Mapping[str, str | int | float] = field(default_factory=dict)
    reverse: bool = False
    also: Mapping[str, int] = field(default_factory=dict)
    starts: tuple[str, ...] = ()


TEACHER = Training(
    recipe_of(6_600, 64, 800, 0.5),
    parts={"d_model": 512, "d_ff": 2048, "n_heads": 8, "n_layers": 4, "norm_place": "pre", "dropout": 0.3},
    also={"back": 3},
)
STUDENT = Training(recipe_of(10_600, 96, 1000, 0.6), also={"forward": 1, "back": 2})
TRAININGS = {
    "german-english": Training(recipe_of(5_150, 96, 500, 0.6), alpha=3.0, reverse=True),
    "teacher-1": TEACHER,
    "teacher-2": dataclasses.replace(TEACHER, seed=2),
    "student-1": STUDENT,
    "student-2": dataclasses.replace(STUDENT, seed=2),
    "again": Training(
        recipe_of(6_334, 96, 300, 0.85, 8e-4), seed=3, also={"forward": 1}, starts=("student-1", "student-2")
    ),
}


# How a stage writes pairs: the models that translate together, and how many translations they keep at every step.
WRITINGS = {"back": (("german-english",), 1), "forward": (("teacher-1", "teacher-2"), 4)}
LAST = "extrapolated"
STAGES = ("german-english", "back", "teacher-1", "teacher-2", "forward", "student-1", "student-2", "again", LAST)


@dataclass(frozen=True)
class Project:
    """What the command is given. real: files of pairs; german, english: of sentences; steps_scale: 1 trains in full."""

    real: Sequence[Path]
    german: Sequence[Path]
    english: Sequence[Path]
    valid: Path
    out: Path
    steps_scale: float = 1.0

    def result(self, stage: str) -> Path:
        """The file that is there once a stage is finished; that of a model is there before, too."""
        return self.out / f"{stage}.tsv" if stage in WRITINGS else self.out / stage / FIGURES

    def figures(self, stage: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.result(stage).read_text(encoding="utf-8"))
        return found

    def is_finished(self, stage: str) -> bool:
        return self.result(stage).exists() and (stage in WRITINGS or BLEU_OF in self.figures(stage))

    def missing(self, stage: str) -> list[str]:
        """The stages that one builds on and that are not finished."""
        if training := TRAININGS.get(stage):
            needs = (*training.also, *training.starts)
        else:
            needs = WRITINGS[stage][0] if stage in WRITINGS else ("again",)
        return [need for need in needs if not self.is_finished(need)]

    def bleu(self, models: Sequence[LoadedModel], reverse: bool = False) -> float:
        """Of greedy translations of the validation sentences, each beside all its references."""
        pairs = read_pairs([self.valid])
        groups = grouped(swapped(pairs) if reverse else pairs)
        written = translate_by_several(models, list(groups), 1)
        return round(BLEU().corpus_score(written, streams(list(groups.values()))).score, 2)

    def task(self, stage: str) -> PackedTask:
        one = TRAININGS[stage]
        steps, warmup = (max(1, round(n * self.steps_scale)) for n in (one.recipe.steps, one.recipe.warmup_steps))
        best = max(one.starts, key=lambda start: self.figures(start)[BLEU_OF], default=None)
        return PackedTask(
            "base",
            self.real,
            self.valid,
            self.out / stage,
            dataclasses.replace(one.recipe, steps=steps, warmup_steps=warmup),
            one.seed,
            one.parts,
            one.reverse,
            also={self.result(name): every for name, every in one.also.items()},
            alpha=one.alpha,
            start=self.out / best if best else None,
        )


def note(path: Path, figures: Mapping[str, Any]) -> None:
    write_whole(path, json.dumps(figures, indent=2) + "\n")


def train(project: Project, stage: str, console: Console) -> None:
    """Train the model of a stage to its end; the last weights are kept. Raises: DivergedError"""
    task = project.task(stage)
    copy_vocabulary(task.out)
    show(Run(task).records(save_every=task.recipe.steps), task.recipe.steps, console)
    bleu = project.bleu([load_folder(task.out)], task.reverse)
    note(project.result(stage), {**project.figures(stage), BLEU_OF: bleu})


def write(project: Project, stage: str, console: Console) -> None:
    """Write the pairs of a stage: of the German sentences, or of all English ones, those of the real pairs included."""
    names, beams = WRITINGS[stage]
    files = project.german if stage == "back" else [*project.real, *project.english]
    translate = functools.partial(
        translate_by_several, [load_folder(project.out / name) for name in names], beams=beams
    )
    work = write_pairs(stage, translate, files, project.result(stage))
    for _ in track(work, "writing", total=sum(1 for _ in chunks(files)), console=console):
        pass


def moved_on(begin: Mapping[str, Tensor], end: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """Weights beyond `end`, by a share of the way from `begin`, rounded as they will be saved.

    Source: Zheng et al. 2024 (ExPO): θ₁ + α(θ₁ − θ₀). Differs: their way leads from fine-tuned weights to aligned ones
    """
    return {name: (w + share * (w - begin[name])).half().float() for name, w in end.items()}


def extrapolate(project: Project, stage: str, console: Console) -> None:
    """Move the weights of `again` as far on as does best on the validation sentences.

    Their figures are sums over both trainings that they went through; beside them stand those of all stages.
    """
    again, started = project.figures("again"), project.figures(project.figures("again")["start"])
    begin, end = (
        checkpoint.load_weights(project.out / name / checkpoint.WEIGHTS) for name in (again["start"], "again")
    )
    loaded, bleu = load_folder(project.out / "again"), {}
    for share in SHARES:
        loaded.model.load_state_dict(moved_on(begin, end, share))
        bleu[share] = project.bleu([loaded])
        console.print(f"moved on by {share}: BLEU {bleu[share]}")
    best = max(bleu, key=bleu.__getitem__)
    loaded.model.load_state_dict(moved_on(begin, end, best))
    checkpoint.save(project.out / stage, loaded.config, loaded.tokenizer, loaded.model.state_dict())
    told = ("parts", "steps", "seconds", "pairs", "batches", "hardware", BLEU_OF)
    figures = {
        **again,
        **{name: round(started[name] + again[name], 2) for name in SUMMED},
        "batches": {name: n + again["batches"][name] for name, n in started["batches"].items()},
        "also": {**started["also"], **again["also"]},
        "validation_loss": round(validation_loss(loaded.model, validation_batches(project.valid, loaded)), 4),
        "moved_on": {"share": best, "bleu": bleu},
        "teachers": [name for names, _ in WRITINGS.values() for name in names],
        "stages": {name: {key: project.figures(name)[key] for key in told} for name in TRAININGS},
        BLEU_OF: bleu[best],
    }
    note(project.result(stage), figures)


def validation_batches(valid: Path, loaded: LoadedModel) -> DataLoader[Any]:
    pairs, max_len = read_pairs([valid]), loaded.config.max_len
    return epoch_loader(pairs, loaded.tokenizer, VALIDATION_TOKENS, NO_VARIATION, 0, 0, max_len)


WORK = {**dict.fromkeys(TRAININGS, train), **dict.fromkeys(WRITINGS, write), LAST: extrapolate}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.distilled", description=__doc__)
    parser.add_argument("data", nargs="+", type=Path, help="files with one `English<TAB>German` a line")
    parser.add_argument("--german", required=True, nargs="+", type=Path, help="files with a German sentence a line")
    parser.add_argument("--english", required=True, nargs="+", type=Path, help="files with an English sentence a line")
    parser.add_argument(
        "--valid", required=True, type=Path, help="pairs that were kept apart, to measure each stage by"
    )
    parser.add_argument("--out", required=True, type=Path, help="folder for all stages")
    parser.add_argument("--only", nargs="+", choices=STAGES, metavar="STAGE", help=f"of {', '.join(STAGES)}")
    parser.add_argument("--steps-scale", type=float, default=1.0, help="of each training: 0.1 trains a tenth as long")
    given = parser.parse_args()
    project = Project(given.data, given.german, given.english, given.valid, given.out, given.steps_scale)
    console = Console()
    project.out.mkdir(parents=True, exist_ok=True)
    for stage in given.only or STAGES:
        if not project.is_finished(stage):
            if missing := project.missing(stage):
                print(f"{stage} builds on stages that are not finished: {', '.join(missing)}", file=sys.stderr)
                return 1
            console.print(stage)
            try:
                WORK[stage](project, stage, console)
            except DivergedError as error:
                print(f"{stage}: {error}", file=sys.stderr)
                return 1
        end = f"BLEU {project.figures(stage)[BLEU_OF]}" if stage not in WRITINGS else project.result(stage)
        console.print(f"{stage} is finished: {end}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
