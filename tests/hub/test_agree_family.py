"""The command that asks the exported GPT and BERT: it sees that they agree, and would see it if they did not."""

import json
import sys
from pathlib import Path

import pytest
import torch

from hub.export import agree_family
from hub.export.agree_family import agreement
from model.files import checkpoint
from model.files.checkpoint import SHIPPED
from tests.family import FAMILY, SIZES, small
from tests.small import SENTENCES


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(agree_family, "LONGEST", SIZES["max_len"])
    monkeypatch.setattr(agree_family, "WORDS", 2)
    for name in FAMILY:
        loaded = small(name)
        checkpoint.save(tmp_path / name, loaded.config, loaded.tokenizer, loaded.model.state_dict())
    return tmp_path


def test_they_agree(models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = models / "lines.txt"
    lines.write_text("\n\n".join(SENTENCES))
    monkeypatch.setattr(sys, "argv", ["agree", str(lines), "--models", str(models), "--limit", "5"])
    assert agree_family.main() == 0
    gpt, bert = json.loads(capsys.readouterr().out).values()
    assert (gpt["lines"], gpt["same"], bert["lines"]) == (5, 5, 5)
    assert 0 < max(gpt["largest_logit_difference"], bert["largest_logit_difference"]) < 1e-4
    assert "same" not in bert


@pytest.mark.parametrize("name", FAMILY)
def test_another_form_is_seen(models: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """One norm of the exported model is changed behind the export's back."""
    save_file = sys.modules["hub.export.folder"].save_file  # type: ignore[attr-defined]

    def spoil(weights: dict[str, torch.Tensor], path: Path, **more: object) -> None:
        norm = next(key for key in weights if key.endswith(("ln_1.weight", "attention.output.LayerNorm.weight")))
        save_file({**weights, norm: weights[norm].flip(0)}, path, **more)

    monkeypatch.setattr("hub.export.folder.save_file", spoil)
    figures = agreement(models / name, SENTENCES[:3])
    assert figures["largest_logit_difference"] > 1e-2


def test_what_it_cannot_ask_is_said(
    models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=r"^translator is an encoder-decoder: ask hub\.export\.agree$"):
        agreement(SHIPPED, ["Go."])
    monkeypatch.setattr(sys, "argv", ["agree", str(models / "gone.txt")])
    assert agree_family.main() == 1
    assert "gone.txt" in capsys.readouterr().err
