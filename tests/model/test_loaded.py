"""Models by name: loaded whole or refused in one sentence; the untrained one is just another name."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from model.about import FILE
from model.checkpoint import CONFIG, TOKENIZER, WEIGHTS, CheckpointError
from model.loaded import MODELS, TRANSLATOR, UNTRAINED, UnknownModelError, load_model, model_names
from model.trace import trace


def test_every_folder_with_words_about_it_is_a_model() -> None:
    assert {TRANSLATOR, UNTRAINED} <= set(model_names())
    assert all((MODELS / name / FILE).exists() for name in model_names())


def test_an_unknown_name_is_quoted_and_the_known_ones_are_listed() -> None:
    with pytest.raises(UnknownModelError, match=r"^There is no model named '\.\./x'; there are .*translator.*\.$"):
        load_model("../x")


def test_the_untrained_model_has_the_shape_of_the_translator_and_random_weights() -> None:
    trained, untrained = load_model(TRANSLATOR), load_model(UNTRAINED)
    assert {n: w.shape for n, w in trained.weights.items()} == {n: w.shape for n, w in untrained.weights.items()}
    real, random = (trace(one, "The cat.", target="Die Katze.") for one in (trained, untrained))
    assert (real.model.name, random.model.name) == (TRANSLATOR, UNTRAINED)
    assert {n: a.shape for n, a in real.tensors.items()} == {n: a.shape for n, a in random.tensors.items()}
    assert not np.allclose(real.tensors["logits"], random.tensors["logits"])
    again = trace(load_model(UNTRAINED), "The cat.", target="Die Katze.")
    assert np.array_equal(random.tensors["logits"], again.tensors["logits"])


@pytest.mark.parametrize("missing", [CONFIG, TOKENIZER, WEIGHTS])
def test_half_a_folder_is_refused_and_the_file_is_named(missing: str, tmp_path: Path) -> None:
    shutil.copytree(MODELS / TRANSLATOR, tmp_path / "half")
    (tmp_path / "half" / missing).unlink()
    with pytest.raises(CheckpointError, match=rf"{missing} is missing"):
        load_model("half", tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"title": "x", "nonsense": 1}', '{"title": "x", "examples": [1]}'])
def test_damaged_words_are_refused(text: str, tmp_path: Path) -> None:
    shutil.copytree(MODELS / TRANSLATOR, tmp_path / "odd")
    (tmp_path / "odd" / FILE).write_text(text)
    with pytest.raises(CheckpointError, match=FILE):
        load_model("odd", tmp_path)


def test_another_vocabulary_than_the_weights_have_is_refused(tmp_path: Path) -> None:
    shutil.copytree(MODELS / TRANSLATOR, tmp_path / "other")
    config = json.loads((tmp_path / "other" / CONFIG).read_text())
    (tmp_path / "other" / CONFIG).write_text(json.dumps(config | {"vocab_size": 7999}))
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_model("other", tmp_path)


def test_the_weights_cannot_be_changed() -> None:
    for weight in load_model(TRANSLATOR).weights.values():
        with pytest.raises(ValueError, match="read-only"):
            weight[...] = 0


@pytest.mark.parametrize("example", load_model(TRANSLATOR).about.examples, ids=lambda one: one.label)
def test_every_example_says_what_it_is_held_to(example) -> None:  # type: ignore[no-untyped-def]
    written = trace(load_model(TRANSLATOR), example.sentence).translation
    assert not example.says or written.rstrip(".") == example.says.rstrip("."), written
