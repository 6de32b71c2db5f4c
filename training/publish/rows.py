"""Fine-tune the small GPT for three tasks, each text as one row: `python -m training.publish.rows TASKS`.

TASKS is the folder of `training.loop.tasks`. GPT itself stays as it is: beside its matrices stand small ones (LoRA),
which learn together with a head. They alone are kept, in assets/models/rows. Where a task asks whether two texts say
the same, each order of the two is a row, and their scores are added. Printed and kept is the share of right answers on
test, of the rounded weights, as the app runs them; beside it that of counting words.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from model.adapting.fine_tuned import FineTunedWriter
from model.adapting.lora import learning
from model.adapting.row_tasks import RANK, ROWS, file_of, load_row_task, save_row_task, with_task
from model.families.decoder_only import DecoderOnly
from model.files.loaded_model import load_model
from model.text.tokenizer import EOS_ID, SEP_ID, SOS_ID
from training.compare_pretraining import BATCH, PARTS, learn
from training.loop.finetune_loop import Accuracy, Example, collate, for_a_writer, loss_of
from training.loop.tasks import ROW_TASKS, spread
from training.measure.word_counts import counted
from training.publish.tasks import Publishing, filled_in

GPT = "gpt-mini"
BOTH_ORDERS = ("paraphrase",)  # what they ask does not depend on which text comes first
EXAMPLES, EPOCHS, RATE = 16_000, 2, 1e-3


def other_order(one: Example) -> Example:
    """The row of a pair, its texts exchanged."""
    between = one.ids.index(SEP_ID)
    return replace(one, ids=(SOS_ID, *one.ids[between + 1 : -1], SEP_ID, *one.ids[1:between], EOS_ID))


@torch.no_grad()
def right_answers(model: FineTunedWriter, orders: Sequence[Sequence[Example]], size: int = 64) -> Accuracy:
    """orders: the examples; for a task that is asked in both orders, also those with their texts exchanged"""
    right, n = 0, len(orders[0])
    for start in range(0, n, size):
        parts = [collate(one[start : start + size]) for one in orders]
        scores = torch.stack([model(part["src_ids"]) for part in parts]).sum(0)
        right += int((scores.argmax(-1) == parts[0]["labels"]).sum())
    return Accuracy(right / n, n)


def network() -> DecoderOnly:
    found = load_model(GPT).model
    assert isinstance(found, DecoderOnly)
    return found


def publish(name: str, tasks: Path, folder: Path, examples: int, epochs: int, rate: float) -> dict[str, Any]:
    """Train and keep what a task adds; returns its figures. Raises: OSError, ValueError, CheckpointError"""
    task, tokenizer = ROW_TASKS[name], load_model(GPT).tokenizer
    train, _, test = ([for_a_writer(one) for one in task.read(tasks, part, tokenizer)] for part in PARTS)
    train = spread(train, examples)
    orders = [train, [other_order(one) for one in train]] if name in BOTH_ORDERS else [train]
    model = with_task(network(), task.n_classes)
    steps = max(1, epochs * len(train) // BATCH)
    learn(model, [one for order in orders for one in order], steps, rate, loss_of(task.kind))
    save_row_task(file_of(name, folder), model)
    asked = [test, [other_order(one) for one in test]] if name in BOTH_ORDERS else [test]
    found = right_answers(load_row_task(network(), file_of(name, folder)), asked)
    return {
        "train": len(train),
        "epochs": epochs,
        "learning_rate": rate,
        "rank": RANK,
        "weights": sum(weight.numel() for weight in learning(model).values()),
        "n": found.n,
        "right": round(found.right, 4),
        "counted": counted(name, tasks, len(train), tokenizer),
    }


def card(figures: Mapping[str, Any], folder: Path) -> str:
    return filled_in("rows.md", figures, folder)


def main(folder: Path = ROWS) -> int:
    return Publishing("rows", __doc__, ROW_TASKS, publish, card, EXAMPLES, EPOCHS, RATE).run(folder)


if __name__ == "__main__":
    sys.exit(main())
