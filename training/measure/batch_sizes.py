"""Count how large the batches of a finished training were: `python -m training.measure.batch_sizes TRAIN.tsv NAME…`.

The batches depend on the recipe, the seed, the pairs and `training.loop.data`, so they are made once more, without
training. The counts go into the metrics.json of each model in assets/models; `experiments.training.training_cost` turns
them into FLOPs. A model that was trained on batches made otherwise is told by how many labels it learned from: it keeps
the counts that it has.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from itertools import count, islice
from pathlib import Path
from typing import Any

from experiments.training.siblings import METRICS
from experiments.training.training_cost import BatchSizes
from model.files import checkpoint
from model.files.loaded_model import MODELS, TRANSLATOR, sibling_names
from model.text.tokenizer import PAD_ID, Tokenizer
from training.loop.data import Pair, epoch_loader, read_pairs
from training.loop.recipe import RECIPES
from training.loop.updates import Batch

# The translator's training noted its labels only roughly; those of the others agree to the last one.
TOLERANCE = 1e-3


def sizes_of(batches: Iterable[Batch]) -> tuple[BatchSizes, int]:
    """How large batches are, and how many labels in them are no padding.

    Args: batches: src_ids (B,S), tgt_ids and labels (B,T)
    """
    total, labels = BatchSizes(0, 0, 0, 0, 0), 0
    for batch in batches:
        (rows, source), target = batch["src_ids"].shape, batch["tgt_ids"].shape[1]
        total = BatchSizes(
            total.source + rows * source,
            total.target + rows * target,
            total.source_pairs + rows * source**2,
            total.target_pairs + rows * target**2,
            total.cross_pairs + rows * source * target,
        )
        labels += int((batch["labels"] != PAD_ID).sum())
    return total, labels


def batches_of(training: dict[str, Any], pairs: list[Pair], tokenizer: Tokenizer, max_len: int) -> Iterator[Batch]:
    """The batches of a training once more.

    Args: training: what metrics.json says of it; max_len: of its model
    """
    most = training["recipe"]["batch_tokens"]
    recipe = replace(RECIPES[training["preset"]], steps=training["steps"], batch_tokens=most)

    def endless() -> Iterator[Batch]:
        for epoch in count():
            yield from epoch_loader(
                pairs, tokenizer, recipe.batch_tokens, recipe.variation, training.get("seed", 1), epoch, max_len
            )

    return islice(endless(), recipe.steps)


def add_batch_sizes(
    data: Path, names: Iterable[str], root: Path = MODELS
) -> tuple[dict[str, BatchSizes], dict[str, tuple[int, int]]]:
    """Count the batches of these models' trainings and write the counts into their metrics.

    Returns: the counts by name; of the models whose batches were made otherwise, how many labels each learned from and
    how many are in the batches made now
    """
    pairs, tokenizer = read_pairs([data]), checkpoint.load_tokenizer(root / TRANSLATOR)
    known: dict[tuple[Any, ...], tuple[BatchSizes, int]] = {}
    counted, otherwise = {}, {}
    for name in names:
        path = root / name / METRICS
        metrics = json.loads(path.read_text(encoding="utf-8"))
        training, max_len = metrics["training"], checkpoint.load_config(root / name).max_len
        if "packed" in training:  # all its rows are of one length, so its training has counted them itself
            counted[name] = BatchSizes(**training["batches"])
            continue
        most = training["recipe"]["batch_tokens"]
        alike = (training["preset"], training["steps"], most, training.get("seed", 1), max_len)
        if alike not in known:
            known[alike] = sizes_of(batches_of(training, pairs, tokenizer, max_len))
        sizes, labels = known[alike]
        if abs(labels - training["target_tokens"]) > TOLERANCE * training["target_tokens"]:
            otherwise[name] = (training["target_tokens"], labels)
            continue
        training["batches"] = asdict(sizes)
        path.write_text(json.dumps(metrics, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        counted[name] = sizes
    return counted, otherwise


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.measure.batch_sizes", description=__doc__)
    parser.add_argument("data", type=Path, help="the file of sentence pairs that the models learned from")
    parser.add_argument("names", nargs="*", help="folders in assets/models (default: the translator and its siblings)")
    arguments = parser.parse_args()
    counted, otherwise = add_batch_sizes(arguments.data, arguments.names or (TRANSLATOR, *sibling_names()))
    print(json.dumps({name: asdict(sizes) for name, sizes in counted.items()}, indent=2))
    for name, (learned, labels) in otherwise.items():
        print(
            f"{name} keeps its counts: it learned from {learned:,} labels, these batches hold {labels:,}",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
