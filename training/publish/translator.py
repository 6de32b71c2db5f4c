"""Put a trained model into the app: `python -m training.publish.translator RUN TEST.tsv [NAME]`.

Makes assets/models/NAME (default: translator) from a training run's folder: weights, vocabulary and config; their
scores (metrics.json), what each head looks at (heads.json), and the model card (README.md) with the measured figures.
The card's words come from training/cards/NAME.md. A model of that name is replaced only once all this is there; the
other files of its folder stay.
"""

import argparse
import json
import re
import shutil
from pathlib import Path
from typing import Any

import torch

from experiments.training.training_cost import seconds_with_teachers
from model.decoding.strategies import Beam, Greedy
from model.files.checkpoint import CONFIG, TOKENIZER, WEIGHTS
from model.files.loaded_model import MODELS, TRANSLATOR, LoadedModel, load_folder
from model.files.model_card import FILE as ABOUT
from training.evaluate import evaluate, references
from training.loop.folders import replace_folder
from training.loop.resumable_run import FIGURES
from training.measure import heads

CARDS = Path(__file__).parents[1] / "cards"
METRICS, CARD = "metrics.json", "README.md"


def publish(run: Path, test: Path, name: str = TRANSLATOR, models: Path = MODELS) -> dict[str, Any]:
    """Copy, score and describe; returns what metrics.json holds.

    Raises: ValueError if the name is no plain folder name, or has no card
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(f"{name!r} is no name for a model: use small letters, digits and hyphens")
    words = CARDS / f"{name}.md"
    if not words.exists():
        raise ValueError(f"first write the model card's words in training/cards/{name}.md")
    fresh = models / f"{name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for file in (WEIGHTS, CONFIG, TOKENIZER):
        shutil.copyfile(run / file, fresh / file)
    loaded = load_folder(fresh)
    metrics = {"training": json.loads((run / FIGURES).read_text()), "test": scores(loaded, test)}
    (fresh / METRICS).write_text(json.dumps(metrics, indent=2) + "\n")
    (fresh / CARD).write_text(
        card(words.read_text(encoding="utf-8"), loaded, metrics, fresh / WEIGHTS), encoding="utf-8"
    )
    heads.write(fresh, test)
    keep_others(models / name, fresh)
    replace_folder(fresh, models / name)
    return metrics


def keep_others(former: Path, fresh: Path) -> None:
    """Copy what people wrote about the model, above all about.json, without which the app does not offer it."""
    for path in former.glob("*"):
        if path.is_file() and not (fresh / path.name).exists():
            shutil.copyfile(path, fresh / path.name)
    if not (fresh / ABOUT).exists():
        (fresh / ABOUT).write_text(json.dumps({"title": former.name}) + "\n")


def scores(loaded: LoadedModel, test: Path) -> dict[str, Any]:
    """How well the model translates, by ways to decode and to type."""
    groups = references(test)
    return {
        "data": test.name,
        "beam 4": evaluate(loaded, groups, Beam(4)),
        "greedy": evaluate(loaded, groups, Greedy()),
        "beam 4, as typed": evaluate(loaded, groups, Beam(4), typed=True),
    }


def card(words: str, loaded: LoadedModel, metrics: dict[str, Any], weights: Path) -> str:
    """The model card: its words with the figures filled in."""
    config, training, test = loaded.config, metrics["training"], metrics["test"]
    return words.format(
        parameters=loaded.n_parameters,
        layers=config.n_layers,
        d_model=config.d_model,
        heads=config.n_heads,
        megabytes=weights.stat().st_size / 1e6,
        training=training,
        minutes=seconds_with_teachers(training) / 60,
        how=training.get("how", "by `python -m training.distilled`"),
        beam=test["beam 4"],
        greedy=test["greedy"],
        typed=test["beam 4, as typed"],
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.publish.translator", description=__doc__)
    parser.add_argument("run", type=Path, help="the folder given to training.train as --out")
    parser.add_argument("test", type=Path, help="a file of sentence pairs kept apart for scoring")
    parser.add_argument("name", nargs="?", default=TRANSLATOR, help="folder in assets/models (default: translator)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # sentence by sentence, more would only wait for one another
    print(json.dumps(publish(arguments.run, arguments.test, arguments.name)["test"], indent=2))


if __name__ == "__main__":
    main()
