"""Saying so when a sentence is unlike the training data, or was cut."""

import pytest

from model.trace import MAX_TOKENS, trace
from ui import engine
from ui.course.notices import LONG_WORDS, MAX_CHARS, cut_notice, unlike_english, unlike_training

ABOUT = engine.model().about
EXAMPLES, SURPRISES = ABOUT.examples, ABOUT.surprises
HALF_KNOWN = "The cat quibbled obsequiously."  # two of four words are rare: not more than half


def notices(typed: str) -> list[str]:
    trace = engine.trace(typed[:MAX_CHARS])
    return [notice for notice in (cut_notice(typed, trace), unlike_training(trace)) if notice]


@pytest.mark.parametrize(
    "sentence",
    [*(e.sentence for e in EXAMPLES), *SURPRISES, "i can’t swim", "Don't run!", HALF_KNOWN, "Emma loves Leon."],
)
def test_everyday_english_raises_no_eyebrow(sentence: str) -> None:
    assert notices(sentence) == []


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("Ich möchte morgen früh schwimmen gehen.", "another language"),
        ("qwrtz plmkn vbxcz hjkgf", "4 of 4 words hardly occur"),
        ("Qwrtz", "This word hardly occurs in the English sentences the model learned from (another language, or a"),
        ("วันนี้อากาศดี", "byte by byte"),
        ("😀😀😀", "byte by byte"),
        ("123 + 456 = 579", "no words"),
        (" ".join(["We saw the dog"] * 4), f"fewer than {LONG_WORDS}"),
        ("<sos>", "expect"),
    ],
)
def test_what_the_model_never_learned_is_said(typed: str, says: str) -> None:
    found = notices(typed)
    assert len(found) == 1
    assert says in found[0]


def test_long_is_from_sixteen_words_on() -> None:
    sentence = " ".join(["dog"] * LONG_WORDS)
    assert notices(sentence)
    assert not notices(sentence[4:])


@pytest.mark.parametrize("typed", ["dog " * 500, "a" * 10_000, "I see the old house. " * 300])
def test_a_cut_is_said_with_how_much_was_read(typed: str) -> None:
    trace = engine.trace(typed[:MAX_CHARS])
    assert len(trace.src) == MAX_TOKENS + 1
    n_words = len(trace.text.replace(".", " .").split())
    assert f"only the first {n_words} words and marks ({MAX_TOKENS} pieces" in cut_notice(typed, trace)


def test_nothing_is_cut_from_a_sentence_that_just_fits() -> None:
    typed = " ".join(["dog"] * MAX_TOKENS)
    trace = engine.trace(typed)
    assert len(trace.src) == MAX_TOKENS + 1
    assert cut_notice(typed, trace) == ""
    assert cut_notice(typed + " dog", engine.trace(typed + " dog")) != ""


def test_a_sibling_knows_the_words_of_the_data_that_it_shares_with_the_translator() -> None:
    for typed in ("qwrtz plmkn vbxcz hjkgf", "I like dogs."):
        said = [unlike_training(engine.trace(typed, name=name)) for name in ("translator", "plain-1", "plain-1@0")]
        assert said[0] == said[1] == said[2]
    assert said[0] == ""


def test_a_model_whose_positions_end_sooner_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = engine.model("plain-1")
    monkeypatch.setattr(loaded.model.embedding.positions, "max_len", 64)
    typed = " ".join(["dog"] * 70)
    cut = trace(loaded, typed)
    assert len(cut.src) == 64
    assert "only the first 63 words and marks (63 pieces; it takes at most 63)" in cut_notice(typed, cut)


FRENCH = "Les enfants jouent souvent dans leur jardin."  # “Les” is a name in some pairs


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (FRENCH, "6 of 7 words are rare in everyday English, or of another language. BERT and GPT learned"),
        ("Angela", "This word is rare in everyday English, or of another language. BERT and GPT learned"),
        ("วันนี้อากาศดี", "signs that BERT and GPT never learned"),
        ("123 + 456 = 579", "no words in this text, and BERT and GPT learned from English texts"),
        ("I like dogs.", ""),
        (HALF_KNOWN, ""),
        (" ".join(["We saw the dog"] * 5), ""),  # what is long for the translator is not for them
    ],
)
def test_of_each_model_of_a_lesson_it_is_said_what_it_makes_of_another_language(typed: str, says: str) -> None:
    readers = [engine.model(name).about for name in ("bert-mini", "gpt-mini")]
    said = unlike_english(engine.trace(typed), readers)
    assert said.count(says) == 1 if says else said == ""
    assert "German" not in said
    if says and "no words" not in says:
        assert said.endswith("expect wrong guesses from BERT and nonsense from GPT.")
    assert unlike_english(engine.trace(typed), []) == ""


def test_three_models_are_listed_with_the_translator_and_its_german() -> None:
    readers = [engine.model(name).about for name in ("bert-mini", "gpt-mini", "translator")]
    said = unlike_english(engine.trace(FRENCH), readers)
    assert "BERT, GPT and the translator learned from English texts alone: expect wrong guesses from BERT" in said
    assert said.endswith("nonsense from GPT and nonsense in German from the translator.")
