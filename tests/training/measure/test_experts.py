"""Whom the pieces ask: bits by hand, and a small model measured and counted again."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.blocks import experts as kept
from experiments.blocks.experts import entropy, information, measured, networks, parameters
from experiments.family import language_models
from experiments.passes import forward
from model.build import build_model
from model.files import checkpoint
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import load_folder
from model.text.tokenizer import EOS_ID, SOS_ID, Tokenizer
from tests.small import CONFIG, SENTENCES
from training.measure import experts as command
from training.measure.experts import rank_classes


def test_bits_by_hand() -> None:
    """Two fair coins: known, half known, unknown."""
    coin, other = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    assert entropy(np.array([1, 1, 2])) == pytest.approx(1.5)
    assert information(coin, coin) == pytest.approx(1)
    assert information(coin, other) == pytest.approx(0)
    assert information(coin, np.array([0, 1, 2, 2])) == pytest.approx(1)
    assert information(coin, np.array([0, 0, 0, 1])) == pytest.approx(1 - 0.75 * entropy(np.array([2, 1])))


def test_ranks_are_those_of_the_text() -> None:
    ids = np.concatenate([np.full(300 - n, n) for n in range(150)])
    assert rank_classes(ids)[ids == 9].tolist() == [0] * 291
    assert set(rank_classes(ids)[(ids > 9) & (ids < 100)]) == {1}
    assert set(rank_classes(ids)[ids >= 100]) == {2}


def test_a_model_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = Tokenizer.train(SENTENCES, CONFIG.vocab_size)
    config = replace(CONFIG, vocab_size=tokenizer.vocab_size, feed_forward="experts", n_experts=3)
    checkpoint.save(tmp_path / "experts-toy", config, tokenizer, dict(build_model(config).state_dict()))
    (tmp_path / "pairs.tsv").write_text(
        "\n".join(f"{en}\t{de}" for en, de in zip(SENTENCES, SENTENCES[4:], strict=False))
    )
    (tmp_path / "tags.tsv").write_text("words\ttags\nThe cat sat .\tDET NOUN VERB PUNCT\n")
    loaded = load_folder(tmp_path / "experts-toy")
    for module in (kept, language_models, command):
        monkeypatch.setattr(module, "MODELS", tmp_path)
    monkeypatch.setattr(command, "load_model", lambda name: loaded)
    typed = ["experts", *(str(tmp_path / name) for name in ("pairs.tsv", "tags.tsv")), "--only", "experts-toy"]
    monkeypatch.setattr(sys, "argv", typed)
    command.main()
    found = measured("experts-toy")
    assert (found.pairs, found.sentences) == (4, 1)
    assert [*found.layers] == [*networks(loaded)]
    for path, layer in found.layers.items():
        asked = []
        for en, de in zip(SENTENCES, SENTENCES[4:], strict=False):
            read = forward(loaded, [*tokenizer.encode(en), EOS_ID], [SOS_ID, *tokenizer.encode(de)])
            asked += read[f"{path}.shares"].argmax(-1).tolist()
        parts = [asked.count(n) / len(asked) for n in range(3)]
        assert layer.work == pytest.approx(parts, abs=1e-4)
        assert layer.busiest == pytest.approx(3 * max(parts), abs=1e-3)
        assert layer.bits == pytest.approx(-sum(p * math.log2(p) for p in parts if p), abs=1e-3)
        assert (layer.classes is None) == path.startswith("decoder")
    stored, at_work = parameters(loaded)
    expert = 2 * 42 * 53 + 42 + 53
    assert stored - at_work == 4 * 2 * expert  # two of three experts, in four networks
    (tmp_path / "experts-toy" / kept.FILE).write_text(json.dumps({"pairs": 1}))
    with pytest.raises(CheckpointError, match=kept.FILE):
        measured("experts-toy")
