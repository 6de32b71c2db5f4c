"""What a training cost: a count by hand, the counter of torch, and the files that come with the app."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from experiments.training.training_cost import BatchSizes, load_batch_sizes, trained_translators, training_flops
from model.build import build_model
from model.config import ModelConfig
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import TRANSLATOR, sibling_names

# One layer each, d_model 2, d_ff 3, 5 entries in the vocabulary.
SMALL = ModelConfig(vocab_size=5, d_model=2, n_heads=1, n_layers=1, d_ff=3)


def of_one_batch(rows: int, source: int, target: int) -> BatchSizes:
    return BatchSizes(rows * source, rows * target, rows * source**2, rows * target**2, rows * source * target)


def test_a_count_by_hand() -> None:
    """One sentence of 3 pieces, translated into 2.

    Encoder: four 2 × 2 matrices on 3 positions, 4·4·3 = 48; QKᵀ and weights·V, 2·2·3² = 36; 2 × 3 and 3 × 2, 12·3 = 36.
    Decoder: 4·4·2 = 32; 2·2·2² = 16; W^Q and W^O on 2, W^K and W^V on 3 positions, 8·2 + 8·3 = 40; 2·2·2·3 = 24;
    12·2 = 24. Output: 2 positions, 2 × 5, 20. Together 276 multiplications; with additions, forwards and backwards · 6.
    """
    assert training_flops(SMALL, of_one_batch(1, 3, 2)) == 6 * 276


@pytest.mark.parametrize(
    ("activation", "positions"),
    [("relu", "sinusoidal"), ("gelu", "rotary"), ("swiglu", "rotary"), ("geglu", "sinusoidal")],
)
def test_torch_counts_the_same(activation: str, positions: str) -> None:
    config = ModelConfig(
        vocab_size=31, d_model=12, n_heads=3, n_layers=2, d_ff=18, activation=activation, positions=positions
    )
    model, rows, source, target = build_model(config), 5, 11, 7
    with FlopCounterMode(display=False) as counter:
        ids = torch.full((rows, max(source, target)), 9)
        model(ids[:, :source], ids[:, :target]).sum().backward()
    assert counter.get_total_flops() == training_flops(config, of_one_batch(rows, source, target))


def test_twice_the_batches_cost_twice_as_much() -> None:
    one, two = of_one_batch(1, 13, 17), of_one_batch(2, 13, 17)
    assert training_flops(SMALL, two) == 2 * training_flops(SMALL, one)
    deeper = replace(SMALL, n_layers=4)
    output = 6 * 17 * 2 * 5
    assert training_flops(deeper, one) - output == 4 * (training_flops(SMALL, one) - output)


def test_all_translators_of_the_app_were_counted() -> None:
    names = (TRANSLATOR, *sibling_names())
    assert [one.name for one in trained_translators()] == list(names)
    for name in names:
        sizes = load_batch_sizes(name)
        assert sizes is not None
        # No sum of squares is below the square of the mean; no row of a sibling is longer than it can take.
        assert sizes.cross_pairs**2 <= sizes.source_pairs * sizes.target_pairs
    assert 5e14 < trained_translators()[0].flops < 2e15


def a_model(root: Path, batches: object) -> Path:
    (root / "one").mkdir()
    path = root / "one" / "metrics.json"
    path.write_text(json.dumps({"training": {"steps": 3} | ({"batches": batches} if batches else {})}))
    return root


def test_a_model_that_was_not_counted_has_no_sizes(tmp_path: Path) -> None:
    assert load_batch_sizes("one", a_model(tmp_path, None)) is None


@pytest.mark.parametrize("batches", [[3], {"source": 1}, {"source": "many"}])
def test_a_damaged_count_is_named(tmp_path: Path, batches: object) -> None:
    with pytest.raises(CheckpointError, match=r"metrics\.json cannot be read"):
        load_batch_sizes("one", a_model(tmp_path, batches))
