"""What is measured of trainings that differ in their seed alone."""

import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from statistics import stdev

import pytest

from model.build import build_network
from model.config import PRESETS
from model.files import checkpoint
from tests.training.family_text import SIZES, texts, write_texts
from training.loop.corpus import read_corpus
from training.loop.objectives import save_network
from training.measure import seeds
from training.measure.again import each_token
from training.measure.family import next_sentence_accuracy, single_sentences_told


def test_three_that_differ_in_their_seed_are_measured_alike_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, models = tmp_path / "runs", tmp_path / "models"
    runs.mkdir()
    write_texts(runs)
    test, width = runs / "test.txt", SIZES["max_len"]
    test.write_text(texts(9, 3))
    tokenizer = checkpoint.load_tokenizer(runs)
    config = replace(PRESETS["bert-mini"], vocab_size=tokenizer.vocab_size, **SIZES)
    folders = [models / "bert-mini", *(runs / name for name in seeds.OTHERS)]
    for n, folder in enumerate(folders):
        folder.mkdir(parents=True)
        save_network(folder, config, build_network(config).state_dict())
        training = {"seed": 11 + n, "steps": 5}
        if n:
            (folder / "training.json").write_text(json.dumps(training))
        else:
            (folder / "metrics.json").write_text(json.dumps({"training": training}))
    monkeypatch.setattr(seeds, "MODELS", models)
    monkeypatch.setattr(sys, "argv", ["x", str(runs), "--test", str(test)])
    assert seeds.main() == 0
    found = json.loads((models / "bert-mini" / seeds.FILE).read_text())
    assert found == json.loads(capsys.readouterr().out)
    documents = read_corpus([test], tokenizer)
    for n, (folder, one) in enumerate(zip(folders, found["models"], strict=True)):
        network = checkpoint.load(folder, vocabulary=runs)[0]
        random.seed(n)  # what is masked and paired hangs on no other draws
        right, losses = each_token(network, documents, width, tokenizer.vocab_size)
        assert (one["seed"], one["steps"]) == (11 + n, 5)
        assert (one["accuracy"], one["loss"]) == pytest.approx((right.mean(), losses.mean()), abs=1e-4)
        assert one["next_sentence"] == next_sentence_accuracy(network, documents, width)["next_sentence"]
        assert one["single_sentences"] == single_sentences_told(network, documents, width)["single_sentences"]
        assert found["masked_tokens"] == len(right)
    for what, apart in found["apart"].items():
        assert apart == pytest.approx(stdev(one[what] for one in found["models"]), abs=1e-4)
    (folders[2] / "config.json").unlink()
    assert seeds.main() == 1
    assert "bert-3" in capsys.readouterr().err
