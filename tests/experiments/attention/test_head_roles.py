"""The measured file of what heads look at: of the shipped model, or refused in words. The oracle claims all else."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.attention.head_roles import MEASURED, load_measured
from model.anatomy.describe import anatomy_of
from model.build import build_model
from model.config import PRESETS
from model.files.checkpoint import SHIPPED, WEIGHTS, CheckpointError
from model.files.loaded_model import load_model

ANATOMY = load_model().anatomy


def test_the_shipped_measurement_is_of_the_shipped_model() -> None:
    found = load_measured(ANATOMY)
    assert found.n_sentences == 2000
    recorded = json.loads((SHIPPED / MEASURED).read_text())
    assert found.source in (SHIPPED.parents[1] / "NOTICE").read_text()
    assert recorded["command"] == "python -m training.measure.heads test.en-de.tsv"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (MEASURED, WEIGHTS):
        shutil.copy(SHIPPED / name, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda data: data["shares"]["cross.0.0"].update(aligned=1.5), "1.5 is no share"),
        (lambda data: data["shares"].pop("encoder.2.3"), "every head"),
        (lambda data: data["shares"]["encoder.2.3"].pop("next"), "every head"),
        (lambda data: data["uniform"].pop("decoder"), "every share"),
        (lambda data: data["uniform"]["decoder"].update(sos="half"), "'half' is no share"),
        (lambda data: data.update(shares=[1, 2]), "cannot be read"),
        (lambda data: data["model"].update(sha256="0" * 64), "other weights"),
    ],
)
def test_a_damaged_measurement_is_refused_in_words(
    damage: Callable[[dict[str, Any]], None], says: str, folder: Path
) -> None:
    path = folder / MEASURED
    data = json.loads(path.read_text())
    damage(data)
    path.write_text(json.dumps(data))
    with pytest.raises(CheckpointError, match=says) as refused:
        load_measured(ANATOMY, folder)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"data": 3}'])
def test_so_is_a_file_that_is_none(content: bytes, folder: Path) -> None:
    (folder / MEASURED).write_bytes(content)
    with pytest.raises(CheckpointError, match=MEASURED):
        load_measured(ANATOMY, folder)
    (folder / MEASURED).unlink()
    with pytest.raises(CheckpointError, match="is missing"):
        load_measured(ANATOMY, folder)


def test_it_must_fit_the_model(folder: Path) -> None:
    with pytest.raises(CheckpointError, match="every head"):
        load_measured(anatomy_of(build_model(replace(PRESETS["base"], n_layers=2))), folder)
    load_measured(ANATOMY, folder)
