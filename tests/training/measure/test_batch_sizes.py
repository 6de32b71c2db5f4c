"""Counting the batches of a training once more: against the batches themselves, and against what was noted."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from experiments.training.training_cost import BatchSizes
from model.files.checkpoint import SHIPPED, load_tokenizer
from training.measure.batch_sizes import add_batch_sizes, sizes_of

PAIRS = ("The cat sleeps.\tDie Katze schläft.", "I am here.\tIch bin hier.", "No.\tNein.")


def test_two_batches_by_hand() -> None:
    first = {
        "src_ids": torch.ones(2, 3),
        "tgt_ids": torch.ones(2, 5),
        "labels": torch.tensor([[4] * 5, [4] * 3 + [0] * 2]),
    }
    second = {"src_ids": torch.ones(1, 7), "tgt_ids": torch.ones(1, 2), "labels": torch.tensor([[4, 4]])}
    sizes, labels = sizes_of([first, second])
    assert (sizes.source, sizes.target, labels) == (6 + 7, 10 + 2, 8 + 2)
    assert (sizes.source_pairs, sizes.target_pairs, sizes.cross_pairs) == (18 + 49, 50 + 4, 30 + 14)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """The translator's vocabulary and config, as if it had been trained for three steps on three pairs."""
    (tmp_path / "translator").mkdir()
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(SHIPPED / name, tmp_path / "translator" / name)
    (tmp_path / "train.tsv").write_text("\n".join(PAIRS) + "\n", encoding="utf-8")
    return tmp_path


def note(models: Path, labels: int, most: int = 3000) -> Path:
    path = models / "translator" / "metrics.json"
    training = {"preset": "base", "steps": 3, "recipe": {"batch_tokens": most}, "target_tokens": labels}
    path.write_text(json.dumps({"training": training}))
    return path


def test_the_counts_are_written_beside_what_was_noted(models: Path) -> None:
    path = note(models, 1)
    before = path.read_text()
    counted, otherwise = add_batch_sizes(models / "train.tsv", ["translator"], models)
    ((learned, labels),) = otherwise.values()
    assert (counted, learned, path.read_text()) == ({}, 1, before), "made otherwise: it keeps what it has"
    german = load_tokenizer().encode_batch([line.partition("\t")[2] for line in PAIRS])
    assert labels == 3 * sum(len(ids) + 1 for ids in german)  # all pairs fit into a batch; each ends with <eos>
    note(models, labels)
    counted, otherwise = add_batch_sizes(models / "train.tsv", ["translator"], models)
    (sizes,) = counted.values()
    assert otherwise == {}
    written = json.loads(path.read_text())["training"]
    assert written["target_tokens"] == labels <= sizes.target
    assert written["batches"]["cross_pairs"] == sizes.cross_pairs > 0
    note(models, labels, most=1)  # each pair is a batch of its own
    ((learned, fewer),) = add_batch_sizes(models / "train.tsv", ["translator"], models)[1].values()
    assert (learned, fewer) == (labels, labels / 3)


def test_a_training_on_packed_rows_has_counted_them_itself(models: Path) -> None:
    path = note(models, 1)
    counted = {"source": 7, "target": 7, "source_pairs": 77, "target_pairs": 77, "cross_pairs": 77}
    training = {"preset": "base", "steps": 3, "target_tokens": 5, "packed": 11, "batches": counted}
    path.write_text(json.dumps({"training": training}))
    found, otherwise = add_batch_sizes(models / "train.tsv", ["translator"], models)
    assert (found, otherwise) == ({"translator": BatchSizes(7, 7, 77, 77, 77)}, {})
    assert json.loads(path.read_text()) == {"training": training}
