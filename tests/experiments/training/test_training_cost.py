"""What a training cost: a count by hand, the counter of torch, and the files that come with the app."""

import json
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from experiments.training.training_cost import BatchSizes, load_batch_sizes, trained_translators, training_flops
from model.build import build_model
from model.config import ModelConfig
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import TRANSLATOR, sibling_names


def of_one_batch(rows: int, source: int, target: int) -> BatchSizes:
    return BatchSizes(rows * source, rows * target, rows * source**2, rows * target**2, rows * source * target)


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"activation": "gelu", "positions": "rotary"},
        {"activation": "swiglu", "positions": "rotary"},
        {"activation": "geglu"},
        {"feed_forward": "experts"},
        {"feed_forward": "experts_top_2"},
        {"attention": "grouped_query", "positions": "rotary", "n_heads": 4},
        {"attention": "multi_query", "positions": "rotary"},
        {"attention": "latent", "d_latent": 5},
    ],
)
def test_torch_counts_the_same(parts: dict[str, str]) -> None:
    config = ModelConfig(**{"vocab_size": 31, "d_model": 16, "n_heads": 2, "n_layers": 2, "d_ff": 18, **parts})  # type: ignore[arg-type]
    model, rows, source, target = build_model(config), 5, 11, 7
    with FlopCounterMode(display=False) as counter:
        ids = torch.full((rows, max(source, target)), 9)
        model(ids[:, :source], ids[:, :target]).sum().backward()
    assert counter.get_total_flops() == training_flops(config, of_one_batch(rows, source, target))


def test_all_translators_of_the_app_were_counted() -> None:
    names = (TRANSLATOR, *sibling_names())
    assert [one.name for one in trained_translators()] == list(names)
    for name in names:
        sizes = load_batch_sizes(name)
        assert sizes is not None
        # No sum of squares is below the square of the mean; no row of a sibling is longer than it can take.
        assert sizes.cross_pairs**2 <= sizes.source_pairs * sizes.target_pairs
    translator, *others = trained_translators()
    assert 1e16 < translator.flops < 3e16
    assert (len(translator.teachers), {one.teachers for one in others}) == (3, {()})
    assert 4e16 < sum(translator.teachers) < 6e16  # two of them are five times as large


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
