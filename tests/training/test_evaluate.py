"""Scores: BLEU and chrF of all references, translations from the oracle's searches."""

import functools
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from model.decoding.strategies import Beam, Decoding, Greedy
from model.files.checkpoint import SHIPPED
from model.files.loaded_model import LoadedModel, load_folder
from tests.oracle.passes.decode import Search, Writer, beam, greedy
from tests.oracle.passes.forward import tokenizer
from tests.training.conftest import write_pairs
from training import evaluate as evaluation
from training.evaluate import as_typed, evaluate, references

# Greedy, two beams and four write three translations of the first; the length penalty matters to the second.
SENTENCES = ("It looks like we'll get there in time.", "They were worried about getting caught.")

# By hypothesis: what is translated, and its references. The second of each is the better one; the third has only one.
BY_HAND = {
    "Das ist ein kleiner Hund, oder?": ["Hier ist nichts.", "Das ist ein kleiner Hund, nicht?", "Das ist ein Tier."],
    "Er geht jeden Tag zur Schule.": ["Er geht täglich in die Schule.", "Er geht jeden Tag in die Schule."],
    "Ich habe keine Zeit für dich.": ["Ich habe heute keine Zeit für so etwas."],
}


@pytest.fixture
def shipped() -> LoadedModel:
    return load_folder()


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Decoding]]:
    """A translator that gives back what it is given; what it was asked."""
    asked: list[tuple[str, Decoding]] = []

    def translate(loaded: LoadedModel, sentence: str, decoding: Decoding) -> str:
        asked.append((sentence, decoding))
        return sentence

    monkeypatch.setattr(evaluation, "translate", translate)
    return asked


def test_the_scores_are_those_of_all_references(shipped: LoadedModel, echo: object) -> None:
    figures = evaluate(shipped, BY_HAND, Greedy())
    one, two, three = BY_HAND.values()
    streams = [[one[0], two[0], three[0]], [one[1], two[1], None], [one[2], None, None]]
    for name, score in (("bleu", BLEU()), ("chrf", CHRF())):
        assert figures[name] == pytest.approx(score.corpus_score([*BY_HAND], streams).score, abs=0.01)
    assert figures["sentences"] == 3
    for n in range(2):
        without = {h: group[:n] + group[n + 1 :] or group for h, group in BY_HAND.items()}
        assert evaluate(shipped, without, Greedy())["bleu"] != figures["bleu"], "every reference counts"


@functools.cache
def writer(sentence: str) -> Writer:
    return Writer(sentence)


@functools.cache
def search(sentence: str, size: int) -> Search:
    return beam(writer(sentence), size)


def oracle_translation(sentence: str, decoding: Decoding) -> str:
    if isinstance(decoding, Greedy):
        ids = greedy(writer(sentence))
    else:
        assert isinstance(decoding, Beam)
        ids = search(sentence, decoding.size).best(decoding.length_penalty)
    return tokenizer().decode(ids, skip_special_tokens=True)


def test_it_scores_what_the_oracles_search_writes(shipped: LoadedModel) -> None:
    """Each sentence's first reference is greedy's translation, its second that of four beams."""
    groups = {s: [oracle_translation(s, Greedy()), oracle_translation(s, Beam(4))] for s in SENTENCES}
    assert all(first != second for first, second in groups.values())
    assert len({oracle_translation(SENTENCES[0], decoding) for decoding in (Greedy(), Beam(2), Beam(4))}) == 3
    assert len({oracle_translation(SENTENCES[1], Beam(4, alpha)) for alpha in (0, 1)}) == 2
    for decoding in (Greedy(), Beam(2), Beam(4), Beam(4, length_penalty=0)):
        written = [oracle_translation(s, decoding) for s in SENTENCES]
        figures = evaluate(shipped, {s: group[:1] for s, group in groups.items()}, decoding)
        first = [[group[0] for group in groups.values()]]
        bleu, chrf = BLEU(), CHRF()
        assert figures["bleu"] == pytest.approx(bleu.corpus_score(written, first).score, abs=0.01)
        assert figures["chrf"] == pytest.approx(chrf.corpus_score(written, first).score, abs=0.01)
        assert figures["bleu_signature"] == str(bleu.get_signature())
        assert figures["chrf_signature"] == str(chrf.get_signature())
    assert evaluate(shipped, {s: group[:1] for s, group in groups.items()}, Greedy())["bleu"] == 100
    assert evaluate(shipped, groups, Beam(4))["bleu"] == 100, "the second reference counts"


def test_the_english_is_changed_as_asked(shipped: LoadedModel, echo: list[tuple[str, Decoding]]) -> None:
    groups = {"It's Tom's dog.": ["x"], "Go!": ["y"]}
    evaluate(shipped, groups, Beam(3, 0.5))
    assert evaluate(shipped, groups, Greedy(), typed=True)["sentences"] == 2
    assert echo == [
        ("It's Tom's dog.", Beam(3, 0.5)),
        ("Go!", Beam(3, 0.5)),
        ("it’s Tom’s dog", Greedy()),
        ("go", Greedy()),
    ]


@pytest.mark.parametrize(
    ("english", "typed"),
    [
        ("Tom's here.", "tom’s here"),
        ("Really?!", "really"),
        ("I see Tom", "i see Tom"),
        ("...", "..."),
    ],
)
def test_as_typed_by_hand(english: str, typed: str) -> None:
    assert as_typed(english) == typed


def test_references_are_grouped_in_the_files_order(tmp_path: Path) -> None:
    pairs = [("b", "1"), ("a", "2"), ("b", "3"), ("c", "4"), ("a", "5"), ("b", "6")]
    path = write_pairs(tmp_path / "test.tsv", pairs)
    groups = {"b": ["1", "3", "6"], "a": ["2", "5"], "c": ["4"]}
    assert references(path) == groups
    assert list(references(path)) == ["b", "a", "c"]
    assert references(path, 2) == {"b": groups["b"], "a": groups["a"]}, "references that come later are all taken"


def test_the_seconds_are_those_of_translating(
    shipped: LoadedModel, echo: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter([10.0, 13.54])
    monkeypatch.setattr(evaluation.time, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(evaluation, "track", lambda sources, *_, **__: sources)
    assert evaluate(shipped, {"a": ["b"]}, Greedy())["seconds"] == 3.5


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], (SHIPPED, None, Beam(4), False, False)),
        (["--beam", "1"], (SHIPPED, None, Greedy(), False, False)),
        (["--beam", "2", "--tokenised"], (SHIPPED, None, Beam(2), False, True)),
        (["--as-typed", "--limit", "3", "--model", "runs/x"], (Path("runs/x"), 3, Beam(4), True, False)),
    ],
)
def test_what_is_typed_reaches_the_evaluation(
    arguments: list[str], expected: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(sys, "argv", ["evaluate", "test.tsv", *arguments])
    monkeypatch.setattr(evaluation, "load_folder", lambda folder: ("machine of", folder))
    monkeypatch.setattr(evaluation, "references", lambda file, limit: ("groups of", file, limit))

    def evaluated(loaded: Any, groups: Any, decoding: Decoding, typed: bool, tokenised: bool) -> dict[str, object]:
        folder, limit, wanted, is_typed, is_tokenised = expected
        assert loaded == ("machine of", folder)
        assert groups == ("groups of", Path("test.tsv"), limit)
        assert (decoding, typed, tokenised) == (wanted, is_typed, is_tokenised)
        return {"bleu": 1.5, "bleu_signature": "b", "chrf_signature": "c"}

    monkeypatch.setattr(evaluation, "evaluate", evaluated)
    evaluation.main()
    assert capsys.readouterr().out.splitlines() == ["bleu_signature: b", "chrf_signature: c", json.dumps({"bleu": 1.5})]


def test_bleu_of_tokenised_text_counts_what_spaces_divide(
    shipped: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of five words with four signs stuck together, sacreBLEU's own tokenizer would make eight tokens."""
    monkeypatch.setattr(evaluation, "translate", lambda loaded, source, decoding: source)
    groups = {"zwei rot-weiße hunde rennen .": ["zwei rot-weiße hunde rennen schnell ."]}
    figures = evaluate(shipped, groups, Greedy(), tokenised=True)
    matched = (5 / 5) * (3 / 4) * (2 / 3) * (1 / 2)  # runs of 1, 2, 3, 4 words that stand in the reference
    assert figures["bleu"] == round(100 * math.exp(1 - 6 / 5) * matched**0.25, 2)
    assert "tok:none" in str(figures["bleu_signature"])
