"""The exported folder against transformers' own Marian: another library's code, the same numbers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from hub.export.folder import export, format_of, restore
from hub.export.marian import their_config
from hub.open_models import own_models
from model.build import build_network
from model.config import ModelConfig
from model.decoding.strategies import Beam, Greedy
from model.files.checkpoint import CONFIG, SHIPPED, TOKENIZER, WEIGHTS, CheckpointError, load_config
from model.files.loaded_model import MODELS, LoadedModel, load_folder, model_names
from model.text.tokenizer import EOS_ID, normalise
from model.trace import MAX_TOKENS, trace
from model.translate import translate

pytestmark = pytest.mark.slow  # writes and reads whole models

SENTENCES = (
    "I ate an apple.",
    "Go",
    "The animal didn't cross the street because it was too wide.",
    "My sister wants to learn German this summer, but she has no time.",
    "ฉันชอบสุนัข",
)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return load_folder()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exported")
    export(path)
    return path


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Iterator[tuple[Any, Any]]:
    model, loading = AutoModelForSeq2SeqLM.from_pretrained(folder, output_loading_info=True)
    assert not any(loading.values()), loading
    with torch.inference_mode():
        yield AutoTokenizer.from_pretrained(folder), model.eval()


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_logits_are_the_same(sentence: str, loaded: LoadedModel, theirs: tuple[Any, Any]) -> None:
    tokenizer, model = theirs
    ours = trace(loaded, sentence)
    read = tokenizer(sentence, return_tensors="pt")
    assert read.input_ids[0].tolist() == [token.id for token in ours.src]
    logits = model(**read, decoder_input_ids=torch.tensor([[token.id for token in ours.tgt]])).logits[0]
    assert torch.allclose(logits, torch.tensor(ours.tensors["logits"]), atol=1e-5, rtol=1e-6)


@pytest.mark.parametrize("beams", [1, 4])
@pytest.mark.parametrize("sentence", SENTENCES[:4])
def test_the_translations_are_the_same(sentence: str, beams: int, loaded: LoadedModel, theirs: tuple[Any, Any]) -> None:
    """With α = 0 both searches rank by the plain sum of log-probabilities; both stop at four finished sentences."""
    tokenizer, model = theirs
    ids = model.generate(
        **tokenizer(sentence, return_tensors="pt"), num_beams=beams, length_penalty=0.0, early_stopping=True
    )
    decoding = Greedy(MAX_TOKENS) if beams == 1 else Beam(beams, length_penalty=0.0, max_steps=MAX_TOKENS)
    assert tokenizer.decode(ids[0], skip_special_tokens=True).strip() == translate(loaded, sentence, decoding)


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=30))
def test_whatever_is_typed_becomes_the_same_ids(text: str, loaded: LoadedModel, theirs: tuple[Any, Any]) -> None:
    text = text.encode(errors="ignore").decode()  # no tokenizer of theirs takes lone surrogates
    ours = loaded.tokenizer.encode(normalise(text))
    found = theirs[0](text).input_ids
    assert found[-1] == EOS_ID
    if ours:  # of nothing, ours makes nothing, theirs one space
        assert found[:-1] == ours


def test_there_and_back_changes_nothing(folder: Path, tmp_path: Path) -> None:
    restore(tmp_path, folder)
    assert load_config(tmp_path) == load_config(SHIPPED)
    assert json.loads((tmp_path / TOKENIZER).read_text()) == json.loads((SHIPPED / TOKENIZER).read_text())
    before, after = (load_file(path / WEIGHTS) for path in (SHIPPED, tmp_path))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_what_was_not_exported_from_here_is_refused(tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_text(json.dumps({"model_type": "bert", "vocab_size": 7}))
    with pytest.raises(CheckpointError, match="holds no model that was exported from here"):
        restore(tmp_path / "out", tmp_path)


def test_only_a_model_with_marians_parts_can_be_exported() -> None:
    with pytest.raises(ValueError, match=r"^Marian has no positions='rotary', only 'sinusoidal'$"):
        their_config(ModelConfig(positions="rotary"))


@pytest.mark.parametrize("name", [name for name in model_names() if (MODELS / name / CONFIG).exists()])
def test_each_model_fits_the_class_that_opens_it_or_is_refused(name: str) -> None:
    config = load_config(MODELS / name)
    try:
        form = format_of(config)
        described = form.config(config)
    except ValueError:
        assert name not in own_models().values()
        return
    with torch.device("meta"):
        ours = form.weights(build_network(config).state_dict(), config)
        theirs = getattr(transformers, described["architectures"][0])(
            transformers.CONFIG_MAPPING[form.name](**described)
        )
    loaded = {key: weight.shape for key, weight in theirs.state_dict().items()}
    assert {key: loaded[key] for key in ours} == {key: weight.shape for key, weight in ours.items()}
    assert not {key for key in dict(theirs.named_parameters()) if "embed_positions" not in key} - {*ours}
