"""A model survives the disk, and a damaged file is named together with its repair."""

import dataclasses
import json
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

from model.families.encoder_decoder import EncoderDecoder
from model.files import checkpoint
from model.files.checkpoint import CheckpointError
from model.text.tokenizer import Tokenizer
from tests.small import CONFIG, random_model


@pytest.fixture
def folder(tmp_path: Path, tokenizer: Tokenizer) -> Path:
    checkpoint.save(tmp_path / "deep" / "model", CONFIG, tokenizer, random_model().state_dict())
    return tmp_path / "deep" / "model"


def test_a_model_survives_the_disk(tmp_path: Path, tokenizer: Tokenizer, model: EncoderDecoder) -> None:
    checkpoint.save(tmp_path, CONFIG, tokenizer, model.state_dict())
    loaded, loaded_tokenizer = checkpoint.load(tmp_path)
    assert checkpoint.load_config(tmp_path) == CONFIG
    assert loaded_tokenizer.encode("The cat didn't.") == tokenizer.encode("The cat didn't.")
    assert loaded.state_dict().keys() == model.state_dict().keys()
    assert {weight.dtype for weight in load_file(tmp_path / checkpoint.WEIGHTS).values()} == {torch.float16}
    for name, weight in model.state_dict().items():
        assert_close(loaded.state_dict()[name], weight, atol=1e-7, rtol=2**-11)  # half a unit of fp16's last place


def test_a_loaded_model_is_ready_to_serve(folder: Path) -> None:
    model, _ = checkpoint.load(folder)
    assert not any(module.training for module in model.modules())
    assert all(p.dtype == torch.float32 and not p.requires_grad for p in model.parameters())


def test_the_twin_has_the_shape_but_not_the_weights(folder: Path) -> None:
    model, _ = checkpoint.load(folder)
    random_state = torch.random.get_rng_state()
    twin, again, other = (
        checkpoint.load_untrained(folder),
        checkpoint.load_untrained(folder),
        checkpoint.load_untrained(folder, seed=1),
    )
    assert torch.equal(torch.random.get_rng_state(), random_state)
    assert not twin.training
    matrices = [name for name, weight in model.state_dict().items() if weight.dim() > 1]
    for name in matrices:
        weight = twin.state_dict()[name]
        assert weight.shape == model.state_dict()[name].shape
        assert torch.equal(weight, again.state_dict()[name])
        assert not torch.equal(weight, other.state_dict()[name])
        assert not torch.allclose(weight, model.state_dict()[name], atol=1e-2)


@pytest.mark.parametrize("name", [checkpoint.CONFIG, checkpoint.TOKENIZER, checkpoint.WEIGHTS])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "nonsense"])
def test_a_damaged_file_is_named_with_its_repair(folder: Path, name: str, damage: str) -> None:
    path = folder / name
    whole = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "nonsense": b"\xff\x00" * 50}[damage])
    with pytest.raises(CheckpointError) as caught:
        checkpoint.load(folder)
    message = str(caught.value)
    assert message.startswith(f"The model file {path} {'is missing' if damage == 'missing' else 'cannot be read ('}")
    assert message.endswith(f"To restore it, run in the project's folder: git checkout -- {folder}")


def test_a_shipped_file_is_named_from_the_project_on() -> None:
    path = checkpoint.SHIPPED / checkpoint.CONFIG
    said = str(checkpoint.broken(path, PermissionError(13, "Permission denied", str(path))))
    place = "assets/models/translator/config.json"
    assert said.startswith(f"The model file {place} cannot be read ([Errno 13] Permission denied: ")
    assert said.endswith("To restore it, run in the project's folder: git checkout -- assets/models/translator")
    assert str(checkpoint.PROJECT) not in said


@pytest.mark.parametrize("change", [{"d_model": 41}, {"n_heads": 4}, {"n_heads": 0}, {"colour": "red"}])
def test_a_config_that_cannot_be_is_named(folder: Path, change: dict[str, object]) -> None:
    path = folder / checkpoint.CONFIG
    path.write_text(json.dumps(dataclasses.asdict(CONFIG) | change))
    with pytest.raises(CheckpointError, match=r"config\.json cannot be read \(.*(41|42|by zero|colour)"):
        checkpoint.load_config(folder)


def test_weights_of_another_shape_are_named(folder: Path) -> None:
    other = dataclasses.replace(CONFIG, d_ff=59)
    (folder / checkpoint.CONFIG).write_text(json.dumps(dataclasses.asdict(other)))
    with pytest.raises(CheckpointError, match=r"model\.safetensors cannot be read \((?s:.*)size mismatch"):
        checkpoint.load(folder)


def test_loading_draws_no_random_number(folder: Path) -> None:
    before = torch.get_rng_state()
    checkpoint.load(folder)
    assert torch.equal(torch.get_rng_state(), before)


def test_models_share_a_tokenizer_until_its_file_changes(folder: Path, tokenizer: Tokenizer) -> None:
    first = checkpoint.load_tokenizer(folder)
    assert checkpoint.load_tokenizer(folder) is first
    os.utime(folder / checkpoint.TOKENIZER, ns=(1, 1))
    assert checkpoint.load_tokenizer(folder) is not first
