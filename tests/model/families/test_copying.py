"""The two networks that repeat letters: what passes their taps, and what becomes of them on disk."""

from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from model.families.copying import (
    ASKS,
    KINDS,
    LETTERS,
    Copier,
    CopyingConfig,
    load_copier,
    save_copier,
    trace_copier,
)
from model.files.checkpoint import CheckpointError
from model.tap import Recorder
from tests.model.test_tap import documented_taps

SMALL = CopyingConfig(d_model=7, d_inner=11, n_layers=2, n_states=5, rank=3, n_complex=4, steps=(0.01, 0.02))
IDS = (0, 3, 0, 0, 8, 1, ASKS, ASKS, ASKS)


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded_it_reads_alike_and_every_tap_is_in_its_trace(kind: str, tmp_path: Path) -> None:
    copier, recorder = Copier(SMALL, kind).eval(), Recorder()
    logits = copier(torch.tensor([IDS]), recorder)
    assert set(recorder.tensors) == set(documented_taps(Copier, copier))
    save_copier(tmp_path, kind, SMALL, copier)
    loaded = load_copier(kind, tmp_path)
    assert loaded.config == SMALL
    trace = trace_copier(loaded, IDS)
    assert_close(torch.tensor(trace.tensors["logits"]), logits[0], atol=0.01, rtol=0.01)  # fp16 on disk
    assert trace.text == "·c··ha???"
    assert [token.id for token in trace.labels] == trace.tensors["logits"][-3:].argmax(-1).tolist()
    assert set(trace.tensors) <= set(recorder.tensors)


def test_two_kinds_have_as_many_weights_and_all_entries_have_their_letter() -> None:
    copiers = [load_copier(kind) for kind in KINDS]
    assert len({copier.n_parameters for copier in copiers}) == 1
    assert {copier.config for copier in copiers} == {CopyingConfig()}
    assert len(LETTERS) == ASKS - 1


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("selective.safetensors", None, r"The model file \S*selective\.safetensors is missing\. .*git checkout"),
        ("selective.safetensors", b"no weights", r"selective\.safetensors cannot be read"),
        ("config.json", None, r"config\.json is missing"),
        ("config.json", b'{"d_model": 7}', r"config\.json cannot be read"),
        ("config.json", b'{"d_model": 8, "steps": [1, 2]}', r"selective\.safetensors cannot be read"),
    ],
)
def test_a_broken_folder_is_told_in_one_sentence(
    tmp_path: Path, file: str, content: bytes | None, message: str
) -> None:
    save_copier(tmp_path, "selective", SMALL, Copier(SMALL, "selective"))
    (tmp_path / file).unlink() if content is None else (tmp_path / file).write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        load_copier("selective", tmp_path)
