"""Put the trained family into the app: `python -m training.publish.family RUNS --train FILE… --test FILE…`.

RUNS is the folder that was given to training.family, training.descendants and training.denoising. Each model that is
finished gets a folder in assets/models: weights, config, the log of its training, its figures (metrics.json) and a
card. gpt-mini's folder holds the vocabulary that all others but in-context share, so it comes first. Run it again when
more are finished; other files of a folder stay. The cards carry the figures of `training.measure.family`, and of
BART and T5 those of `training.measure.denoising`.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from model.config import NARROWER, narrow
from model.files.checkpoint import CONFIG, TOKENIZER, WEIGHTS, CheckpointError, load_tokenizer
from model.files.load_special_models import IN_CONTEXT
from model.files.loaded_model import MODELS
from model.files.model_card import FILE as ABOUT
from training.denoising import BART, LEARNERS, T5
from training.family import RECIPES
from training.loop.folders import replace_folder
from training.loop.resumable_run import FIGURES
from training.measure import denoising
from training.measure.family import Texts, load_network, measure
from training.publish.siblings import is_finished, write
from training.publish.translator import CARD, CARDS, METRICS, keep_others
from training.siblings import LOG

FIRST = "gpt-mini"
ELECTRA = "electra-mini"
# What the app says of those that its pages can open by name; the two others are asked for by their lessons.
ABOUTS: dict[str, dict[str, Any]] = {
    FIRST: {
        "title": "A small GPT",
        "called": "GPT",
        "unlike": "nonsense from GPT",
        "source": "English",
        "target": "English",
        "language": "en",
    },
    "gpt-linear": {
        "title": "A small GPT with linear attention",
        "called": "this GPT",
        "unlike": "nonsense from this GPT",
        "source": "English",
        "target": "English",
        "language": "en",
        "vocabulary_of": FIRST,
    },
    "bert-mini": {
        "title": "A small BERT",
        "called": "BERT",
        "unlike": "wrong guesses from BERT",
        "vocabulary_of": FIRST,
    },
}
# The siblings of bert-mini that the app needs: their titles, what they are called, and in what they differ.
DESCENDANTS = {
    "distilled": (
        "A student of the small BERT",
        "this BERT",
        "two layers that began as its first and third, taught by it on texts alone, no pairs (Sanh et al. 2019)",
    ),
    "untaught": (
        "The student without a teacher",
        "this BERT",
        "two layers that began as its first and third, and learned from texts alone, no pairs",
    ),
    "albert-mini": (
        "A small ALBERT",
        "this ALBERT",
        "one layer used four times, and 64 numbers a piece in the vocabulary's table (ALBERT, Lan et al. 2019)",
    ),
}
ABOUTS |= {
    name: {"title": title, "called": called, "unlike": f"wrong guesses from {called}", "vocabulary_of": FIRST}
    for name, (title, called, _) in DESCENDANTS.items()
}
ABOUTS |= {
    ELECTRA: {
        "title": "A small ELECTRA",
        "called": "ELECTRA",
        "unlike": "suspicion from ELECTRA",
        "vocabulary_of": FIRST,
    },
    BART: {"title": "A small BART", "called": "BART", "unlike": "another text from BART", "vocabulary_of": FIRST},
    T5: {"title": "A small T5", "called": "T5", "unlike": "wrong words from T5", "vocabulary_of": FIRST},
}
ABOUTS |= {
    narrow(width): {
        "title": f"A GPT of width {width}",
        "called": "this GPT",
        "unlike": "nonsense from this GPT",
        "source": "English",
        "target": "English",
        "language": "en",
        "vocabulary_of": FIRST,
    }
    for width in NARROWER
}
NOT_SHIPPED = "gpt-squeezed"  # `training.measure.patterns` measures it where it was trained
NAMES = (*(name for name in RECIPES if name != NOT_SHIPPED), *DESCENDANTS, ELECTRA, *LEARNERS)


def publish(
    name: str, runs: Path, texts: Texts | None, models: Path = MODELS, tasks: Path | None = None
) -> dict[str, Any]:
    """Copy, measure and describe one of the family; returns what metrics.json holds. tasks: T5 alone needs them

    Raises: ValueError if gpt-mini, whose vocabulary it shares, is not there or has another one; CheckpointError
    """
    run, fresh = runs / name, models / f"{name}.new"
    shared = models / FIRST / TOKENIZER
    if name not in (FIRST, IN_CONTEXT):
        if not shared.exists():
            raise ValueError(f"first publish {FIRST}, whose vocabulary {name} shares")
        if shared.read_bytes() != (runs / TOKENIZER).read_bytes():
            raise ValueError(f"{name} was trained with another vocabulary than that of {shared.parent}")
    metrics = {
        "training": json.loads((run / FIGURES).read_text()),
        "parameters": sum(p.numel() for p in load_network(run).parameters()),
        "test": denoising.measure(run, texts, tasks) if name in LEARNERS else measure(run, texts),
    }
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for file in (WEIGHTS, CONFIG, LOG):
        shutil.copyfile(run / file, fresh / file)
    if name == FIRST:
        shutil.copyfile(runs / TOKENIZER, fresh / TOKENIZER)
    write(fresh / METRICS, metrics)
    (fresh / CARD).write_text(card(name, metrics, fresh), encoding="utf-8")
    if (models / name).exists():
        keep_others(models / name, fresh)
    if name in ABOUTS and not (models / name / ABOUT).exists():
        write(fresh / ABOUT, ABOUTS[name])
    if name not in ABOUTS:  # no page could open it by its name
        (fresh / ABOUT).unlink(missing_ok=True)
    replace_folder(fresh, models / name)
    return metrics


def card(name: str, metrics: Mapping[str, Any], folder: Path) -> str:
    """The model card: its own words and those that the family shares, with the figures filled in."""
    *_, differs = DESCENDANTS.get(name, ("",))
    shared = "descendant" if differs else "gpt-narrow" if name in map(narrow, NARROWER) else name
    words = (CARDS / f"{shared}.md").read_text(encoding="utf-8")
    data = (CARDS / "family-data.md").read_text(encoding="utf-8")
    return words.replace("{data_of_the_family}\n", data).format(
        differs=differs,
        parameters=metrics["parameters"],
        megabytes=(folder / WEIGHTS).stat().st_size / 1e6,
        config=json.loads((folder / CONFIG).read_text()),
        training=metrics["training"],
        hours=metrics["training"]["seconds"] / 3600,
        test=metrics["test"],
    )


def main(models: Path = MODELS) -> int:
    parser = argparse.ArgumentParser(prog="python -m training.publish.family", description=__doc__)
    parser.add_argument("runs", type=Path, help="the folder given to training.family as --out")
    parser.add_argument("--train", nargs="+", type=Path, default=[], help="what was learned from, for counting")
    parser.add_argument("--test", nargs="+", type=Path, default=[], help="files kept apart")
    parser.add_argument("--tasks", type=Path, help=f"folder of the tasks that {T5} learned")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help="of those that are finished")
    parser.add_argument("--unfinished", action="store_true", help="take the best weights of those under way, too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    names: Sequence[str] = arguments.only or NAMES
    try:
        texts = None
        if {*names} != {IN_CONTEXT}:
            texts = Texts(load_tokenizer(arguments.runs), arguments.train, arguments.test)
        for name in names:
            run = arguments.runs / name
            if is_finished(run) or (arguments.unfinished and (run / FIGURES).exists()):
                metrics = publish(name, arguments.runs, texts, models, arguments.tasks)
                print(f"{name}: {json.dumps(metrics['test'])}", flush=True)
            else:
                print(f"{name} is not finished")
    except (CheckpointError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
