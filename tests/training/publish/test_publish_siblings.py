"""What publishing siblings puts into the app, and the loss in texts longer than any in training."""

import dataclasses
import json
import math
import random
import shutil
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from experiments.training.siblings import METRICS, SPEED, load_siblings
from model.build import build_model
from model.config import PRESETS
from model.decoding.strategies import Greedy
from model.files import checkpoint
from model.files.checkpoint import CONFIG, SHIPPED, TOKENIZER, WEIGHTS, save_weights, snapshot
from model.files.loaded_model import TRANSLATOR, LoadedModel, load_folder, load_model, sibling_names, snapshot_steps
from tests.training.conftest import PAIRS, write_pairs
from training.loop.data import Pair
from training.measure.longer_texts import SPANS, joined, losses, mean_loss
from training.publish import siblings as command
from training.publish.translator import CARDS
from training.siblings import SIBLINGS

pytestmark = pytest.mark.slow  # writes whole models

ROOT = Path(__file__).parents[3]
FEW = PAIRS[::4]  # with random weights no translation ends by itself: each takes long
TRAINING = {
    "parts": {}, "pairs": 4321, "steps": 9, "epochs": 1.25, "seconds": 600, "hardware": "an abacus", "seed": 5,
    "validation_loss": 2.3456, "recipe": {"steps": 9, "batch_tokens": 777},
}  # fmt: skip


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """The folder of the app's models: the translator alone."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / TRANSLATOR).symlink_to(SHIPPED)
    return tmp_path / "models"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """One sibling that is finished, with snapshots, and one that is not."""
    folder = tmp_path / "runs"
    for name, training in (("positions-learned", TRAINING), ("plain-2", TRAINING | {"steps": 8})):
        config = dataclasses.replace(PRESETS["sibling"], **SIBLINGS[name].parts)  # type: ignore[arg-type]
        checkpoint.save(folder / name, config, checkpoint.load_tokenizer(), build_model(config).state_dict())
        (folder / name / "training.json").write_text(json.dumps(training))
        (folder / name / "log.json").write_text('{"steps": []}')
        (folder / name / "state").mkdir()
    (folder / "positions-learned" / "snapshots").mkdir()
    for step in (0, 9):
        save_weights(folder / "positions-learned" / snapshot(step), build_model(config).state_dict())
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "held-out.tsv", [*FEW, ("Go!", "Geh!"), ("Go!", "Los!")])


@pytest.fixture
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "N_TEXTS", 2)
    monkeypatch.setattr(command, "losses", lambda loaded, pairs: losses(loaded, pairs, 2))


@pytest.fixture
def short_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no translation is looked at."""
    monkeypatch.setattr(command, "Greedy", lambda: Greedy(max_steps=2))


def call(monkeypatch: pytest.MonkeyPatch, models: Path, *typed: object) -> None:
    monkeypatch.setattr(sys, "argv", ["publish_siblings", *map(str, typed)])
    monkeypatch.setattr(command.publish, "__defaults__", (models,))
    monkeypatch.setattr(command.measure_speed, "__defaults__", (models,))
    monkeypatch.setattr(command, "load_siblings", lambda: load_siblings(models))
    monkeypatch.setattr(command, "readme_rows", lambda siblings: [f"rows of {len(siblings)}"])
    command.main()


@pytest.mark.usefixtures("few_texts")
def test_the_finished_ones_are_published_whole(
    runs: Path, file: Path, models: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    scoring = Mock(wraps=command.evaluate)
    monkeypatch.setattr(command, "evaluate", scoring)
    call(monkeypatch, models, runs, file)
    assert [one.args[2] for one in scoring.call_args_list] == [Greedy()]  # with random weights no score would tell
    assert sorted(path.name for path in models.iterdir()) == ["positions-learned", TRANSLATOR]
    folder, run = models / "positions-learned", runs / "positions-learned"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    same = {WEIGHTS, CONFIG, "log.json", snapshot(0), snapshot(9)}
    assert files == same | {METRICS, "README.md", "about.json"}
    assert all((folder / name).read_bytes() == (run / name).read_bytes() for name in same)
    loaded = load_model("positions-learned", models)
    assert (loaded.vocabulary_name, snapshot_steps("positions-learned", models)) == (TRANSLATOR, (0, 9))
    metrics = json.loads((folder / METRICS).read_text())
    assert metrics["training"] == TRAINING
    assert metrics["parameters"] == sum(w.size for w in loaded.weights.values())
    assert (metrics["test"]["data"], metrics["test"]["greedy"]["sentences"]) == ("held-out.tsv", len(FEW) + 1)
    (one,) = load_siblings(models)
    assert (one.loss, one.bleu, one.speed) == (2.3456, metrics["test"]["greedy"]["bleu"], None)
    assert [span for span, loss in one.longer.items() if loss is None] == ["65–96", "97–128"]
    said = capsys.readouterr().out
    assert f"positions-learned: {one.bleu} BLEU, loss 2.3456\n" in said
    assert "plain-2 is not finished\n" in said
    assert "plain-1 is not finished\n" in said
    assert said.endswith("README.md says:\nrows of 1\n")


def test_another_vocabulary_is_refused_and_nothing_is_left(runs: Path, file: Path, models: Path) -> None:
    path = runs / "positions-learned" / TOKENIZER
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(ValueError, match="positions-learned was trained with another vocabulary"):
        command.publish("positions-learned", path.parent, file, models)
    assert [path.name for path in models.iterdir()] == [TRANSLATOR]


@pytest.mark.usefixtures("few_texts", "short_answers")
def test_a_sibling_is_replaced_only_once_all_is_there(
    runs: Path, file: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    former = models / "positions-learned"
    former.mkdir()
    (former / METRICS).write_text("former")
    (former / "forming.json").write_text("of somebody else")
    (former / "snapshots").mkdir()

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(command, "card", die)
        with pytest.raises(KeyboardInterrupt):
            command.publish("positions-learned", runs / "positions-learned", file, models)
    assert (former / METRICS).read_text() == "former"
    assert not (former / WEIGHTS).exists()
    command.publish("positions-learned", runs / "positions-learned", file, models)
    assert (former / METRICS).read_text() != "former"
    assert (former / "forming.json").read_text() == "of somebody else"
    assert [path.name for path in models.iterdir() if path.suffix] == []


def test_only_names_chooses(runs: Path, file: Path, models: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    call(monkeypatch, models, runs, file, "--only", "plain-2")
    assert capsys.readouterr().out == "plain-2 is not finished\nREADME.md says:\nrows of 0\n"
    with pytest.raises(SystemExit):
        call(monkeypatch, models, runs, file, "--only", "nobody")


# --- speed -----------------------------------------------------------------------------------------------------------


def test_speeds_are_medians_of_ratios_measured_one_right_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: the machine is half as fast for the second five sentences, and stumbles over the model at the third."""
    measured = iter([100.0, 80.0, 50.0, 40.0, 100.0, 10.0])
    monkeypatch.setattr(command, "speed", lambda loaded, sentences: next(measured))
    models: dict[str, Any] = {"plain-1": lambda: None, "norm-rms": lambda: None}
    assert command.speeds(models, ["Tom eats."] * 15, rounds=1) == {"plain-1": 1.0, "norm-rms": 0.8}


def test_speed_counts_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, clock = load_folder(), iter([10.0, 14.0])
    monkeypatch.setattr(command.time, "process_time", lambda: next(clock))
    monkeypatch.setattr(command, "translate", lambda *_: "Tom isst.")
    tokens = len(loaded.tokenizer.encode("Tom isst.")) + 1
    assert command.speed(loaded, ["Tom eats."] * 6) == 6 * tokens / 4


@pytest.mark.usefixtures("few_texts", "short_answers")
def test_speed_is_measured_of_all_that_are_in_the_app_and_changes_nothing_else(
    runs: Path, file: Path, models: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    command.publish("positions-learned", runs / "positions-learned", file, models)
    shutil.copytree(models / "positions-learned", models / "plain-1")
    before = {path: path.read_bytes() for path in models.rglob("*") if path.is_file()}
    monkeypatch.setattr(command, "speed", lambda loaded, sentences: len(loaded.name) * len(sentences))
    call(monkeypatch, models, runs, file, "--speed")
    ratios = {"plain-1": 1.0, "positions-learned": round(17 / 7, 3)}
    assert json.loads(capsys.readouterr().out.partition("README")[0]) == ratios
    assert {path: path.read_bytes() for path in before} == before
    written = json.loads((models / SPEED).read_text())
    assert written == {"rounds": command.ROUNDS, "sentences": len(FEW) + 1, "ratios": ratios}
    assert {one.name: one.speed for one in load_siblings(models)} == ratios


# --- texts longer than those of training -----------------------------------------------------------------------------


@pytest.mark.parametrize("span", SPANS)
def test_texts_are_joined_pairs_that_end_within_the_span(span: tuple[int, int]) -> None:
    tokenizer, rng, ends = checkpoint.load_tokenizer(), random.Random(0), []
    for _ in range(30):
        source, target = joined(PAIRS, tokenizer, span, rng)
        ends.append(len(target) + 1)
        assert 1 < len(source) + 1 <= span[1]
        english, german = (tokenizer.decode(ids).split(". ") for ids in (source, target))
        translations = {en.rstrip("."): de.rstrip(".") for en, de in PAIRS}
        assert [translations[one.rstrip(".")] for one in english] == [one.rstrip(".") for one in german]
    assert span[0] <= min(ends)
    assert max(ends) <= span[1]
    assert np.ptp(ends) > (span[1] - span[0]) / 3, "spread over the span"


def test_every_model_gets_the_same_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, seen = load_folder(), []

    def note(loaded: LoadedModel, texts: list[Any], first: int) -> float:
        seen.append((texts, first))
        return 1.25

    monkeypatch.setattr("training.measure.longer_texts.mean_loss", note)
    two = [losses(loaded, PAIRS, 3) for _ in range(2)]
    assert two[0] == two[1] == dict.fromkeys(["1–20", "21–40", "41–64", "65–96", "97–128"], 1.25)
    assert seen[:5] == seen[5:]
    assert [first for _, first in seen[:5]] == [1, 21, 41, 65, 97]
    assert seen[0][0] != seen[1][0]
    monkeypatch.setattr(loaded.model.embedding.positions, "max_len", 50)  # it ends within the third span
    reached = {span: loss for span, loss in losses(loaded, PAIRS, 3).items() if loss}
    assert reached == {"1–20": 1.25, "21–40": 1.25}


def test_the_loss_is_that_of_the_last_labels_of_each_text_one_by_one() -> None:
    """Against the probabilities of single unpadded passes; 22 texts make two batches."""
    loaded, rng = load_folder(), random.Random(3)
    pairs: list[Pair] = [("Tom eats fish and drinks tea.", "Tom isst Fisch und trinkt Tee."), *PAIRS]
    texts = [joined(pairs, loaded.tokenizer, (9, 30), rng) for _ in range(22)]
    each = []
    for source, target in texts:
        logits = loaded.model(torch.tensor([[*source, 2]]), torch.tensor([[1, *target]]))[0].double().numpy()
        for t, label in enumerate([*target, 2]):
            if t + 1 >= 9:
                each.append(np.log(np.exp(logits[t]).sum()) - logits[t, label])
    assert mean_loss(loaded, texts, 9) == pytest.approx(np.mean(each), rel=1e-5)
    assert not math.isclose(mean_loss(loaded, texts, 1), np.mean(each), rel_tol=1e-2)


# --- what the README says --------------------------------------------------------------------------------------------


def test_the_readme_says_what_was_measured() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    missing = [row for row in command.readme_rows(load_siblings()) if row not in readme]
    assert not missing, "README.md must say:\n" + "\n".join(missing)
    said = [line for line in readme if "training.publish.siblings RUNS" in line]
    assert len(said) == len(command.readme_rows(load_siblings()))


# --- those that ship -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sibling_names())
def test_publishing_writes_the_shipped_card_from_the_shipped_figures(name: str) -> None:
    folder = command.MODELS / name
    metrics = json.loads((folder / METRICS).read_text())
    written = command.card(name, load_model(name), metrics, folder / WEIGHTS)
    assert written == (folder / "README.md").read_text(encoding="utf-8")
    assert (CARDS / "sibling.md").exists()
