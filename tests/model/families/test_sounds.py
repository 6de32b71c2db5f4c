"""Readers of sound: against the library's, and what they may hear."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import ASTConfig, ASTForAudioClassification

from hub.export.ast import their_config, their_weights
from model.anatomy.describe import anatomy_of
from model.build_beyond_text import build_sound, build_strips
from model.families.sounds import SoundConfig, SpectrogramTransformer, StripReader
from model.files import checkpoint
from model.files.load_sounds import (
    CONFIGS,
    NAMES,
    config_file,
    load_sound,
    load_strips,
    new_reader,
    samples,
    trace_sound,
    trace_strips,
)
from model.interventions import Interventions
from model.sound.ctc import collapsed
from model.tap import Recorder

SMALL = SoundConfig(
    pitches=6, frames=12, high=3, wide=4, n_classes=7, d_model=10, n_heads=2, n_layers=2, d_ff=11
)  # six patches, or three strips
LENGTHS = {"pitch": 6, "frame": 12, "cell": 12, "classes": 7, "one": 1, "head": 2, "d_k": 5, "d_model": 10, "d_ff": 11}


def stirred(model: SpectrogramTransformer | StripReader) -> SpectrogramTransformer | StripReader:
    torch.manual_seed(0)
    for parameter in model.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def test_with_equal_weights_it_says_what_the_librarys_says() -> None:
    model = stirred(build_sound(SoundConfig(n_layers=2)))
    config = SoundConfig(n_layers=2)
    theirs = ASTForAudioClassification(ASTConfig(**their_config(config), attn_implementation="eager")).eval()
    theirs.load_state_dict(their_weights(model.state_dict(), config))
    sounds, recorder = torch.rand(3, config.pitches, config.frames), Recorder()
    with torch.no_grad():
        logits = model(sounds, recorder)
        expected = theirs(sounds.transpose(1, 2), output_attentions=True)
    assert torch.allclose(logits, expected.logits, atol=1e-5)
    for n, weights in enumerate(expected.attentions):
        assert torch.allclose(recorder.tensors[f"encoder.layers.{n}.self_attn.weights"], weights, atol=1e-6)


@pytest.mark.parametrize("kind", ["patches", "strips"])
def test_its_description_names_every_value_and_what_it_was_made_of(kind: str) -> None:
    if kind == "patches":
        model, sizes = build_sound(SMALL), LENGTHS | {"patch": 6, "src": 8}
    else:
        model, sizes = build_strips(SMALL), LENGTHS | {"cell": 24, "src": 3, "classes": 8}
    recorder = Recorder()
    with torch.no_grad():
        model(torch.rand(2, 6, 12), tap=recorder)
    anatomy = anatomy_of(model)
    assert recorder.tensors.keys() == anatomy.tensors.keys()
    for name, made in anatomy.tensors.items():
        tensor = recorder.tensors[name]
        shape = [n for n in tensor.shape[tensor.dim() > len(made.axes) :] if n > 1]
        assert shape == [sizes[axis] for axis in made.axes if sizes[axis] > 1], name
        assert {*made.reads} <= anatomy.tensors.keys()
    used = {weight for made in anatomy.tensors.values() for weight in made.weights}
    assert used == {key for key, _ in model.named_parameters()}


def test_padding_behind_a_recording_changes_nothing() -> None:
    model = stirred(build_strips(SMALL))
    short = torch.rand(1, 6, 8)
    longer = torch.cat([short, torch.rand(1, 6, 4)], 2)
    with torch.no_grad():
        alone = model(short)
        padded = model(torch.cat([longer, torch.rand(1, 6, 12)]), torch.tensor([2, 3]))
        assert torch.allclose(padded[:1, :2], alone, atol=1e-6)
        assert not torch.allclose(model(longer)[:, :2], alone, atol=1e-3)


def test_patches_that_do_not_fill_the_spectrogram_are_named() -> None:
    with pytest.raises(ValueError, match="40 pitches × 64 frames are no whole number of patches of 8 × 7"):
        SoundConfig(wide=7)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Readers that have learned nothing."""
    made = tmp_path_factory.mktemp("sounds")
    torch.manual_seed(0)
    for name in NAMES:
        checkpoint.save_weights(made / f"{name}.safetensors", new_reader(name, CONFIGS[name]).state_dict())
        (made / config_file(name)).write_text(json.dumps(asdict(CONFIGS[name])))
    return made


def test_a_sound_is_traced_with_its_rows_and_its_digit(folder: Path) -> None:
    loaded, sound = load_sound("voices", folder), np.random.default_rng(1).random((40, 64), np.float32)
    read = trace_sound(loaded, sound)
    assert [token.text for token in read.src] == ["[class]", "[distilled]", *map(str, range(1, 41))]
    assert read.translation == read.labels[0].text == str(read.tensors["logits"][0].argmax())
    assert read.tensors["encoder.layers.2.self_attn.weights"].shape == (4, 42, 42)
    hidden = trace_sound(loaded, sound, Interventions(blocked=(5,)))
    assert not hidden.tensors["encoder.layers.0.self_attn.weights"][:, :, 5].any()
    with pytest.raises(ValueError, match="read-only"):
        read.tensors["logits"][0] = 0


def test_strips_are_traced_with_what_each_says(folder: Path) -> None:
    read = trace_strips(load_strips(folder), np.random.default_rng(1).random((40, 30), np.float32))
    path = read.tensors["logits"].argmax(-1)
    assert len(read.src) == len(read.labels) == len(path) == 7
    assert [token.text for token in read.labels] == ["–" if one == 0 else str(one - 1) for one in path]
    assert read.translation == " ".join(str(one) for one in collapsed(path.tolist()))


def test_a_damaged_file_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(checkpoint.CheckpointError, match=r"joined\.config\.json"):
        load_strips(tmp_path)
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    with pytest.raises(checkpoint.CheckpointError, match=r"voices\.safetensors"):
        load_sound("voices", tmp_path)
    with pytest.raises(checkpoint.CheckpointError, match=r"samples\.safetensors"):
        samples(tmp_path)
