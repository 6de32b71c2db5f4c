"""The command that measures snapshots: on small models, against sums written out here."""

import dataclasses
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.attention.head_roles import aligned_words
from experiments.passes import forward
from experiments.training.forming import MEASURED, Measured, load_measured
from model.build import build_model
from model.config import PRESETS
from model.decoding.strategies import Greedy
from model.files import checkpoint
from model.files.loaded_model import MODELS, TRANSLATOR, LoadedModel, load_model
from model.files.model_card import FILE
from model.text.tokenizer import EOS_ID
from model.trace import trace
from training.measure import forming

PAIRS = (("I ate an apple.", "Ich aß."), ("Go!", "Los!"), ("The cat sleeps.", "Ich schlafe."), ("unread", "x"))
STEPS = (0, 30)
LIMIT = 3


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The translator, and a small model with weights of two steps."""
    config = dataclasses.replace(PRESETS["sibling"], d_model=12, n_heads=3, d_ff=5)
    (tmp_path / TRANSLATOR).symlink_to(MODELS / TRANSLATOR)
    folder = tmp_path / "small"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        checkpoint.save(folder, config, checkpoint.load_tokenizer(), build_model(config).state_dict())
        (folder / FILE).write_text(json.dumps({"title": "Small", "vocabulary_of": TRANSLATOR}))
        (folder / checkpoint.SNAPSHOTS).mkdir()
        for step in STEPS:
            weights = build_model(config).state_dict()
            checkpoint.save_weights(folder / checkpoint.snapshot(step), {k: 3 * w for k, w in weights.items()})
    return tmp_path


@pytest.fixture
def measured(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Measured:
    file = root / "pairs.tsv"
    file.write_text("".join(f"{english}\t{german}\n" for english, german in PAIRS), encoding="utf-8")
    monkeypatch.setattr(forming.write, "__defaults__", (forming.SOURCE, root))
    monkeypatch.setattr(sys, "argv", ["forming", str(file), "--limit", str(LIMIT), "--model", "small"])
    forming.main()
    assert capsys.readouterr().out.endswith(f"{MEASURED}\n")
    return load_measured("small", root)


def loss(loaded: LoadedModel, english: str, german: str) -> tuple[float, int, list[int]]:
    """The sum over a sentence, how many tokens it has, and which is the likeliest in the place of each."""
    one = trace(loaded, english, german)
    best = one.tensors["logits"].argmax(-1).tolist()
    return -sum(map(math.log, one.probabilities)), len(one.labels), best


def test_the_command_writes_what_the_app_reads(root: Path, measured: Measured) -> None:
    read = PAIRS[:LIMIT]
    assert (measured.file, measured.n_sentences, measured.steps) == ("pairs.tsv", LIMIT, STEPS)
    others = [english for english, _ in (*read[1:], read[0])]
    for one in measured.snapshots:
        loaded = load_model(f"small@{one.step}", root)
        own = [loss(loaded, english, german) for english, german in read]
        n = sum(count for _, count, _ in own)
        assert one.loss == pytest.approx(sum(total for total, _, _ in own) / n, abs=1e-3)
        elsewhere = sum(loss(loaded, other, german)[0] for other, (_, german) in zip(others, read, strict=True))
        assert one.loss_elsewhere == pytest.approx(elsewhere / n, abs=1e-3)
        assert one.loss != one.loss_elsewhere
        ends = [best[-1] == EOS_ID for _, _, best in own]
        assert one.right["end"] == pytest.approx(sum(ends) / LIMIT, abs=1e-4)
        others_ended = [id == EOS_ID for _, _, best in own for id in best[:-1]]
        assert one.end_elsewhere == pytest.approx(sum(others_ended) / len(others_ended), abs=1e-4)
        written = [trace(loaded, english, decoding=Greedy(forming.MAX_STEPS)).translation for english, _ in read]
        assert one.different == len(set(written))
        assert one.times == written.count(one.repeated) == max(map(written.count, written))


@pytest.fixture
def always_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = np.ones((99, 8000))
    costs[:, EOS_ID] = 0
    monkeypatch.setattr(forming, "costs_of_labels", lambda loaded, src, labels: costs[: len(labels)])


def test_a_model_that_always_ends_is_right_at_the_ends_alone(always_ends: None, measured: Measured) -> None:
    for one in measured.snapshots:
        assert (one.right, one.end_elsewhere) == ({"common": 0, "end": 1}, 1)


def test_shares_are_means_over_all_rows_with_an_aligned_word(root: Path, measured: Measured) -> None:
    last = load_model(f"small@{STEPS[-1]}", root)
    written = [trace(last, english, decoding=Greedy(forming.MAX_STEPS)) for english, _ in PAIRS[:LIMIT]]
    for one in measured.snapshots:
        loaded, on, equal, count = load_model(f"small@{one.step}", root), np.zeros((2, 3)), 0.0, 0
        for sentence in written:
            read = forward(loaded, sentence.src_ids, sentence.tgt_ids)
            for t, word in enumerate(aligned_words(last, sentence.src, sentence.labels)):
                columns = [s for s, token in enumerate(sentence.src) if token.word == word >= 0]
                if columns:
                    on += [read[f"decoder.layers.{n}.cross_attn.weights"][:, t, columns].sum(-1) for n in (0, 1)]
                    equal, count = equal + len(columns) / len(sentence.src), count + 1
        assert count > 0
        assert measured.equal == pytest.approx(equal / count, abs=1e-3)
        shares = [[one.aligned[f"{layer}.{head}"] for head in (1, 2, 3)] for layer in (1, 2)]
        assert shares == pytest.approx(on / count, abs=1e-3)


def test_the_commonest_are_counted_without_end_marks() -> None:
    labels = ((7, 8, 2), (7, 9, 2), (7, 8, 2))
    pairs = [forming.Pair(ids, None, ()) for ids in labels]  # type: ignore[arg-type]
    assert forming.groups_of(pairs, 1) == {7: "common", 8: "other", 9: "other", 2: "end"}
