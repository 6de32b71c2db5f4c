"""When heads form: shares and first steps by hand, and the file that is shipped."""

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.attention.head_roles import fingerprint
from experiments.training.forming import MEASURED, aligned_shares, cross_weights, first_above, load_measured
from model.files.checkpoint import CheckpointError, snapshot
from model.files.loaded_model import MODELS, snapshot_steps
from model.text.tokenizer import Token
from ui import engine

NAME = "plain-1"


def tokens(*words: int) -> list[Token]:
    return [Token(5, "x", word) for word in words]


def test_the_share_on_aligned_words_by_hand() -> None:
    """Three rows over two words, the second of two pieces; the last row has no aligned word and does not count."""
    weights = np.array([[[[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.9, 0.1, 0.0]], [[0, 0, 1], [0, 1, 0], [1, 0, 0]]]])
    shares = aligned_shares(weights, tokens(0, 1, 2), tokens(0, 1, 1), (0, 1, -1))
    assert shares == pytest.approx(np.array([[(0.7 + 0.3 + 0.2) / 2, (0 + 1) / 2]]))


def test_without_any_aligned_word_the_share_is_0() -> None:
    weights = np.full((2, 3, 2, 2), 0.5)
    assert aligned_shares(weights, tokens(0, 1), tokens(0, 1), (-1, -1)).tolist() == [[0, 0, 0]] * 2


def test_the_first_step_above() -> None:
    assert first_above((0, 50, 100), (0.2, 0.51, 0.4)) == 50
    assert first_above((0, 50, 100), (0.2, 0.5, 0.5)) is None


def test_weights_are_those_of_a_trace() -> None:
    trace = engine.trace("I ate an apple", name=f"{NAME}@400")
    weights = cross_weights(trace.model, trace.src_ids, trace.tgt_ids)
    for layer in range(2):
        assert weights[layer] == pytest.approx(trace.attention("cross", layer), abs=1e-6)


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
