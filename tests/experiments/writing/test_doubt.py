"""What is doubted without any probability, by tables made by hand, and bad input to the shipped model."""

import re

import pytest

from experiments.writing.doubt import load_doubt
from experiments.writing.lexicon import Lexicon
from experiments.writing.numbers import missing_numbers
from model.files.loaded_model import load_model
from model.trace import trace

NEVER = r"\b\B"  # nothing is right
SILENT = pytest.mark.xfail(strict=True, reason="wrong, and more certain than the bound asks for")


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("It costs 3.50 euros.", "Es kostet 3,50 Euro."),
        ("It costs 3.50 euros.", "Es kostet drei Euro fünfzig."),
        ("1,000 of 2,500", "1000 von 2.500"),
        ("1,000 of 70,000", "Eintausend von siebzigtausend"),
        ("I have 42 books and 1 pen.", "Ich habe zweiundvierzig Bücher und einen Stift."),
        ("a 4-year-old and 115 others", "ein Vierjähriger und hundertfünfzehn andere"),
        ("on July 4, 1998", "am 4. Juli 1998"),
        ("on 12/05/2023", "am 12.05.2023"),
        ("at 5:45 p.m. or 9 am", "um 17.45 Uhr oder um 9:00"),
        ("at 9:00 or 12 am", "um neun oder um 0 Uhr"),
        ("at 2:15, 2:30 and 12:45", "um viertel nach zwei, halb drei und Viertel vor eins"),
        ("two hundred and fifty of three thousand and twelve", "250 von dreitausendzwölf"),
        ("Seventy-one of a hundred", "Einundsiebzig von hundert"),
        ("It was six-thirty; one or two came in thirty minutes.", "Ein paar kamen um halb sieben, nach kurzer Zeit."),
    ],
)
def test_a_number_may_stand_in_german_as_german_writes_it(english: str, german: str) -> None:
    assert missing_numbers(english, german) == []


@pytest.mark.parametrize(
    ("english", "german", "missing"),
    [
        ("I have 42 books.", "Ich habe vier2 Bücher.", "42"),
        ("4 dogs", "vierzehn Hunde, vierzig und vierundzwanzig, 14 und 40", "4"),
        ("The ticket costs $3.50.", "Die Fahrkarte kostet 33 Dollar.", "3.50"),
        ("It costs 12.99 euros.", "Es kostet 129.99999.", "12.99"),
        ("It costs 25,000 dollars.", "Es kostet 2.500 Dollar.", "25,000"),
        ("on July 4, 1998", "am Juli 1998", "4"),
        ("at 2:30", "um halb zwei", "2:30"),
        ("at 5 p.m.", "um 16 Uhr", "5"),
        ("at room 5", "in Raum 17", "5"),  # no hour
        ("1 man", "alle, einfach und einig", "1"),
        ("two hundred and fifty people", "Zweihundert Leute", "two hundred and fifty"),
        ("sixty-four", "sechzig", "sixty-four"),
    ],
)
def test_any_other_number_is_missing(english: str, german: str, missing: str) -> None:
    assert missing_numbers(english, german) == [missing]


def test_names_and_german_are_told_by_the_words_that_are_known() -> None:
    lexicon = Lexicon({"hallo", "welt", "in", "die", "wir"}, {"in", "hello", "monday", "die", "we", "won"})
    said = "Priya met Siobhan, Zoë's Bo and NASA in Hello Monday. Rome won't do; I DO."
    assert lexicon.missing_names(said, "siobhans NASA") == ["Zoë", "Bo", "DO"]
    told = {"Hallo Welt": True, "Hello Welt": False, "Hello in Welt": False, "We die in": False, "3 + 4": False}
    told |= {"Hi Welt": False, "Hi Hallo Welt": True}  # a name that is a word, and a greeting
    assert {text: lexicon.is_german(text) for text in told} == told


def test_a_word_is_unread_unless_it_is_listed_a_letter_or_a_name_that_the_german_has() -> None:
    lexicon = Lexicon(set(), {"the", "sees"})
    assert lexicon.unread("The Lorry sees Tom and x1; LORRY, Zoë's.", "Die Lorry sieht Toms und Zoë") == ["and"]
    assert lexicon.unread("the lorry sees Tom.", "Die Lorry sieht") == ["lorry", "Tom"]


def test_what_makes_a_translation_doubted_is_named() -> None:
    named = {}
    for sentence in ("The lorry is red.", "I LIKE DOGS.", "IT", "I saw NASA on TV.", "Call me at 555-1234."):
        found = load_doubt().of(trace(load_model(), sentence))
        named[sentence] = found and (found.why, found.typed, found.word.label if found.word else "")
    assert named["The lorry is red."] == ("unread", "lorry", "Lorry")
    assert named["I LIKE DOGS."] == ("capitals", "", "")
    for sentence in ("IT", "I saw NASA on TV."):
        assert not named[sentence] or "capitals" not in named[sentence]
    assert named["Call me at 555-1234."] == ("number", "555", "55")


@pytest.mark.parametrize(
    ("sentence", "right"),
    [
        *(
            (text, NEVER)
            for text in (
                "Ich habe heute keine Zeit.",
                "Wo ist der Bahnhof?",
                "Wir wohnen in Berlin.",
                "Hallo Welt",
                "der Hund ist alt",
                "Banana table run quickly purple.",
                "dog the over blue because seven eat",
                "Green ideas sleep furiously chair of.",
                "asdf qwer zxcv",
                "the the the the",
                "THE DOG IS BLACK.",
                "The lorry stands beside the greengrocer's.",
                "He has a broken collarbone.",
            )
        ),
        ("My friend Priya lives in Mumbai.", "Priya.* Mumbai"),
        ("I saw Beyoncé in Paris.", "Beyoncé"),
        ("Barack Obama lives in Washington.", "Barack Obama .*Washington"),
        ("I have 42 books.", "42|zweiundvierzig"),
        ("The number is 1234567.", "1.?234.?567"),
        ("Two hundred and fifty people came.", "250|[Zz]weihundert(und)?fünfzig"),
        ("7 + 5 = 12", r"7 \+ 5 = 12"),
        ("I was born on July 4, 1998.", r"\b4\. Juli 1998|vierten Juli 1998"),
        ("The meeting is on 3 May 2024.", r"\b3\. Mai 2024|dritten Mai 2024"),
        ("The shop opens at 9:30 a.m.", r"\b9[.:]30|halb zehn|neun Uhr dreißig"),
        ("The ticket costs $3.50.", r"\b3,50 |drei Dollar fünfzig"),
        ("I paid £20 for this.", "20 Pfund|zwanzig Pfund"),
        ("The car cost 25,000 dollars.", r"\b25[. ]?000 Dollar"),
        (f"When I was a child, {'my grandmother told me long stories about the old village ' * 4}.", NEVER),
        ("I was tired. I went to bed early.", r"müde\..*\bBett"),
        ("where do you live", "(wohn|leb)(st du|t ihr|en Sie)"),
        pytest.param("window happy but under the and Tuesday", NEVER, marks=SILENT),
        pytest.param("My favourite colour is grey.", "Lieblingsfarbe ist [Gg]rau", marks=SILENT),
        ("My favorite color is gray.", "Lieblingsfarbe ist [Gg]rau"),
        ("The theatre is in the centre of the town.", "Theater.*(Mitte|[Zz]entrum)"),
    ],
)
def test_of_bad_input_the_model_is_right_or_doubted(sentence: str, right: str) -> None:
    one = trace(load_model(), sentence)
    assert load_doubt().of(one) or re.search(right, one.translation), one.translation
