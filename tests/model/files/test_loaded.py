"""Models by name: loaded whole or refused in one sentence; the untrained one is just another name."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from model.files.checkpoint import CONFIG, TOKENIZER, WEIGHTS, CheckpointError
from model.files.loaded_model import (
    MODELS,
    TRANSLATOR,
    UNTRAINED,
    UnknownModelError,
    load_folder,
    load_model,
    model_names,
)
from model.files.model_card import FILE
from model.parts.fp16_matmul import bytes_in_16_bits
from model.trace import trace


def test_every_folder_with_words_about_it_is_a_model() -> None:
    assert {TRANSLATOR, UNTRAINED} <= set(model_names())
    assert all((MODELS / name / FILE).exists() for name in model_names())


def test_names_come_in_alphabetical_order_however_the_disk_lists_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("b", "c", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / FILE).write_text("{}")
    (tmp_path / "no-words-about-it").mkdir()
    glob = Path.glob
    for backwards in (False, True):
        monkeypatch.setattr(Path, "glob", lambda *a, b=backwards: iter(sorted(glob(*a), reverse=b)))
        assert model_names(tmp_path) == ("a", "b", "c")


def test_a_folder_without_words_about_it_is_called_by_its_name(tmp_path: Path) -> None:
    for file in (CONFIG, TOKENIZER, WEIGHTS):
        (tmp_path / "fresh").mkdir(exist_ok=True)
        shutil.copyfile(MODELS / TRANSLATOR / file, tmp_path / "fresh" / file)
    loaded = load_folder(tmp_path / "fresh")
    assert (loaded.name, loaded.about.title, loaded.about.examples) == ("fresh", "fresh", ())


def test_an_unknown_name_is_quoted_and_the_known_ones_are_listed() -> None:
    with pytest.raises(UnknownModelError, match=r"^There is no model named '\.\./x'; there are .*translator.*\.$"):
        load_model("../x")
    with pytest.raises(UnknownModelError, match=r"^There is no model named 'x{40}'; there are "):
        load_model("x" * 1000)


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
    weights = load_model(TRANSLATOR).weights
    for name, weight in weights.items():
        with pytest.raises(ValueError, match="read-only"):
            weight[...] = 0
        with pytest.raises(TypeError):
            weights[name] = weight  # type: ignore[index]


@pytest.mark.parametrize("example", load_model(TRANSLATOR).about.examples, ids=lambda one: one.label)
def test_every_example_says_what_it_is_held_to(example) -> None:  # type: ignore[no-untyped-def]
    written = trace(load_model(TRANSLATOR), example.sentence).translation
    assert not example.says or written.rstrip(".") == example.says.rstrip("."), written


def test_layers_and_heads_of_the_words_count_from_1_and_of_the_code_from_0() -> None:
    written = json.loads((MODELS / TRANSLATOR / FILE).read_text(encoding="utf-8"))["telling"]
    telling = load_model(TRANSLATOR).about.telling
    assert telling is not None
    assert {kind: (one.layer + 1, one.head + 1, one.looks_at) for kind, one in telling.items()} == {
        kind: (one["layer"], one["head"], one["looks_at"]) for kind, one in written.items()
    }


def test_the_untrained_model_keeps_the_languages_but_no_telling_head() -> None:
    trained, untrained = load_model(TRANSLATOR).about, load_model(UNTRAINED).about
    assert (untrained.source, untrained.target, untrained.examples) == (
        trained.source,
        trained.target,
        trained.examples,
    )
    assert untrained.title != trained.title
    assert (trained.telling is None, untrained.telling) == (False, None)


def test_the_seed_in_the_words_decides_on_the_random_weights(tmp_path: Path) -> None:
    shutil.copytree(MODELS / TRANSLATOR, tmp_path / TRANSLATOR)
    for seed in (0, 1):
        (tmp_path / f"seed-{seed}").mkdir()
        words = {"title": "Random", "untrained_like": TRANSLATOR, "seed": seed}
        (tmp_path / f"seed-{seed}" / FILE).write_text(json.dumps(words))
    same, other = (load_model(f"seed-{seed}", tmp_path).weights for seed in (0, 1))
    shipped, name = load_model(UNTRAINED).weights, "encoder.layers.0.self_attn.w_q.weight"
    assert np.array_equal(same[name], shipped[name])
    assert not np.array_equal(other[name], shipped[name])


def test_the_bytes_and_the_parameters_are_counted() -> None:
    loaded = load_model(TRANSLATOR)
    assert loaded.n_parameters == sum(weight.size for weight in loaded.weights.values())
    in_16_bits = sum(bytes_in_16_bits(weight) for weight in loaded.model.parameters())
    assert loaded.nbytes == 4 * loaded.n_parameters + in_16_bits  # float32, and the copies that products read
