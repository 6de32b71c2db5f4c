"""What may be opened: nothing outside the root, nothing but safetensors, and one sentence for everything else."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from explore import folders, hugging_face
from explore.folders import ModelError, Settings, folder_of, listed, weights_size
from explore.hugging_face import load


def model(folder: Path, **config: object) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"} | config))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    model(tmp_path / "models" / "one")
    model(tmp_path / "models" / "group" / "two")
    model(tmp_path / "secret")
    return tmp_path / "models"


def test_models_are_listed_one_and_two_levels_down(root: Path) -> None:
    (root / "link").symlink_to(root.parent / "secret")
    assert listed(root) == ["group/two", "one"]
    assert listed(root / "no-such-folder") == []


def test_a_name_finds_its_folder(root: Path) -> None:
    assert folder_of("one", root) == root / "one"
    assert folder_of(" group/two ", root) == root / "group" / "two"
    assert folder_of("three", root) is None


NASTY = [
    "../secret", "..", "/etc", "one/../../secret", "~", "a/b/c", "one\x00", "", " ", "C:\\x", "file:///etc/passwd",
    "https://example.org/x", "a" * 200, "one;ls", "$(ls)", "<script>", "..%2fsecret", ".hidden", "one/..",
]  # fmt: skip


@pytest.mark.parametrize("name", NASTY)
def test_a_name_that_is_none_is_refused(name: str, root: Path) -> None:
    with pytest.raises(ModelError, match="A model's name is"):
        folder_of(name, root)


def test_a_link_out_of_the_root_is_refused(root: Path) -> None:
    (root / "link").symlink_to(root.parent / "secret")
    with pytest.raises(ModelError, match="outside"):
        folder_of("link", root)


@given(name=st.text(max_size=40))
def test_no_name_leads_outside(name: str) -> None:
    root = Path("/nowhere/models")
    try:
        found = folder_of(name, root)
    except ModelError:
        return
    assert found is None


def test_weights_are_counted_in_memory(root: Path) -> None:
    save_file({"w": torch.zeros(3, 5, dtype=torch.float16)}, root / "one" / "model.safetensors")
    assert weights_size(root / "one", root) == 60


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "model.safetensors is missing"),
        ({"pytorch_model.bin": b"pickle"}, "pickle"),
        ({"model.safetensors": b"rubbish"}, "damaged"),
        ({"model.safetensors.index.json": b'{"weight_map": {"w": "../../secret/model.safetensors"}}'}, "leads out"),
        ({"model.safetensors.index.json": b"[]"}, "list of weight files"),
    ],
)
def test_weights_that_cannot_be_read(files: dict[str, bytes], says: str, root: Path) -> None:
    for name, content in files.items():
        (root / "one" / name).write_bytes(content)
    with pytest.raises(ModelError, match=says):
        weights_size(root / "one", root)


def test_a_file_that_is_a_link_out_is_refused(root: Path) -> None:
    (root / "one" / "tokenizer.json").symlink_to(root.parent / "secret" / "config.json")
    with pytest.raises(ModelError, match="link"):
        weights_size(root / "one", root)


@pytest.mark.parametrize("content", ["", "[]", "{", '"x"'])
def test_a_damaged_configuration(content: str, root: Path) -> None:
    (root / "one" / "config.json").write_text(content)
    with pytest.raises(ModelError, match=r"config\.json"):
        load("one", Settings(root, False, 1))


def test_what_load_refuses(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(root, False, 1)
    with pytest.raises(ModelError, match="There is no model 'three'"):
        load("three", settings)
    with pytest.raises(ModelError, match="no weights"):
        load("one", settings)
    save_file({"w": torch.zeros(3)}, root / "one" / "model.safetensors")
    with pytest.raises(ModelError, match="parts of the model are missing"):
        load("one", settings)
    (root / "one" / "tokenizer.json").write_text("{")
    with pytest.raises(ModelError, match="do not fit together"):
        load("one", settings)
    monkeypatch.setattr(hugging_face, "free_memory", lambda: 10)
    with pytest.raises(ModelError, match="GB of memory"):
        load("one", settings)


def test_memory_is_measured() -> None:
    assert folders.free_memory() > 1e6


def test_settings_of_an_operator(tmp_path: Path) -> None:
    plain = Settings.of({})
    assert plain == Settings(folders.HERE / "models", False, 2)
    found = Settings.of({"WALKTHROUGH_MODELS": str(tmp_path), "WALKTHROUGH_DOWNLOADS": "yes", "WALKTHROUGH_KEPT": "5"})
    assert found == Settings(tmp_path, True, 5)
    assert Settings.of({"WALKTHROUGH_KEPT": "many", "WALKTHROUGH_DOWNLOADS": "no"}) == plain
