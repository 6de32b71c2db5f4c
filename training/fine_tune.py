"""Fine-tune on four tasks, from pre-trained and from random weights: `python -m training.fine_tune TASKS`.

TASKS is a folder with files like sentiment.train.tsv and sentiment.test.tsv: sentiment (a sentence), paraphrase (a
pair), qa_babi (a span) and pos (a tag for each word). Printed is the share of right answers on test, with its standard
error, one task a line; `--out FILE` also keeps them for the lesson. Both models learn alike, all their weights.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from model.checkpoint import PROJECT, CheckpointError, load_untrained
from model.families.encoder_only import EncoderOnly
from model.families.network import Network
from model.fine_tuned import FineTuned, FineTunedReader, FineTunedWriter
from model.loaded import MODELS, LoadedModel, UnknownModelError, load_model
from model.tokenizer import Tokenizer
from training.fine_tuning import (
    SPAN,
    Accuracy,
    Example,
    accuracy,
    fine_tune,
    for_a_writer,
    loss_of,
    recipe,
    span_example,
    tags_example,
    text_example,
)

KEPT = PROJECT / "assets" / "labelled" / "four_tasks.json"  # the figures that the lesson shows
MAX_LEN, BATCH, LEARNING_RATE = 64, 16, 3e-4  # pieces of a text; texts in a batch

Rows = Iterator[Sequence[str]]


def rows_of(path: Path) -> Rows:
    """The rows of a TSV file, without its head."""
    _, *lines = path.read_text(encoding="utf-8").splitlines()
    return (line.split("\t") for line in lines)


def sentiment(folder: Path, part: str, tokenizer: Tokenizer) -> Iterator[Example]:
    for label, text in rows_of(folder / f"sentiment.{part}.tsv"):
        yield text_example(tokenizer, text, int(label == "pos"), MAX_LEN)


def paraphrase(folder: Path, part: str, tokenizer: Tokenizer) -> Iterator[Example]:
    for label, first, second in rows_of(folder / f"paraphrase.{part}.tsv"):
        yield text_example(tokenizer, first, int(label), MAX_LEN, second)


def babi(folder: Path, part: str, tokenizer: Tokenizer) -> Iterator[Example]:
    """The first question on each short story; what is longer than MAX_LEN is left out."""
    for line in (folder / f"qa_babi.{part}.jsonl").read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        n, question, answer, start, _ = told["qa"][0]
        one = span_example(tokenizer, question, " ".join(told["story"][:n]), answer, start, MAX_LEN)
        if one is not None:
            yield one


TAGS = (
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"  # of Universal Dependencies
).split()


def pos(folder: Path, part: str, tokenizer: Tokenizer) -> Iterator[Example]:
    for words, tags in rows_of(folder / f"pos.{part}.tsv"):
        yield tags_example(tokenizer, words.split(), [TAGS.index(tag) for tag in tags.split()], MAX_LEN)


@dataclass(frozen=True)
class Task:
    """kind: of `training.fine_tuning.KINDS`; read: its examples, of a part of its data"""

    kind: str
    n_classes: int
    read: Callable[[Path, str, Tokenizer], Iterator[Example]]


TASKS = {
    "sentiment": Task("sentence", 2, sentiment),
    "paraphrase": Task("pair", 2, paraphrase),
    "qa_babi": Task("span", SPAN, babi),
    "pos": Task("tags", len(TAGS), pos),
}


def spread(examples: Iterator[Example], most: int) -> list[Example]:
    """So many of the examples, from all parts of the file."""
    every = list(examples)
    return every[:: max(1, len(every) // most)][:most]


def with_head(network: Network, task: Task) -> FineTuned:
    head = "tokens" if task.kind in ("span", "tags") else "text"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if isinstance(network, EncoderOnly):
            return FineTunedReader(network, task.n_classes, head)
        return FineTunedWriter(network, task.n_classes, head)  # type: ignore[arg-type]


def measured(
    loaded: LoadedModel, task: Task, train: Sequence[Example], test: Sequence[Example], epochs: int
) -> dict[str, Accuracy]:
    """The share of right answers from pre-trained weights and from random ones, after the same training."""
    if not isinstance(loaded.model, EncoderOnly):
        train, test = ([for_a_writer(one, task.kind == "tags") for one in some] for some in (train, test))
    found = {}
    for name, network in (("pretrained", loaded.model), ("random", load_untrained(MODELS / loaded.name))):
        model = with_head(network.requires_grad_(True), task)
        chosen = recipe(max(1, epochs * len(train) // BATCH), LEARNING_RATE)
        for _ in fine_tune(model, train, chosen, loss_of(task.kind), BATCH):
            pass
        found[name] = accuracy(model, task.kind, test)
    return found


def figures(found: dict[str, Accuracy], kind: str, n_train: int) -> dict[str, Any]:
    """What is kept of one task."""
    errors = [one.standard_error for one in found.values()]
    apart = (found["pretrained"].right - found["random"].right) / max(1e-9, sum(e**2 for e in errors) ** 0.5)
    right = {name: round(one.right, 4) for name, one in found.items()}
    return {"kind": kind, "train": n_train, "n": found["random"].n, **right, "standard_errors_apart": round(apart, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.fine_tune", description=__doc__)
    parser.add_argument("tasks", type=Path, help="folder of the tasks' files")
    parser.add_argument("--model", default="gpt-mini", help="one that comes with the app")
    parser.add_argument("--only", nargs="+", choices=TASKS, default=[*TASKS], metavar="TASK")
    parser.add_argument("--examples", type=int, default=1000, help="to learn from, of each task")
    parser.add_argument("--tests", type=int, default=600, help="to measure with, of each task")
    parser.add_argument("--epochs", type=int, default=1, help="times that each example is read")
    parser.add_argument("--out", type=Path, help=f"keep the figures in this file; the lesson reads {KEPT.name}")
    given = parser.parse_args()
    torch.set_num_threads(1)
    try:
        for name in given.only:
            task, loaded = TASKS[name], load_model(given.model)  # anew: training changes its weights
            train, test = (
                spread(task.read(given.tasks, part, loaded.tokenizer), most)
                for part, most in (("train", given.examples), ("test", given.tests))
            )
            line = figures(measured(loaded, task, train, test, given.epochs), task.kind, len(train))
            print(f"{name}: {json.dumps(line)}", flush=True)
            if given.out:
                kept = json.loads(given.out.read_text()) if given.out.exists() else {}
                kept = kept if kept.get("model") == given.model else {"model": given.model, "tasks": {}}
                kept["tasks"][name] = line
                given.out.write_text(json.dumps(kept, indent=2) + "\n")
    except (OSError, ValueError, UnknownModelError, CheckpointError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
