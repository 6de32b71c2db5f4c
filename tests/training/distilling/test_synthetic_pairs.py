"""Pairs that a model writes: which side is real, what is dropped, and that a kill costs one chunk at most."""

from functools import partial
from pathlib import Path

import pytest

from experiments.writing.batched_translation import translate_together
from model.decoding.strategies import Greedy
from model.files.checkpoint import SHIPPED
from model.files.loaded_model import load_folder
from model.translate import translate
from training.distilling import synthetic_pairs
from training.distilling.synthetic_pairs import MARK, is_sensible, pairs_back, pairs_forward, write_pairs

ENGLISH = ("I ate an apple.", "Where do you live?", "The boy sees the girl.")


def test_the_written_side_is_the_models_translation_and_the_other_stays() -> None:
    loaded = load_folder(SHIPPED)
    expected = [translate(loaded, sentence, Greedy()) for sentence in ENGLISH]
    write = partial(translate_together, loaded)
    assert pairs_forward(write, ENGLISH) == [f"{e}\t{g}" for e, g in zip(ENGLISH, expected, strict=True)]
    # Whatever the model translates from is the real side of a pair "back", and stands behind the tab.
    assert pairs_back(write, ENGLISH) == [f"{MARK} {g}\t{e}" for e, g in zip(ENGLISH, expected, strict=True)]


def test_what_is_written_makes_one_line() -> None:
    assert pairs_forward(lambda lines: ["Zwei\tWorte\n."] * len(lines), ["Two words."]) == ["Two words.\tZwei Worte ."]


@pytest.mark.parametrize(
    ("source", "written", "sensible"),
    [
        ("Ich esse.", "I eat.", True),
        ("Ich esse.", "", False),
        ("Tom lacht.", "Tom lacht.", False),
        ("a b c", "a b c d e f g h", True),  # 8 = 2 · 3 + 2
        ("a b c", "a b c d e f g h i", False),
        ("a b c d e f g h i", "a b c", False),
    ],
)
def test_what_is_dropped(source: str, written: str, sensible: bool) -> None:
    assert is_sensible(source, written) == sensible


def test_a_run_that_was_killed_ends_with_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic_pairs, "LINES_AT_ONCE", 2)
    lines = tmp_path / "lines.txt"
    again = (ENGLISH[0], f"{ENGLISH[0]}\tunread", f" {ENGLISH[1]}  ")
    lines.write_text("\n".join([*ENGLISH, "", " \t", *again, "You are late."]))
    outs = [tmp_path / name for name in ("whole.tsv", "killed.tsv")]
    write = partial(translate_together, load_folder(SHIPPED))
    begun = write_pairs("back", write, [lines], tmp_path / "killed.tsv")
    assert next(begun) == (2, 2)
    begun.close()
    assert not (tmp_path / "killed.tsv").exists()
    (tmp_path / "killed.tsv.parts" / "00001.new").write_text("half a")
    for out in outs:
        for _ in write_pairs("back", write, [lines], out):
            pass
    assert outs[0].read_text() == outs[1].read_text()
    assert [line.partition("\t")[2] for line in outs[0].read_text().splitlines()] == [*ENGLISH, "You are late."]
