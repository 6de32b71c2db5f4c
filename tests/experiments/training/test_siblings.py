"""The siblings' figures: read as they stand in the files, and what chance explains."""

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.training.siblings import DIFFERS, METRICS, Noise, Sibling, load_siblings, noise, of_part
from model.decoding.strategies import Greedy
from model.files import checkpoint
from model.files.loaded_model import MODELS, load_model, sibling_names
from model.translate import translate
from tests.oracle.language.words import text_of
from tests.oracle.shown.siblings import config_of, translated
from training.siblings import SIBLINGS

SENTENCES = ("I ate an apple.", "Where do you live?")


@pytest.mark.parametrize(
    ("value", "explained"), [(2.0, True), (-0.48, True), (4.48, True), (4.49, False), (-0.49, False), (9.0, False)]
)
def test_noise_worked_out_by_hand(value: float, explained: bool) -> None:
    """1.5, 2.5 and 2 have the mean 2 and the deviation 0.5: 4.303 · 0.5 · √(4/3) = 2.484 to either side is noise."""
    of_three = noise([1.5, 2.5, 2.0])
    assert of_three == Noise(2.0, 1.0, 4.303, pytest.approx(2.4843, abs=1e-4))
    assert of_three.explains(value) is explained


def test_one_measurement_says_nothing_about_chance() -> None:
    assert noise([]) is None
    assert noise([1.0]) is None


def made_up(name: str, loss: float) -> Sibling:
    return Sibling(name, loss, 30.0, 50.0, 10, 1000, {}, None)


def test_those_of_a_part_stand_with_the_plain_ones_by_their_loss() -> None:
    names = ("norm-rms", "plain-2", "positions-none", "norm-place-pre", "plain-1")
    many = [made_up(name, loss) for name, loss in zip(names, (3, 2, 1, 4, 2), strict=True)]
    assert [one.name for one in of_part(many, "norm")] == ["plain-1", "plain-2", "norm-rms", "norm-place-pre"]
    assert of_part(many, "")[0].name == "positions-none"
    assert len(of_part(many, "")) == 5


def test_there_are_words_for_every_sibling() -> None:
    assert set(DIFFERS) == set(SIBLINGS)


# --- those that come with the app ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sibling_names())
def test_a_shipped_sibling_is_what_its_name_says_and_was_trained_to_the_end(name: str) -> None:
    training = json.loads((MODELS / name / METRICS).read_text())["training"]
    config, sibling = checkpoint.load_config(MODELS / name), SIBLINGS[name]
    assert {part: getattr(config, part) for part in sibling.parts} == dict(sibling.parts) == training["parts"]
    assert (training["seed"], training["steps"]) == (sibling.seed, training["recipe"]["steps"])
    log = json.loads((MODELS / name / "log.json").read_text())
    assert log["steps"][-1]["step"] == training["steps"]
    assert round(min(row["loss"] for row in log["validation"]), 4) == training["validation_loss"]


def test_all_shipped_siblings_have_one_recipe_and_read_as_much() -> None:
    """The most that a batch may hold is another for some: it is counted otherwise since the others were trained."""
    trained = [json.loads((MODELS / name / METRICS).read_text())["training"] for name in sibling_names()]
    assert len({json.dumps([one["data"], one["pairs"], one["recipe"] | {"batch_tokens": 0}]) for one in trained}) == 1
    read = [one["target_tokens"] for one in trained]
    assert np.ptp(read) < max(read) / 1000


@pytest.mark.parametrize("name", sibling_names())
def test_a_shipped_sibling_translates_as_the_oracle_does(name: str) -> None:
    loaded = load_model(name)
    for sentence in SENTENCES:
        assert translate(loaded, sentence, Greedy()) == text_of(translated(name, sentence).labels)
    assert config_of(name)["max_len"] == 64


def test_siblings_without_figures_are_left_out(tmp_path: Path) -> None:
    name = sibling_names()[0]
    (tmp_path / "translator").symlink_to(MODELS / "translator")
    (tmp_path / name).symlink_to(MODELS / name)
    assert len(load_siblings(tmp_path)) == 1
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    for file in (MODELS / name).iterdir():
        if file.name != METRICS:
            (tmp_path / name / file.name).symlink_to(file)
    assert sibling_names(tmp_path) == (name,)
    assert load_siblings(tmp_path) == ()
