"""The four adders: how they write, what their traces hold, and what becomes of a broken folder."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from model.families.sums import (
    CONFIG,
    N_ASKED,
    SIZES,
    answer,
    learned_sums,
    load_adder,
    numbers,
    sums_metrics,
    trace_adder,
)
from model.files.checkpoint import CheckpointError


def test_a_trace_reads_on_what_the_model_writes() -> None:
    for size in SIZES:
        loaded = load_adder(size)
        assert dataclasses.asdict(loaded.config) == dataclasses.asdict(CONFIG)
        found, trace = answer(loaded, size, 367, 285), trace_adder(loaded, 367, 285)
        assert trace.text == f"0367+0285={trace.translation}"
        assert trace.translation == "".join(map(str, reversed(found.digits)))
        assert [*reversed(trace.probabilities[N_ASKED - 1 :])] == pytest.approx(found.chances, abs=1e-5)
        assert trace.tensors["logits"].shape == (14, 12)
        assert (found.is_right, found.value == "652") in ((True, True), (False, False))
        assert not found.learned


def test_it_knows_the_sums_that_it_learned_from() -> None:
    a, b = (int(n) for n in learned_sums()[SIZES[0]])
    assert [answer(load_adder(size), size, a, b).learned for size in SIZES] == [False, True, True, True]


def test_what_is_no_number_is_none() -> None:
    assert numbers(torch.tensor([[2, 3, 6], [0, 0, 0], [1, 10, 0]])).tolist() == [632, 0, -1]


@pytest.mark.parametrize(
    ("file", "read"),
    [("metrics.json", sums_metrics), ("learned.safetensors", learned_sums)],
)
@pytest.mark.parametrize("content", [None, "{"])
def test_a_broken_folder_is_told_in_one_sentence(tmp_path: Path, file: str, read: object, content: str | None) -> None:
    if content is not None:
        (tmp_path / file).write_text(content)
    with pytest.raises(CheckpointError, match=rf"{file.replace('.', '[.]')} (is missing|cannot be read .*)\. .*git"):
        read(tmp_path)  # type: ignore[operator]
    (tmp_path / "config.json").write_text(json.dumps(dataclasses.asdict(CONFIG)))
    with pytest.raises(CheckpointError, match=r"200\.safetensors is missing"):
        load_adder(200, tmp_path)
