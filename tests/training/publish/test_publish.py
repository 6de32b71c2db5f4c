"""What publishing puts into the app's folder: the run's own files, every figure measured, nothing half done."""

import dataclasses
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from experiments.attention.head_roles import load_measured
from model.build import build_model
from model.config import PRESETS
from model.decoding.strategies import Beam, Decoding, Greedy
from model.files import checkpoint
from model.files.checkpoint import SHIPPED
from model.files.loaded_model import LoadedModel, load_folder, load_model
from model.text.tokenizer import Tokenizer
from tests.training.conftest import PAIRS, write_pairs
from training.distilled import TRAININGS
from training.measure import heads
from training.measure.doubt import on_card
from training.publish import translator as publishing
from training.publish.translator import publish

ROOT = Path(__file__).parents[3]
CONFIG = dataclasses.replace(PRESETS["tiny"], n_layers=3, d_model=20, n_heads=5)
TRAINING = {
    "preset": "tiny", "steps": 12345, "seconds": 4500, "hardware": "an abacus", "pairs": 67890, "data": "a.tsv",
    "also": {"forward.tsv": {"pairs": 11}, "back.tsv": {"pairs": 22}},
    "moved_on": {"share": 0.5}, "validation_bleu": 9.5, "how": "with beads", "teachers": ["teacher-1"],
    "stages": {
        name: {"seconds": 60, "validation_bleu": n, "parts": {"n_layers": 7, "d_model": 99}}
        for n, name in enumerate(("teacher-1", "teacher-2", "student-1", "student-2", "again"))
    },
}  # fmt: skip
SCORES = {
    Beam(4): {False: (41.25, 61.5), True: (31.75, 51.0)},
    Greedy(): {False: (21.5, 59.25)},
}
FILES = {
    "model.safetensors", "config.json", "tokenizer.json", "metrics.json", "README.md", "heads.json", "about.json",
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a training run, of a model with random weights."""
    folder = tmp_path / "run"
    tokenizer = Tokenizer.train((side for pair in PAIRS for side in pair), 331)
    config = dataclasses.replace(CONFIG, vocab_size=tokenizer.vocab_size)
    checkpoint.save(folder, config, tokenizer, build_model(config).state_dict())
    (folder / "training.json").write_text(json.dumps(TRAINING))
    (folder / "state").mkdir()
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "held-out.tsv", [("Tom eats.", "Tom isst."), ("Go!", "Geh!"), ("Go!", "Los!")])


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores that differ with the decoding and the typing, for the groups of the test file alone."""

    def evaluate(
        loaded: LoadedModel, groups: Mapping[str, list[str]], decoding: Decoding, typed: bool = False
    ) -> dict[str, Any]:
        assert groups == {"Tom eats.": ["Tom isst."], "Go!": ["Geh!", "Los!"]}
        assert loaded.config.d_model == CONFIG.d_model
        bleu, chrf = SCORES[decoding][typed]
        return {"bleu": bleu, "chrf": chrf, "sentences": 1234, "bleu_signature": f"signed {decoding} {typed}"}

    monkeypatch.setattr(publishing, "evaluate", evaluate)


@pytest.mark.usefixtures("scored")
def test_the_folder_holds_the_runs_model_and_what_was_measured(run: Path, file: Path, tmp_path: Path) -> None:
    models = tmp_path / "models"
    metrics = publish(run, file, models=models)
    folder = models / "translator"
    assert [path.name for path in models.iterdir()] == ["translator"]
    assert {path.name for path in folder.iterdir()} == FILES
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        assert (folder / name).read_bytes() == (run / name).read_bytes()
    assert json.loads((folder / "metrics.json").read_text()) == metrics
    assert metrics["training"] == TRAINING
    test = metrics["test"]
    assert test.pop("data") == "held-out.tsv"
    assert {name: (row["bleu"], row["chrf"]) for name, row in test.items()} == {
        "beam 4": (41.25, 61.5),
        "greedy": (21.5, 59.25),
        "beam 4, as typed": (31.75, 51.0),
    }
    assert json.loads((folder / "about.json").read_text()) == {"title": "translator"}
    assert load_model("translator", models).n_parameters > 0
    measured = load_measured(load_folder(folder).anatomy, folder)
    assert (measured.file, measured.n_sentences) == ("held-out.tsv", 2)


@pytest.mark.usefixtures("scored")
def test_a_model_is_replaced_only_once_all_is_there(
    run: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    former = tmp_path / "models" / "translator"
    former.mkdir(parents=True)
    (former / "model.safetensors").write_text("former")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(heads, "write", die)
        with pytest.raises(KeyboardInterrupt):
            publish(run, file, models=former.parent)
    assert [(path.name, path.read_text()) for path in former.iterdir()] == [("model.safetensors", "former")]
    publish(run, file, models=former.parent)
    assert [path.name for path in former.parent.iterdir()] == ["translator"]
    assert {path.name for path in former.iterdir()} == FILES


@pytest.mark.usefixtures("scored")
def test_what_people_wrote_about_a_model_stays_and_what_was_measured_is_new(
    run: Path, file: Path, tmp_path: Path
) -> None:
    former = tmp_path / "models" / "translator"
    former.mkdir(parents=True)
    (former / "about.json").write_text('{"title": "The best"}')
    for name in ("english_words.txt", "README.md", "metrics.json", "heads.json"):
        (former / name).write_text("former")
    publish(run, file, models=former.parent)
    assert {path.name for path in former.iterdir()} == FILES | {"english_words.txt"}
    assert load_model("translator", former.parent).about.title == "The best"
    kept = {path.name for path in former.iterdir() if path.read_bytes() == b"former"}
    assert kept == {"english_words.txt"}


@pytest.mark.usefixtures("scored")
def test_another_name_has_its_own_folder_and_words(
    run: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = tmp_path / "words"
    words.mkdir()
    (words / "no-2.md").write_text("Width {d_model}.\n")
    monkeypatch.setattr(publishing, "CARDS", words)
    publish(run, file, "no-2", tmp_path / "models")
    assert (tmp_path / "models" / "no-2" / "README.md").read_text() == "Width 20.\n"


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "A", "a b", "-a", "a.new", "a\n"])
def test_a_name_that_is_no_plain_folder_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(repr(name))} is no name for a model: use small letters"):
        publish(tmp_path, tmp_path, name, tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_a_name_without_words_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^first write the model card's words in training/cards/nobody.md$"):
        publish(tmp_path, tmp_path, "nobody", tmp_path / "models")
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize(("typed", "name"), [([], "translator"), (["other"], "other")])
def test_what_is_typed_reaches_the_publisher(
    typed: list[str], name: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def published(*arguments: object) -> dict[str, Any]:
        assert arguments == (Path("run"), Path("test.tsv"), name)
        return {"training": 1, "test": {"bleu": 2}}

    monkeypatch.setattr(publishing, "publish", published)
    monkeypatch.setattr(sys, "argv", ["publish", "run", "test.tsv", *typed])
    publishing.main()
    assert json.loads(capsys.readouterr().out) == {"bleu": 2}


def test_it_goes_into_the_apps_own_folder() -> None:
    assert publishing.MODELS == ROOT / "assets" / "models"
    others = {
        "parts_of_speech.json",
        "doubt.json",
        "german_words.txt",
        "english_words.txt",
        "latent.json",
        "latent.safetensors",
    }  # which the publisher carries over as they are
    assert {path.name for path in (publishing.MODELS / "translator").iterdir()} == FILES | others


# --- the model that ships ---------------------------------------------------------------------------------------------


@pytest.fixture
def metrics() -> dict[str, Any]:
    return json.loads((SHIPPED / "metrics.json").read_text())


def test_the_shipped_card_says_what_the_shipped_figures_say(metrics: dict[str, Any]) -> None:
    card, training = (SHIPPED / "README.md").read_text(encoding="utf-8"), metrics["training"]
    weights = load_file(SHIPPED / "model.safetensors")
    assert {array.dtype for array in weights.values()} == {np.dtype(np.float16)}
    assert f"\n{sum(array.size for array in weights.values()):,} parameters, 3 + 3 layers, d_model 256, 4 heads" in card
    written, back = (training["also"][file]["pairs"] for file in ("forward.tsv", "back.tsv"))
    assert f"\n{training['pairs']:,} English-German pairs that people wrote, {written:,} English sentences" in card
    assert f"\n{back:,} German sentences translated back" in card
    stages, names = training["stages"], ("german-english", "teacher-1", "teacher-2")
    seconds = training["seconds"] + sum(
        stages[name]["seconds"] for name in ("german-english", "teacher-1", "teacher-2")
    )
    took = f"{seconds / 60:.0f} minutes with its teachers, on {training['hardware']}, {training['how']}."
    assert f"\n{training['steps']:,} steps of this model; {took}\n" in card
    assert f"\nThe student that was not chosen took {stages['student-1']['seconds']} seconds more.\n" in card
    teachers = ", ".join(str(stages[name]["validation_bleu"]) for name in names[1:])
    assert f"\n| the two teachers | {teachers} |\n" in card
    assert f" then moved on by {training['moved_on']['share']} of the way" in card
    for name, words in (
        ("beam 4", "beam 4"),
        ("greedy", "greedy, as the app decodes"),
        ("beam 4, as typed", "beam 4, English as many type it¹"),
    ):
        row = metrics["test"][name]
        assert f"\n| {words} | {row['bleu']} | {row['chrf']} |\n" in card
        assert f"\nOn {row['sentences']:,} sentences " in card
        assert f"Signature: `{row['bleu_signature']}`" in card


def test_publishing_writes_the_shipped_card_from_the_shipped_figures(metrics: dict[str, Any]) -> None:
    weights = SHIPPED / "model.safetensors"
    words = (publishing.CARDS / "translator.md").read_text(encoding="utf-8")
    written = publishing.card(words, load_folder(SHIPPED), metrics, weights)
    written = on_card(written, json.loads((SHIPPED / "doubt.json").read_text()))
    assert written == (SHIPPED / "README.md").read_text(encoding="utf-8")
    assert f" weights as fp16 safetensors ({weights.stat().st_size / 1_000_000:.1f} MB).\n" in written


def test_the_readme_says_the_shipped_scores(metrics: dict[str, Any]) -> None:
    readme, test = (ROOT / "README.md").read_text(encoding="utf-8"), metrics["test"]
    beam, typed, greedy = test["beam 4"], test["beam 4, as typed"], test["greedy"]
    assert f"| BLEU on 2,000 unseen sentences, beam 4 (chrF) | {beam['bleu']:.1f} ({beam['chrf']:.1f}) |" in readme
    assert f"curly apostrophes | {typed['bleu']:.1f} ({typed['chrf']:.1f}) |" in readme
    assert f"| BLEU, greedy, as the app decodes | {greedy['bleu']:.1f} |" in readme


def test_the_shipped_model_was_trained_by_the_recipe_of_its_preset(metrics: dict[str, Any]) -> None:
    training = metrics["training"]
    assert training["recipe"] == dataclasses.asdict(TRAININGS["again"].recipe)
    assert training["steps"] == training["stages"][training["start"]]["steps"] + training["stages"]["again"]["steps"]
    bleu = training["moved_on"]["bleu"]
    assert (training["moved_on"]["share"], training["validation_bleu"]) == max(
        ((float(share), of) for share, of in bleu.items()), key=lambda one: one[1]
    )
    config = checkpoint.load_config(SHIPPED)
    assert config == PRESETS[training["preset"]]
