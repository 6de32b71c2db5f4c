"""Names beyond a folder with all its files: a model that shares a vocabulary, and the weights of one training step."""

import dataclasses
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from model.build import build_model
from model.config import PRESETS
from model.files import checkpoint
from model.files.checkpoint import CONFIG, TOKENIZER, WEIGHTS, CheckpointError, save_weights, snapshot
from model.files.loaded_model import (
    MODELS,
    TRANSLATOR,
    UNTRAINED,
    UnknownModelError,
    load_folder,
    load_model,
    model_names,
    sibling_names,
    snapshot_steps,
)
from model.files.model_card import FILE
from model.trace import trace

PLAIN = "plain-1"
STEPS = (7, 500, 12000)
# What a clone of the project may hold of weights: 200, 40 for the kinds of attention, and 60 for BERT's descendants
MOST_BYTES = 300_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The translator, and a small model without a vocabulary of its own, with weights of three steps."""
    config = dataclasses.replace(PRESETS["sibling"], d_model=12, n_heads=3, d_ff=5)
    (tmp_path / TRANSLATOR).symlink_to(MODELS / TRANSLATOR)
    folder = tmp_path / "small"
    checkpoint.save(folder, config, checkpoint.load_tokenizer(), build_model(config).state_dict())
    (folder / TOKENIZER).unlink()
    (folder / FILE).write_text(json.dumps({"title": "Small", "vocabulary_of": TRANSLATOR}))
    (folder / checkpoint.SNAPSHOTS).mkdir()
    for step in STEPS:
        torch.manual_seed(step)
        save_weights(folder / snapshot(step), build_model(config).state_dict())
    return tmp_path


def test_a_shared_vocabulary_cuts_as_that_of_its_owner_and_its_words_are_shared(root: Path) -> None:
    small, translator = load_model("small", root), load_model(TRANSLATOR)
    text = "My neighbour's cat doesn't like the rain, does it?"
    assert small.tokenizer.encode(text) == translator.tokenizer.encode(text)
    assert small.vocabulary_name == translator.vocabulary_name == TRANSLATOR
    assert (small.name, small.about.title, small.about.telling) == ("small", "Small", None)
    for shared in ("source", "target", "language", "examples", "surprises", "everyday"):
        assert getattr(small.about, shared) == getattr(translator.about, shared) != ""
    assert load_folder(root / "small").about == small.about


@pytest.mark.parametrize("owner", ["nobody", "../translator", "..", 3, ["translator"], {"a": 1}])
@pytest.mark.parametrize("field", ["vocabulary_of", "untrained_like"])
def test_words_that_name_no_model_are_refused_in_one_sentence(root: Path, field: str, owner: object) -> None:
    (root / "small" / FILE).write_text(json.dumps({"title": "Small", field: owner}))
    expected = rf"small/{FILE} cannot be read \(there is no model named {re.escape(repr(str(owner)))}\)\. To restore it"
    with pytest.raises(CheckpointError, match=expected):
        load_model("small", root)


def test_an_owner_without_a_vocabulary_is_named(root: Path) -> None:
    shutil.copytree(root / "small", root / "other")
    (root / "small" / FILE).write_text('{"title": "Small", "vocabulary_of": "other"}')
    with pytest.raises(CheckpointError, match=rf"other/{TOKENIZER} is missing"):
        load_model("small", root)


def test_each_step_is_a_model_of_its_own(root: Path) -> None:
    assert snapshot_steps("small", root) == STEPS
    for step in STEPS:
        loaded = load_model(f"small@{step}", root)
        assert loaded.name == f"small@{step}"
        assert loaded.about.title == f"Small, after {step:,} steps"
        assert loaded.vocabulary_name == TRANSLATOR
        stored = load_file(root / "small" / "snapshots" / f"{step:05}.safetensors")
        assert stored.keys() == loaded.weights.keys()
        assert all(np.array_equal(stored[name].astype(np.float32), w) for name, w in loaded.weights.items())


def test_steps_are_no_models_in_the_list_and_other_models_have_none(root: Path) -> None:
    assert model_names(root) == ("small", TRANSLATOR)
    assert snapshot_steps(TRANSLATOR, root) == snapshot_steps("nobody", root) == snapshot_steps("..", root) == ()


@pytest.mark.parametrize("step", ["", "8", "07", "007", "-7", "7.0", "7 ", "seven", "../00007", "7@7", "٧", "9" * 500])
def test_an_unknown_step_is_quoted_and_the_known_ones_are_listed(root: Path, step: str) -> None:
    shown = re.escape(repr(step[:40]))
    expected = rf"^There are no weights of small at step {shown}; there are 7, 500, 12000\.$"
    with pytest.raises(UnknownModelError, match=expected):
        load_model(f"small@{step}", root)


def test_a_model_without_steps_says_so(root: Path) -> None:
    expected = "^There are no weights of translator at step '0'; none of its steps are kept.$"
    with pytest.raises(UnknownModelError, match=expected):
        load_model("translator@0", root)
    with pytest.raises(UnknownModelError, match=r"^There is no model named ''; there are small, translator\.$"):
        load_model("@500", root)


@pytest.mark.parametrize("name", ["small", "small@7", "small@untrained"])
def test_every_model_has_an_untrained_one_of_its_shape(root: Path, name: str) -> None:
    loaded = load_model(name, root)
    assert loaded.untrained_name == "small@untrained"
    untrained = load_model(loaded.untrained_name, root)
    torch.manual_seed(0)
    drawn = build_model(loaded.config).state_dict()
    assert untrained.weights.keys() == drawn.keys() == loaded.weights.keys()
    assert all(np.array_equal(drawn[key].numpy(), w) for key, w in untrained.weights.items())
    assert (untrained.name, untrained.about.title) == ("small@untrained", "Small, untrained")
    assert untrained.tokenizer.encode("Go on.") == loaded.tokenizer.encode("Go on.")
    assert untrained.vocabulary_name == TRANSLATOR


@pytest.mark.parametrize("name", [TRANSLATOR, UNTRAINED])
def test_the_translators_untrained_one_has_a_name_of_its_own(name: str) -> None:
    assert load_model(name).untrained_name == UNTRAINED
    with pytest.raises(UnknownModelError, match="of untrained at step 'untrained'"):
        load_model("untrained@untrained")


def test_damaged_weights_of_a_step_are_named(root: Path) -> None:
    (root / "small" / snapshot(7)).write_text("no weights")
    with pytest.raises(CheckpointError, match=r"small/snapshots/00007\.safetensors cannot be read"):
        load_model("small@7", root)


def test_files_of_other_names_are_no_steps(root: Path) -> None:
    for name in ("best", "1e3", "-1"):
        (root / "small" / "snapshots" / f"{name}.safetensors").write_text("")
    assert snapshot_steps("small", root) == STEPS


# --- those that come with the app ------------------------------------------------------------------------------------


def test_all_models_together_take_at_most_300_mb() -> None:
    assert sum(path.stat().st_size for path in MODELS.rglob("*") if path.is_file()) <= MOST_BYTES


@pytest.mark.parametrize("name", sibling_names())
def test_each_sibling_has_its_files_and_weights_of_half_precision(name: str) -> None:
    files = {path.name for path in (MODELS / name).iterdir()}
    measured = {"routing.json"} if name.startswith("experts-") else {"forming.json"} & files
    assert files - {checkpoint.SNAPSHOTS} == measured | {
        CONFIG,
        WEIGHTS,
        FILE,
        "metrics.json",
        "log.json",
        "README.md",
    }
    for path in (MODELS / name).rglob("*.safetensors"):
        assert {array.dtype for array in load_file(path).values()} == {np.dtype(np.float16)}


@pytest.mark.skipif(PLAIN not in sibling_names(), reason="it is not here")
def test_the_plain_sibling_learned_from_its_first_step_to_its_last() -> None:
    steps = snapshot_steps(PLAIN)
    assert steps == (0, 50, 100, 200, 400, 700, 1000, 1500, 2000, 3000, 5000, 6000)
    german = "Tom isst gerne Äpfel."
    first, last, kept = (
        np.mean(np.log(trace(load_model(name), "Tom likes apples.", target=german).probabilities))
        for name in (f"{PLAIN}@0", f"{PLAIN}@6000", PLAIN)
    )
    assert first == pytest.approx(-np.log(8000), abs=1), "as good as a guess"
    assert min(last, kept) > first / 3
