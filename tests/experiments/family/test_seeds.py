"""What is told of models that differ in their random numbers alone."""

import json
import shutil
from pathlib import Path

import pytest

from experiments.family import language_models, seeds
from experiments.family.language_models import published
from model.files.checkpoint import CheckpointError
from training.descendants import SIBLINGS


def test_the_three_were_trained_alike_and_measured_on_the_same_tokens() -> None:
    found, base = published(seeds.BASE, seeds.FILE), published(seeds.BASE)
    assert [one["seed"] for one in found["models"]] == [1, *(SIBLINGS[f"bert-{n}"].seed for n in (2, 3))] == [1, 2, 3]
    assert {one["steps"] for one in found["models"]} == {base["training"]["steps"]}
    assert found["data"] == base["test"]["data"]
    assert found["models"][0]["single_sentences"] == base["test"]["single_sentences"]
    assert found["models"][0]["accuracy"] == pytest.approx(base["test"]["accuracy"], abs=0.005)  # other tokens


def test_a_file_that_says_nothing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(seeds.MODELS / seeds.BASE, tmp_path / seeds.BASE, ignore=lambda *_: ["model.safetensors"])
    for module in (seeds, language_models):
        monkeypatch.setattr(module, "MODELS", tmp_path)
    assert len(seeds.trained_again("accuracy")) == 2
    file = tmp_path / seeds.BASE / seeds.FILE
    two = json.loads(file.read_text())
    two["models"].pop()
    for words in (json.dumps(two), "{}", '{"models": [1, 2, 3]}'):
        file.write_text(words)
        with pytest.raises(CheckpointError, match=r"seeds\.json cannot be read"):
            seeds.trained_again("accuracy")
