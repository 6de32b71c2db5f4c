"""Readers of digits against transformers' ViT and AST, by way of the folder that the command writes."""

import sys
from pathlib import Path

import pytest
import torch
from transformers import ASTForAudioClassification, ViTForImageClassification

from experiments.sounds.listening import in_patches, said
from hub.export.folder import main
from model.files.load_pictures import load_vision, samples
from model.files.load_sounds import load_sound
from model.files.loaded_model import MODELS


@pytest.mark.parametrize("n", [8000, 500])
def test_transformers_reads_the_digits_alike(
    n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["", f"vit-{n}", str(tmp_path / "vit")])
    assert main() == 0
    assert capsys.readouterr().out == f"Written to {tmp_path / 'vit'}\n"
    theirs, loading = ViTForImageClassification.from_pretrained(tmp_path / "vit", output_loading_info=True)
    assert not any(loading.values()), loading
    pictures = torch.from_numpy(samples()[0])
    with torch.inference_mode():
        found = theirs.eval()(pictures[:, None])
        ours = load_vision(n).model(pictures)
    assert torch.allclose(found.logits, ours, atol=1e-4)
    assert theirs.config.id2label[7] == "7"
    card = (tmp_path / "vit" / "README.md").read_text()
    assert card.startswith((MODELS / "pictures" / "README.md").read_text())
    assert "from transformers import ViTForImageClassification" in card


@pytest.mark.parametrize("name", ["voices", "new-voice"])
def test_transformers_hears_the_digits_alike(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["", f"ast-{name}", str(tmp_path)])
    assert main() == 0
    theirs, loading = ASTForAudioClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(loading.values()), loading
    loaded = load_sound(name)
    sounds = torch.stack([torch.from_numpy(in_patches(loaded.config, said((digit,), 0))) for digit in range(10)])
    with torch.inference_mode():
        found = theirs.eval()(sounds.transpose(1, 2))
        ours = loaded.model(sounds)
    assert torch.allclose(found.logits, ours, atol=1e-4)
    assert theirs.config.id2label[7] == "7"
    card = (tmp_path / "README.md").read_text()
    assert card.startswith((MODELS / "sounds" / "README.md").read_text())
    assert "from transformers import ASTForAudioClassification" in card


def test_an_unknown_name_is_told_those_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["", "vit-9", str(tmp_path)])
    assert main() == 1
    assert "'vit-9'; there are" in (said := capsys.readouterr().err)
    assert "vit-8000, vit-500, ast-voices, ast-new-voice." in said
