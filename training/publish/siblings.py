"""Put trained siblings into the app: `python -m training.publish.siblings RUNS TEST.tsv [--only NAME…]`.

RUNS is the folder that was given to training.siblings. Each sibling that is finished gets a folder in assets/models:
weights, config, the log of its training, its snapshots, its scores (metrics.json) and a card. The vocabulary stays with
the translator, whose it is. Run it again when more are finished; other files of a folder stay.

How fast they write is measured by itself, on a machine with nothing else to do: `--speed` does that alone, for all that
are in the app. Both print at the end what README.md has to say.
"""

import argparse
import json
import shutil
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from experiments.training.siblings import DIFFERS, METRICS, SPEED, Sibling, load_siblings
from model.decoding.strategies import Greedy
from model.files.checkpoint import CONFIG, SNAPSHOTS, TOKENIZER, WEIGHTS
from model.files.loaded_model import MODELS, TRANSLATOR, LoadedModel, load_folder, sibling_names
from model.files.model_card import FILE as ABOUT
from model.translate import translate
from training.evaluate import evaluate, references
from training.loop.data import read_pairs
from training.loop.folders import replace_folder
from training.loop.resumable_run import FIGURES
from training.measure.longer_texts import N_TEXTS, SEED, losses
from training.publish.translator import CARD, CARDS, keep_others
from training.siblings import LOG, SIBLINGS

ROUNDS, SENTENCES, FEW = 5, 100, 5  # of a measurement of speed; sentences at a time
FIRST = "plain-1"  # all speeds are divided by its speed


def is_finished(run: Path) -> bool:
    if not (run / FIGURES).exists():
        return False
    training = json.loads((run / FIGURES).read_text())
    return bool(training["steps"] >= training["recipe"]["steps"])


def publish(name: str, run: Path, test: Path, models: Path = MODELS) -> dict[str, Any]:
    """Copy, score and describe one sibling; returns what metrics.json holds.

    Raises: ValueError if it was trained with another vocabulary than the translator's
    """
    if (run / TOKENIZER).read_bytes() != (models / TRANSLATOR / TOKENIZER).read_bytes():
        raise ValueError(f"{name} was trained with another vocabulary than that of {models / TRANSLATOR}")
    fresh = models / f"{name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for file in (WEIGHTS, CONFIG, LOG):
        shutil.copyfile(run / file, fresh / file)
    if (run / SNAPSHOTS).exists():
        shutil.copytree(run / SNAPSHOTS, fresh / SNAPSHOTS, copy_function=shutil.copyfile)
    write(fresh / ABOUT, {"title": f"A small translator: {DIFFERS[name]}", "vocabulary_of": TRANSLATOR})
    loaded = load_folder(fresh)
    metrics = {
        "training": json.loads((run / FIGURES).read_text()),
        "parameters": loaded.n_parameters,
        "test": {"data": test.name, "greedy": evaluate(loaded, references(test), Greedy())},
        "longer": {"data": test.name, "texts": N_TEXTS, "seed": SEED, "loss": losses(loaded, read_pairs([test]))},
    }
    write(fresh / METRICS, metrics)
    (fresh / CARD).write_text(card(name, loaded, metrics, fresh / WEIGHTS), encoding="utf-8")
    keep_others(models / name, fresh)
    replace_folder(fresh, models / name)
    return metrics


def write(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def card(name: str, loaded: LoadedModel, metrics: Mapping[str, Any], weights: Path) -> str:
    """The model card: the words that all siblings share, with the figures of this one."""
    config, training, (near, *_, far) = loaded.config, metrics["training"], metrics["longer"]["loss"].items()
    longer = f"{far[1]} at positions {far[0]}" if far[1] else f"none at {far[0]}, where it has no positions"
    return (CARDS / "sibling.md").read_text(encoding="utf-8").format(
        differs=DIFFERS[name],
        parameters=metrics["parameters"],
        layers=config.n_layers,
        d_model=config.d_model,
        heads=config.n_heads,
        megabytes=weights.stat().st_size / 1e6,
        training=training,
        minutes=training["seconds"] / 60,
        test=metrics["test"]["greedy"],
        longer=f"On test sentences joined to longer texts its loss is {near[1]} at positions {near[0]}, {longer}.",
        max_len=config.max_len,
    )  # fmt: skip


def speeds(
    models: Mapping[str, Callable[[], LoadedModel]], sentences: Sequence[str], rounds: int = ROUNDS
) -> dict[str, float]:
    """Tokens that each model writes in a second of the processor, over those that FIRST writes right before of the same
    few sentences: the median. A machine may be a fifth faster or slower from one second to the next.

    Where in memory its weights happen to lie makes a model a tenth faster or slower, so each is loaded for each round.
    """
    ratios: dict[str, list[float]] = {name: [1.0] if name == FIRST else [] for name in models}
    for _ in range(rounds):
        for name in models.keys() - {FIRST}:
            first, other = models[FIRST](), models[name]()
            for at in range(0, len(sentences), FEW):
                few = sentences[at : at + FEW]
                before = speed(first, few)
                ratios[name].append(speed(other, few) / before)
    return {name: round(statistics.median(many), 3) for name, many in ratios.items()}


def speed(loaded: LoadedModel, sentences: Sequence[str]) -> float:
    """Tokens of greedy translations a second."""
    started = time.process_time()
    written = [translate(loaded, sentence, Greedy()) for sentence in sentences]
    seconds = time.process_time() - started
    return sum(len(ids) + 1 for ids in loaded.tokenizer.encode_batch(written)) / seconds  # 1 for `<eos>`


def measure_speed(test: Path, models: Path = MODELS) -> dict[str, Any]:
    """Measure all siblings that are in the app, and write speed.json; returns what it holds."""
    loaded = {name: partial(load_folder, models / name) for name in sibling_names(models)}
    sentences = list(references(test, SENTENCES))
    figures = {"rounds": ROUNDS, "sentences": len(sentences), "ratios": speeds(loaded, sentences)}
    write(models / SPEED, figures)
    return figures


def readme_rows(siblings: Sequence[Sibling]) -> list[str]:
    """What README.md says of them: lines of its table of figures."""
    plain = [one for one in siblings if one.is_plain]
    others = {one.name: one.bleu for one in siblings if not one.is_plain}
    speed = {one.name: one.speed for one in siblings if one.speed}
    rows: list[tuple[str, str, str]] = []
    if plain:
        bleu, loss = sorted(one.bleu for one in plain), sorted(one.loss for one in plain)
        measured = f"{bleu[0]:.1f} to {bleu[-1]:.1f}; {loss[0]:.3f} to {loss[-1]:.3f}"
        rows += [(f"the siblings, greedy: BLEU and validation loss of the plain ones ({len(plain)})", measured, "")]
    if others:
        rows += [(f"BLEU of the others ({len(others)}): lowest and highest", lowest_and_highest(others, 1), "")]
        far = list(siblings[0].longer)[-1]
        losses = {one.name: reached for one in siblings if (reached := one.longer.get(far)) is not None}
        rows += [(f"loss of all at positions {far}: lowest and highest", lowest_and_highest(losses, 2), "")]
    if speed:
        what = f"pieces all write in a second, {FIRST} = 1: lowest and highest"
        rows += [(what, lowest_and_highest(speed, 2), " --speed")]
    command = "python -m training.publish.siblings RUNS TEST.tsv"
    return [f"| {what} | {measured} | `{command}{flag}` |" for what, measured, flag in rows]


def lowest_and_highest(values: Mapping[str, float], digits: int) -> str:
    ranked = sorted(values, key=values.__getitem__)
    return ", ".join(f"{name} {values[name]:.{digits}f}" for name in dict.fromkeys((ranked[0], ranked[-1])))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.publish.siblings", description=__doc__)
    parser.add_argument("runs", type=Path, help="the folder given to training.siblings as --out")
    parser.add_argument("test", type=Path, help="a file of sentence pairs kept apart for scoring")
    parser.add_argument("--only", nargs="+", choices=SIBLINGS, metavar="NAME", help="of those that are finished")
    parser.add_argument("--speed", action="store_true", help="measure how fast they write, and nothing else")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # sentence by sentence, more would only wait for one another
    if arguments.speed:
        print(json.dumps(measure_speed(arguments.test)["ratios"], indent=2))
    else:
        for name in arguments.only or SIBLINGS:
            if is_finished(arguments.runs / name):
                figures = publish(name, arguments.runs / name, arguments.test)
                bleu, loss = figures["test"]["greedy"]["bleu"], figures["training"]["validation_loss"]
                print(f"{name}: {bleu} BLEU, loss {loss}")
            else:
                print(f"{name} is not finished")
    print("README.md says:", *readme_rows(load_siblings()), sep="\n")


if __name__ == "__main__":
    main()
