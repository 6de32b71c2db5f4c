"""A decoder alone and an encoder alone against transformers' GPT-2 and BERT, and the way back."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoModelForPreTraining, AutoTokenizer

from hub.export.folder import export, main, restore
from hub.export.gpt2 import their_config
from model.decoding.strategies import Greedy
from model.files import checkpoint
from model.files.checkpoint import CONFIG, TOKENIZER, WEIGHTS, CheckpointError
from model.text.tokenizer import CLS_ID, MASK_ID, PAD_ID, SEP_ID, SOS_ID
from model.trace import trace
from tests.family import FAMILY, SIZES, small
from tests.small import SENTENCES

pytestmark = pytest.mark.slow  # writes and reads whole models

TEXTS = ("The cat sat on the mat.", "Tom  has “2” dogs", "<sos> is typed, [CLS] too")


@dataclass(frozen=True)
class Exported:
    """One model of the family in a folder of ours, exported into another, and opened from there."""

    name: str
    ours: Path
    folder: Path
    tokenizer: Any
    model: Any
    loading: Mapping[str, Any]


@pytest.fixture(scope="module", params=FAMILY)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    name, folder = request.param, tmp_path_factory.mktemp(request.param)
    loaded, ours, theirs = small(name), folder / "ours", folder / "theirs"
    checkpoint.save(ours, loaded.config, loaded.tokenizer, loaded.model.state_dict())
    (ours / "README.md").write_text("---\nlicense: mit\n---\n# A card\n")
    export(theirs, ours)
    opens = AutoModelForCausalLM if name == "gpt-mini" else AutoModelForPreTraining
    model, loading = opens.from_pretrained(theirs, output_loading_info=True)
    return Exported(name, ours, theirs, AutoTokenizer.from_pretrained(theirs), model.eval(), loading)


def test_the_architecture_is_theirs_and_no_weight_is_left_over(exported: Exported) -> None:
    expected = {"gpt-mini": "GPT2LMHeadModel", "bert-mini": "BertForPreTraining"}
    assert type(exported.model).__name__ == expected[exported.name]
    assert not any(exported.loading.values()), exported.loading


@torch.inference_mode()
def test_transformers_computes_the_same_logits(exported: Exported) -> None:
    ours, _ = checkpoint.load(exported.ours)
    ids = torch.randint(6, 300, (3, SIZES["max_len"]), generator=torch.Generator().manual_seed(5))
    if exported.name == "gpt-mini":
        assert torch.allclose(exported.model(ids).logits, ours(ids), atol=1e-4)
        return
    segments, ids[0, 13:] = (torch.arange(ids.size(1)) > 8).long().expand(3, -1), PAD_ID
    out = exported.model(ids, attention_mask=ids != PAD_ID, token_type_ids=segments)
    logits, next_sentence = ours(ids, segments)
    assert torch.allclose(out.prediction_logits[ids != PAD_ID], logits[ids != PAD_ID], atol=1e-4)
    assert torch.allclose(out.seq_relationship_logits, next_sentence[:, 0], atol=1e-4)


@pytest.mark.parametrize("exported", ["gpt-mini"], indirect=True)
@torch.inference_mode()
def test_greedy_writing_is_the_same(exported: Exported) -> None:
    """Each first half of a sentence is gone on with, as far as the model has positions."""
    ours = replace(small("gpt-mini"), model=checkpoint.load(exported.ours)[0])
    for prompt in (sentence[: len(sentence) // 2] for sentence in SENTENCES):
        inputs = exported.tokenizer(prompt, return_tensors="pt")
        theirs = exported.model.generate(**inputs, max_length=30, do_sample=False)[0].tolist()
        assert theirs == [SOS_ID, *trace(ours, prompt, decoding=Greedy(29)).label_ids]


def test_the_tokenizer_frames_a_text_as_the_trace_does(exported: Exported) -> None:
    ours = small(exported.name).tokenizer
    for text in TEXTS[:2] if exported.name == "bert-mini" else TEXTS:
        ids = ours.encode(text.replace("“", '"').replace("”", '"').replace("  ", " "))
        framed = [SOS_ID, *ids] if exported.name == "gpt-mini" else [CLS_ID, *ids, SEP_ID]
        assert exported.tokenizer(text).input_ids == framed


@pytest.mark.parametrize("exported", ["bert-mini"], indirect=True)
def test_a_typed_mask_is_a_gap_and_two_texts_are_two_segments(exported: Exported) -> None:
    ours, whole = small("bert-mini").tokenizer, "The cat sat on the mat."
    ids = [CLS_ID, *ours.encode(whole), SEP_ID]
    gap = [id for id in ids if id not in ours.encode("cat")]
    gap.insert(ids.index(ours.encode("cat")[0]), MASK_ID)
    assert exported.tokenizer("The [MASK] sat on the mat.").input_ids == gap
    assert exported.tokenizer("[MASK] cat").input_ids == [CLS_ID, MASK_ID, *ours.encode("cat"), SEP_ID]
    pair, (first, second) = exported.tokenizer("The cat", "A dog"), (ours.encode("The cat"), ours.encode("A dog"))
    assert pair.input_ids == [CLS_ID, *first, SEP_ID, *second, SEP_ID]
    assert pair.token_type_ids == [0] * (len(first) + 2) + [1] * (len(second) + 1)


def test_there_and_back_changes_nothing(exported: Exported, tmp_path: Path) -> None:
    restore(tmp_path, exported.folder)
    for file in (CONFIG, TOKENIZER):
        assert json.loads((tmp_path / file).read_text()) == json.loads((exported.ours / file).read_text())
    before, after = (load_file(folder / WEIGHTS) for folder in (exported.ours, tmp_path))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_model_with_biases_in_its_attention_is_refused(exported: Exported, tmp_path: Path) -> None:
    for path in exported.folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = load_file(exported.folder / WEIGHTS)
    bias = next(n for n in weights if n.endswith(("attn.c_proj.bias", "attention.self.key.bias")))
    save_file({**weights, bias: weights[bias] + 1}, tmp_path / WEIGHTS, metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match=f"{bias} has no place in a model of this project"):
        restore(tmp_path / "out", tmp_path)


@torch.inference_mode()
def test_the_card_says_how_to_open_it_and_that_works(
    exported: Exported, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    card = (exported.folder / "README.md").read_text()
    code = card.partition("```python\n")[2].partition("```")[0]
    assert card.startswith("---\nlicense: mit\n---\n# A card\n")
    exec(code.replace('"FOLDER"', f"{str(exported.folder)!r}").replace("topk(5)", "topk(3)"), {})
    assert capsys.readouterr().out.strip()


def test_a_part_that_gpt2_has_not_is_named() -> None:
    with pytest.raises(ValueError, match="GPT-2 has no positions='rotary', only 'learned'"):
        their_config(replace(small("gpt-mini").config, positions="rotary"))


def test_the_command_takes_a_name_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["export", "plain-9", str(tmp_path / "out")])
    assert main() == 1
    assert capsys.readouterr().err.startswith("There is no model named 'plain-9'")
    for name, d_model in (("plain-1", 128), ("", 256)):  # without a name it is the translator
        monkeypatch.setattr(sys, "argv", ["export", *filter(None, [name]), str(tmp_path / "out")])
        assert main() == 0
        assert "Written to" in capsys.readouterr().out
        config = json.loads((tmp_path / "out" / "config.json").read_text())
        assert (config["model_type"], config["d_model"]) == ("marian", d_model)
        assert "BLEU" in (tmp_path / "out" / "README.md").read_text()
