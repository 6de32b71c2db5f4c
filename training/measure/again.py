"""Measure the four that read a small text again and again: `python -m training.measure.again FOLDER --test FILE…`.

FOLDER is that of `training.descendants`. Of texts kept apart 15% of the tokens are masked, the same ones for all four.
Printed is JSON, and with --out kept in a file: how many of these tokens each of the four guesses, its loss, and how it
went; then what new blanks change, and what leaving out the pairs does, token by token, with the standard error.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from model.files import checkpoint
from model.text.tokenizer import PAD_ID
from training.loop.blanks_again import KEPT
from training.loop.corpus import Document, read_corpus
from training.loop.resumable_run import FIGURES
from training.measure.family import load_network, masked_batches, said_of_masked
from training.siblings import LOG

NAMES = {
    "pairs, the same blanks": "roberta-pairs-static",
    "pairs, new blanks": "roberta-pairs-dynamic",
    "texts, the same blanks": "roberta-texts-static",
    "texts, new blanks": "roberta-texts-dynamic",
}
# What is compared: the second of two against the first
TURNS = {
    "new blanks, with pairs": ("pairs, the same blanks", "pairs, new blanks"),
    "new blanks, with texts alone": ("texts, the same blanks", "texts, new blanks"),
    "no pairs, with the same blanks": ("pairs, the same blanks", "texts, the same blanks"),
    "no pairs, with new blanks": ("pairs, new blanks", "texts, new blanks"),
}

Each = tuple[NDArray[np.float64], NDArray[np.float64]]  # of every masked token: 1 if it is guessed; its loss in nats


@torch.inference_mode()
def each_token(model: nn.Module, documents: Sequence[Document], width: int, vocab_size: int) -> Each:
    """Of every masked token whether it is the model's first guess, and its loss."""
    right, losses = [], []
    for batch in masked_batches(documents, width, vocab_size):
        labels = batch["labels"][batch["labels"] != PAD_ID]
        logits = said_of_masked(model, batch).float()
        right.append((logits.argmax(-1) == labels).numpy())
        losses.append(nn.functional.cross_entropy(logits, labels, reduction="none").numpy())
    return np.concatenate(right).astype(float), np.concatenate(losses).astype(float)


def mean(numbers: NDArray[np.float64]) -> list[float]:
    """The mean, and its standard error."""
    return [round(float(numbers.mean()), 4), round(float(numbers.std(ddof=1) / len(numbers) ** 0.5), 4)]


def measure(folder: Path, test: Sequence[Path]) -> dict[str, Any]:
    """The figures of all four. Raises: checkpoint.CheckpointError, OSError or ValueError, naming the file"""
    tokenizer = checkpoint.load_tokenizer(folder)
    documents = read_corpus(test, tokenizer)
    each, models = {}, {}
    for title, name in NAMES.items():
        run = folder / name
        width = json.loads((run / checkpoint.CONFIG).read_text())["max_len"]
        network = load_network(run)
        each[title] = each_token(network, documents, width, tokenizer.vocab_size)
        right, losses = map(mean, each[title])
        training, log = (json.loads((run / file).read_text()) for file in (FIGURES, LOG))
        models[title] = {
            "accuracy": right,
            "loss": losses,
            "parameters": sum(p.numel() for p in network.parameters()),
            "validation": [[one["step"], round(one["loss"], 4)] for one in log["validation"]],
            **{what: training[what] for what in ("documents", "tokens", "steps", "epochs", "seed", "seconds")},
        }
    return {
        "data": ", ".join(path.name for path in test),
        "masked_tokens": len(next(iter(each.values()))[0]),
        "models": models,
        "differences": {turn: difference(each[a], each[b]) for turn, (a, b) in TURNS.items()},
    }


def difference(first: Each, second: Each) -> Mapping[str, list[float]]:
    """What the second gains in tokens guessed and loses in nats, token by token, with standard errors."""
    return {"accuracy": mean(second[0] - first[0]), "loss": mean(second[1] - first[1])}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.measure.again", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder given to training.descendants as --out")
    parser.add_argument("--test", nargs="+", type=Path, required=True, help="texts kept apart")
    parser.add_argument("--out", type=Path, help=f"keep the figures in this file; the lesson reads {KEPT.name}")
    given = parser.parse_args()
    torch.set_num_threads(1)
    try:
        text = json.dumps(measure(given.folder, given.test), indent=2) + "\n"
    except (checkpoint.CheckpointError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(text, end="")
    if given.out:
        given.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
