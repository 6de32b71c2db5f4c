"""When a translation is doubted: the bound, what the command writes and the card tells, and the shipped figures."""

import json
import math
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.writing.doubt import FILE, Counts, certainty, found_in, least_likely, lettered, load_doubt
from experiments.writing.lexicon import Lexicon
from model.files.checkpoint import SHIPPED, CheckpointError
from model.files.loaded_model import load_model
from model.trace import trace
from tests.oracle.language.page import chances
from tests.oracle.language.words import pieces, words
from tests.oracle.passes.decode import translated
from training.measure import doubt
from training.measure.doubt import MEASURES, Scored, bound_of, counts, on_card, scored

CERTAIN = next(iter(MEASURES))
ROOT = Path(__file__).parents[3]
ENGLISH = set("i like dogs my watch is broken the tired teacher forgot her umbrella tom dog black".split())


def row(sure: float, bad: bool, unknown: bool = False, word_alone: bool = False, words_alone: float = 0.5) -> Scored:
    return Scored({CERTAIN: sure}, bad, "invented" * unknown, word_alone, words_alone)


# 100 good ones, two of them with a word that is no German; two bad ones.
ROWS = [row(n / 100, False, n in (3, 50)) for n in range(100)] + [row(0.05, True, False, True, 1.0), row(0.5, True)]


def test_a_tenth_of_the_good_is_doubted_whatever_the_bad_do() -> None:
    assert bound_of(ROWS, CERTAIN) == pytest.approx(0.09)
    assert counts(ROWS, CERTAIN, 0.09) == Counts(102, 2, 11, 1, 1, round((10 * 0.5 + 1) / 11, 4))
    assert bound_of([row(0.5, False, True), row(0.7, False)], CERTAIN) == 0.7, "more words than may be: none below it"


def test_what_is_measured_is_what_the_oracle_sees() -> None:
    sentence = "The tired teacher forgot her umbrella."
    one, oracle = trace(load_model(), sentence), translated(sentence)
    p = np.asarray(chances(oracle))
    assert certainty(one) == pytest.approx(p[:-1].mean(), abs=1e-5)
    letters = [word for word in words(pieces(oracle.labels)) if word.text.isalpha()]
    products = {word.text: math.prod(p[list(word.pieces)]) for word in letters}
    assert [word.label for word in lettered(one)] == list(products)
    word = least_likely(one, lettered(one))
    assert word
    assert word.label == min(products, key=lambda text: products[text])
    logits = np.asarray(oracle["logits"], dtype=float)
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    expected = [p[:-1].mean(), np.log(p).mean(), p.min(), products[word.label], (np.exp(log_p) * log_p).sum(-1).mean()]
    assert [measure(one) for measure in MEASURES.values()] == pytest.approx(expected, abs=1e-4)


def test_bad_is_what_is_far_from_all_that_people_wrote(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("I like dogs.\tVögel\nI like dogs.\tIch mag Hunde!\nMy watch is broken.\tXyz.\n", encoding="utf-8")
    right, wrong = scored(load_model(), file, Lexicon({"ich", "mag", "hunde", "meine", "uhr", "ist"}, ENGLISH))
    assert (right.bad, right.found, right.word_alone, right.words_alone) == (False, "", False, 0.0)
    assert (wrong.bad, wrong.found, wrong.word_alone, wrong.words_alone) == (True, "invented", True, 1.0)


def test_of_words_that_are_no_german_the_least_likely_is_named_and_none_that_the_english_has() -> None:
    one = trace(load_model(), "The tired teacher forgot her umbrella.")
    known = {word.label.lower() for word in lettered(one)}
    assert found_in(one, Lexicon(known, ENGLISH)) is None
    found = found_in(one, Lexicon(known - {"müdee", "schirm"}, ENGLISH))
    assert found
    assert found.word
    assert (found.word.label, found.why) == ("müdee", "invented")
    tom = trace(load_model(), "Tom's dog is black.")
    known = {word.label.lower() for word in lettered(tom)}
    assert "toms" in known
    assert found_in(tom, Lexicon(known - {"toms"}, ENGLISH)) is None


def test_the_command_writes_figures_for_these_weights_alone_and_the_card_tells_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        shutil.copy(SHIPPED / name, tmp_path)
    (tmp_path / "README.md").write_text(f"# Card\n{doubt.HEADING}\nNot yet.\n\n## What it is for\nPlay.\n")
    files, learned = [tmp_path / "valid.tsv", tmp_path / "test.tsv"], tmp_path / "train.tsv"
    pairs = "I like dogs.\tIch mag Hunde.\nI like cats.\tVögel!\n"
    for file in files:
        file.write_text(pairs, encoding="utf-8")
    learned.write_text(f"{2 * pairs}Owls owls like I.\tIch\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["doubt", *map(str, files), "--learned", str(learned), "--model", str(tmp_path)])
    doubt.main()
    found = load_doubt(tmp_path)
    assert (found.test.sentences, found.test.bad) == (2, 1)
    assert found.validation == found.test
    assert found.bound == pytest.approx(certainty(trace(load_model(), "I like dogs.")), abs=1e-4)
    printed = capsys.readouterr().out.splitlines()
    assert printed[2 * len(MEASURES) :] == [f"invented, {part}: 1 bad, 0 others" for part in ("validation", "test")]
    card = (tmp_path / "README.md").read_text()
    assert "Not yet." not in card
    assert f"under {found.bound}, or where a word is" in card
    assert "On the 2 sentences it doubts\n" in card
    assert card.endswith("\n\n## What it is for\nPlay.\n")
    assert (tmp_path / "german_words.txt").read_text(encoding="utf-8") == "hunde\nich\nmag\nvögel\n"
    assert (tmp_path / "english_words.txt").read_text(
        encoding="utf-8"
    ) == "cats\ndogs\ni\nlike\n"  # each in two sentences
    for name in ("english_words.txt", "german_words.txt", "model.safetensors"):
        (tmp_path / name).write_bytes(b"another")
        with pytest.raises(
            CheckpointError, match=rf"measured with another {name}: run python -m training\.measure\.doubt"
        ):
            load_doubt(tmp_path)


def test_the_shipped_figures_are_of_the_shipped_weights_and_told() -> None:
    found, figures = load_doubt(), json.loads((SHIPPED / FILE).read_text())
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    assert on_card(card, figures) == card
    for seen in (found.validation, found.test):
        others = (seen.doubted - seen.rightly) / (seen.sentences - seen.bad)
        assert others <= 0.1
    shares = f"{seen.rightly / seen.bad:.0%}, {others:.0%}; {seen.word / seen.doubted:.0%} ({seen.words:.0%})"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"| {shares} | `python -m training.measure.doubt " in readme
