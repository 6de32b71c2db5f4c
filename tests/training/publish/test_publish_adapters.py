"""The command that puts what LoRA learned of each style into the app."""

import json
import sys
from pathlib import Path

import pytest
import torch

from model.adapting.adapters import file_of, load_adapter, with_adapter
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import load_model
from training.live.styles import BUTLER, FORMAL
from training.publish.adapters import main


def test_a_style_that_is_missing_is_learned_kept_and_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = {"rank": 4, "numbers": 9, "pairs": 7, "steps": 5, "n": 3, "in_the_style": 2, "word_for_word": 1}
    ready |= {"n_others": 3, "others_kept": 3}
    (tmp_path / "metrics.json").write_text(json.dumps({BUTLER: ready}))
    monkeypatch.setattr(sys, "argv", ["adapters", "--steps", "1"])
    assert main(tmp_path) == 0
    figures = json.loads((tmp_path / "metrics.json").read_text())
    assert figures[BUTLER] == ready, "a style that is there already is left as it is"
    assert (figures[FORMAL]["numbers"], figures[FORMAL]["steps"], figures[FORMAL]["n"]) == (36_864, 1, 16)
    assert [file.name for file in tmp_path.glob("*.safetensors")] == ["formal.safetensors"]
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| butler.safetensors | butler: mein Herr | 7 pairs | 2 of 3 | 1 | 3 of 3 |" in card


def test_a_share_of_an_adapter_is_added_to_each_matrix_and_the_model_stays() -> None:
    loaded, file = load_model(), file_of(FORMAL)
    name = "decoder.layers.1.cross_attn.w_v"
    before = loaded.model.get_submodule(name).weight.clone()
    half = with_adapter(loaded, file, 0.5).model.get_submodule(name)
    weights = load_adapter(file)
    added = 0.5 * 16 / 4 * weights[f"{name}.up.weight"] @ weights[f"{name}.down.weight"]
    torch.testing.assert_close(half.merged().weight, before + added)
    assert added.any()
    assert torch.equal(loaded.model.get_submodule(name).weight, before)
    with pytest.raises(CheckpointError, match=r"none\.safetensors is missing"):
        with_adapter(loaded, file.with_name("none.safetensors"))
