"""Measure what chance does to bert-mini: `python -m training.measure.seeds FOLDER --test FILE…`.

FOLDER is that of `training.descendants`: it holds bert-2 and bert-3, trained as bert-mini was but from other random
numbers. All three guess the same masked tokens, and tell the same pairs, as in `training.measure.family`. Printed, and
kept in bert-mini's seeds.json, is what each does and how far the three lie apart: their standard deviation.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import stdev
from typing import Any

import torch

from experiments.family.language_models import METRICS
from experiments.family.seeds import BASE, FILE
from model.files import checkpoint
from model.files.loaded_model import MODELS
from training.loop.corpus import read_corpus
from training.loop.resumable_run import FIGURES
from training.measure.again import each_token
from training.measure.family import next_sentence_accuracy, single_sentences_told
from training.publish.siblings import write

OTHERS = ("bert-2", "bert-3")
MEASURED = ("accuracy", "loss", "next_sentence", "single_sentences")


def measure(folder: Path, test: Sequence[Path]) -> dict[str, Any]:
    """The figures of the three. Raises: checkpoint.CheckpointError, OSError or ValueError, naming the file"""
    tokenizer = checkpoint.load_tokenizer(folder)
    documents = read_corpus(test, tokenizer)
    found = []
    for run in (MODELS / BASE, *(folder / name for name in OTHERS)):
        width = json.loads((run / checkpoint.CONFIG).read_text())["max_len"]
        training, network = trained(run), checkpoint.load(run, vocabulary=folder)[0]
        right, losses = each_token(network, documents, width, tokenizer.vocab_size)
        told = next_sentence_accuracy(network, documents, width) | single_sentences_told(network, documents, width)
        figures = told | {"accuracy": round(float(right.mean()), 4), "loss": round(float(losses.mean()), 4)}
        how = {what: training[what] for what in ("seed", "steps")}
        found.append(how | {what: figures[what] for what in MEASURED})
    return {
        "data": ", ".join(path.name for path in test),
        "masked_tokens": len(right),
        "models": found,
        "apart": {what: round(stdev(one[what] for one in found), 4) for what in MEASURED},
    }


def trained(run: Path) -> dict[str, Any]:
    """How it was trained: as its training keeps it, or as a published model does."""
    if (run / FIGURES).exists():
        return checkpoint.read_figures(run / FIGURES)
    found: dict[str, Any] = checkpoint.read_figures(run / METRICS)["training"]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.measure.seeds", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder given to training.descendants as --out")
    parser.add_argument("--test", nargs="+", type=Path, required=True, help="texts kept apart")
    given = parser.parse_args()
    torch.set_num_threads(1)
    try:
        found = measure(given.folder, given.test)
    except (checkpoint.CheckpointError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    write(MODELS / BASE / FILE, found)
    print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
