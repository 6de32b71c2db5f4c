"""When heads form: shares and first steps by hand, and the file that is shipped."""

import json
from pathlib import Path

import pytest

from experiments.attention.head_roles import fingerprint
from experiments.training.forming import MEASURED, first_above, load_measured
from model.files.checkpoint import CheckpointError, snapshot
from model.files.loaded_model import MODELS, snapshot_steps

NAME = "plain-1"


def test_the_first_step_above() -> None:
    assert first_above((0, 50, 100), (0.2, 0.51, 0.4)) == 50
    assert first_above((0, 50, 100), (0.2, 0.5, 0.5)) is None


def test_the_shipped_file_is_of_the_shipped_snapshots() -> None:
    measured, data = load_measured(NAME), json.loads((MODELS / NAME / MEASURED).read_text(encoding="utf-8"))
    assert measured.steps == snapshot_steps(NAME)
    assert data["model"] == {"name": NAME, "last": fingerprint(MODELS / NAME / snapshot(measured.steps[-1]))}
    assert list(measured.aligned) == [f"{layer}.{head}" for layer in (1, 2) for head in (1, 2, 3, 4)]
    assert all(0 <= share <= 1 for one in measured.snapshots for share in (*one.aligned.values(), *one.right.values()))


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"snapshots": [{}]}', '{"data": 3, "snapshots": []}'])
def test_a_damaged_file_is_told_in_one_sentence(tmp_path: Path, damage: str) -> None:
    (tmp_path / NAME).mkdir()
    if damage:
        (tmp_path / NAME / MEASURED).write_text(damage)
    with pytest.raises(CheckpointError, match=f"{MEASURED} (cannot be read|is missing)"):
        load_measured(NAME, tmp_path)
