"""What is measured of BART and T5, on writers whose faults are known."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from model.build import build_network
from model.files import checkpoint
from model.text.tokenizer import EOS_ID, Tokenizer
from tests.training.family_text import texts
from tests.training.restoring_family import NAMES, restoring_task, write_all
from training.loop.noise import KINDS
from training.loop.objectives import save_network
from training.loop.restoring import FILL, Row
from training.loop.spans import hide_spans
from training.measure import denoising
from training.measure.denoising import bleu, filled, mean, outputs, restored, share, share_of_texts, words_right

Writer = Callable[[Any, list[list[int]]], list[list[int]]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Both models, small, with random weights; texts and tasks."""
    files = write_all(tmp_path, monkeypatch)
    (tmp_path / "test.txt").write_text(texts(4, 3))
    for name in NAMES:
        task = restoring_task(name, files, tmp_path)
        config = task.subject(None).config  # type: ignore[arg-type]
        task.out.mkdir(exist_ok=True)
        save_network(task.out, config, build_network(config).state_dict())
    return tmp_path


@pytest.fixture
def tokenizer(folder: Path) -> Tokenizer:
    return checkpoint.load_tokenizer(folder)


def rows(tokenizer: Tokenizer, n: int = 8) -> list[Row]:
    sentences = [f"Tom sees the moon {'and the fish ' * k}." for k in range(n)]
    return [Row([np.array(tokenizer.encode(one), dtype=np.uint16)], k) for k, one in enumerate(sentences)]


def writes(monkeypatch: pytest.MonkeyPatch, writer: Writer) -> None:
    monkeypatch.setattr(denoising, "write_together", writer)


def test_bleu_is_sacrebleus_and_strays_as_far_as_the_texts_differ() -> None:
    written = ["the cat sat on the mat", "a dog", "it is a fish in the sea", "the cat sat"] * 5
    right = ["the cat sat on the mat", "a dog barks at me", "it was a fish in the sea", "the cat sat down"] * 5
    found = bleu(written, right)
    assert found["bleu"] == pytest.approx(BLEU().corpus_score(written, [right]).score, abs=0.01)
    anew = np.random.default_rng(1).integers(0, 20, (300, 20)).tolist()
    scores = [BLEU().corpus_score([written[n] for n in some], [[right[n] for n in some]]).score for some in anew]
    assert found["standard_error"] == pytest.approx(np.std(scores), rel=0.15)
    four_times = bleu(written * 4, right * 4)
    assert four_times["bleu"] == found["bleu"]
    assert four_times["standard_error"] == pytest.approx(found["standard_error"] / 2, rel=0.15)
    assert bleu(right, right) == {"bleu": 100.0, "standard_error": 0.0}


def test_who_writes_down_what_it_reads_restores_nothing(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    writes(monkeypatch, lambda _, sources: sources)
    found = restored(None, tokenizer, rows(tokenizer))  # type: ignore[arg-type]
    assert found["kinds"].keys() == KINDS.keys()
    assert (found["texts"], found["share"]) == (8, 0.3)
    for one in found["kinds"].values():
        assert one["noisy"] == one["restored"]
        assert 0 < one["noisy"]["bleu"] < 100


def test_who_knows_the_texts_restores_all(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    known = [[*row.text[0].tolist(), EOS_ID] for row in rows(tokenizer)]
    writes(monkeypatch, lambda _, sources: known)
    kinds = restored(None, tokenizer, rows(tokenizer))["kinds"]  # type: ignore[arg-type]
    assert all(one["restored"] == {"bleu": 100.0, "standard_error": 0.0} for one in kinds.values())


def test_spans_count_where_an_output_is_well_formed(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of eight outputs one never ends, one has a sentinel too many, and one gets a piece wrong."""
    first, some = tokenizer.vocab_size, rows(tokenizer)
    targets = [list(hide_spans(row.text[0].tolist(), first, row.seed)[1].ids) for row in some]
    n_spans = [sum(id >= first for id in target) - 1 for target in targets]
    wrong = [targets[2][0], 9, *targets[2][1:]]
    prefix = tokenizer.encode(FILL)

    def write(_: Any, sources: list[list[int]]) -> list[list[int]]:
        assert all(source[: len(prefix)] == prefix and source[-1] == EOS_ID for source in sources)
        ended = [[*target, EOS_ID] for target in targets]
        return [targets[0], [*targets[1], first, EOS_ID], [*wrong, EOS_ID], *ended[3:]]

    writes(monkeypatch, write)
    found = filled(None, tokenizer, some)  # type: ignore[arg-type]
    assert (found["well_formed"]["right"], found["well_formed"]["n"]) == (6 / 8, 8)
    n = sum(n_spans)
    assert found["spans"]["n"] == n
    assert found["spans"]["right"] == pytest.approx((n - n_spans[0] - n_spans[1] - 1) / n, abs=1e-4)
    assert found["target_pieces"]["mean"] == pytest.approx(np.mean([len(one) for one in targets]), abs=0.01)
    assert found["text_pieces"]["mean"] == pytest.approx(np.mean([len(row.text[0]) for row in some]), abs=0.01)


def test_words_are_counted_in_their_place_and_long_pairs_left_out(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [("cat sat .", "cat noun sat verb . mark"), ("the " * 200, "noun"), ("a", "a noun")]
    said = ("cat noun sat noun", "a noun a noun")  # the second kind is wrong, the third word missing
    writes(monkeypatch, lambda _, sources: [tokenizer.encode(one) for one in said])
    found = outputs(None, tokenizer, iter(pairs))  # type: ignore[arg-type]
    assert found == [(said[0], pairs[0][1]), (said[1], pairs[2][1])]
    assert words_right(found) == [[True, False, False], [True]]
    assert words_right([("dog noun", "cat noun")]) == [[False]]


def test_shares_and_means_by_hand() -> None:
    assert share([True, False, True, True]) == {"right": 0.75, "n": 4, "standard_error": 0.2165}
    # The deviations from 0.6 add up to 0.8 in one text and to −0.8 in the other: √(2 · 0.64) / 5.
    assert share_of_texts([[True, True], [True, False, False]]) == {"right": 0.6, "n": 5, "standard_error": 0.2263}
    assert mean([1, 2, 3]) == {"mean": 2.0, "n": 3, "standard_error": 0.58}


def test_the_command_measures_both(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["denoising", str(folder), "--test", str(folder / "test.txt"), "--tasks", str(folder)]
    monkeypatch.setattr(sys, "argv", typed)
    assert denoising.main() == 0
    bart, t5 = (json.loads("{" + one + "}") for one in capsys.readouterr().out.strip()[1:-1].split("}\n{"))
    assert bart["bart-mini"]["data"] == t5["t5-mini"]["data"] == "test.txt"
    assert bart["bart-mini"]["kinds"].keys() == KINDS.keys()
    assert t5["t5-mini"].keys() == {
        "data", "well_formed", "spans", "target_pieces", "text_pieces", "tags", "answers",
    }  # fmt: skip
    assert (t5["t5-mini"]["tags"]["n"], t5["t5-mini"]["answers"]["n"]) == (4 * 12, 12)


@pytest.mark.parametrize(
    ("only", "typed", "said"),
    [
        ("t5-mini", [], "t5-mini needs the folder of the tasks"),
        ("bart-mini", ["--tasks", "."], "config.json"),
    ],
)
def test_what_is_missing_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    only: str, typed: list[str], said: str,
) -> None:  # fmt: skip
    (folder / "bart-mini" / "config.json").unlink()
    command = ["denoising", str(folder), "--test", str(folder / "test.txt"), "--only", only, *typed]
    monkeypatch.setattr(sys, "argv", command)
    assert denoising.main() == 1
    assert said in capsys.readouterr().err
