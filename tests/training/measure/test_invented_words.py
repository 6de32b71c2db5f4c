"""Invented German: what a word list and its compounds know, and what the command prints."""

import re
import sys
from pathlib import Path

import pytest

from experiments.writing.lexicon import LONGEST, Lexicon, listed_words
from training.measure import invented_words

LIST = "die katze\tDie Katze!\nmüde\nHaus\nArbeit Zimmer\nTag\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "words.txt"
    path.write_text(LIST, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("KATZE", True),
        ("Hauskatze", True),
        ("Arbeitszimmer", True),  # joined by an s
        ("Katzenhaus", True),  # by an n
        ("Katzenhausarbeit", True),  # three words
        ("Arbeitxzimmer", False),
        ("Arbeitstag", False),  # three letters are too few for a part
        ("müdeer", False),  # a joint joins, it does not end
        ("Hausmü", False),
        ("Haus" * (LONGEST // 4), True),
        ("Haus" * (LONGEST // 4 + 1), False),  # no word is as long
        ("the", False),  # of a pair, the German side alone counts
    ],
)
def test_a_word_is_german_if_listed_or_made_of_listed_ones(word: str, known: bool, file: Path) -> None:
    assert Lexicon(listed_words([file])).knows(word) is known


def test_names_of_the_english_are_not_invented(file: Path) -> None:
    lexicon = Lexicon(listed_words([file]))
    assert lexicon.invented("Zoë has 3 cats.", ["Zoës", "Katze", "Zoë", "Röschenx"]) == ["Röschenx"]


def test_the_command_prints_shares_and_words(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    test = tmp_path / "test.tsv"
    test.write_text("Hi.\tDie Katze.\nHi.\tHallo.\nYes.\tDie Maus.\n", encoding="utf-8")
    said = {"Hi.": "Die Hausmüdekatze ist müde.", "Yes.": "Katze"}
    monkeypatch.setattr(invented_words, "translate_together", lambda _, sentences: [said[s] for s in sentences])
    monkeypatch.setattr(sys, "argv", ["invented_words", str(test), "--words", str(file)])
    invented_words.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "1 of 5 words (20.00%), in 1 of 2 sentences"
    people = lines.index("People:")
    rows = re.findall(r": (.+)% of the words; (.+)% of them", "\n".join(lines[:people]))
    assert sum(float(share) * float(odd) for share, odd in rows) / 100 == pytest.approx(20, abs=0.1), "add up to all"
    assert lines[people + 1] == "1 of 4 words (25.00%), in 1 of 2 sentences", "of a sentence its first translation"
    assert lines[-1] == "No German: ist"
    assert sum(float(line.split(": ")[1].split("%")[0]) for line in lines[2:people]) == pytest.approx(100, abs=0.2)
