"""Which words are German, and which English: by lists of those that a model learned from, and by compounds."""

import re
from collections import Counter
from collections.abc import Iterable, Set
from pathlib import Path

from model.text.tokenizer import normalise

WORDS, READ = "german_words.txt", "english_words.txt"  # in a model's folder: of the pairs by people that it read
TWICE = 2  # sentences that an English word must stand in to be called read
JOINTS = ("", "s", "n", "en", "es", "e", "er")  # what German puts between the words of a compound
SHORTEST = 4  # letters of a compound's words: with three, too much that is no word falls into words
LONGEST = 60  # letters of a compound


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text)


def listed_words(files: Iterable[Path]) -> set[str]:
    """Lower-case words of the German in files: lines of `English<TAB>German`, of German, or of one word."""
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    return {word for line in lines for word in words_of(normalise(line.rpartition("\t")[2]).lower())}


def read_words(files: Iterable[Path]) -> set[str]:
    """Lower-case words that stand in two or more of the English sentences in files of `English<TAB>German`."""
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    found = Counter(word for line in lines for word in set(words_of(normalise(line.partition("\t")[0]).lower())))
    return {word for word, n in found.items() if n >= TWICE}


def is_known(word: str, listed: Set[str]) -> bool:
    """Whether an English word is listed, or what stands before its apostrophe."""
    return word.lower() in listed or word.lower().split("'")[0] in listed


def genitives(name: str) -> set[str]:
    """A name in small letters as German has it: by itself, or with an s."""
    return {name.lower(), f"{name.lower()}s"}


class Lexicon:
    """Which words are German, by a list and by compounds of its words; english: those that were read as English."""

    def __init__(self, listed: Set[str], english: Set[str] = frozenset()) -> None:
        self.listed, self.english = listed, english

    def knows(self, word: str) -> bool:
        lower = word.lower()
        return lower in self.listed or (len(lower) <= LONGEST and self._falls_into_words(lower))

    def invented(self, english: str, words: Iterable[str]) -> list[str]:
        """Those of a translation's words that are no German and not in the English either, with an s at most."""
        given = set[str]().union(*map(genitives, words_of(english)))
        return [word for word in words if word.lower() not in given and not self.knows(word)]

    def is_german(self, sentence: str) -> bool:
        """Whether most of its words are listed as German and not as English."""
        typed = words_of(sentence)
        german = [word for word in typed if word.lower() in self.listed and not is_known(word, self.english)]
        return 2 * len(german) > len(typed)

    def unread(self, english: str, german: str) -> list[str]:
        """Words of the English that were hardly read; not names that the German has too, nor single letters."""
        written = {word.lower() for word in words_of(german)}
        rare = [word for word in words_of(english) if len(word) > 1 and word.lower() not in self.english]
        return [word for word in rare if word.islower() or not written & genitives(word)]

    def missing_names(self, english: str, german: str) -> list[str]:
        """Words with a capital amid a sentence that are no known English, and that the German has not."""
        written = {word.lower() for word in words_of(german)}
        names = [word for word in re.findall(r"(?<=[\w,] )[^\W\d_]{2,}", english) if word[0].isupper()]
        return [name for name in names if not is_known(name, self.english) and not written & genitives(name)]

    def _falls_into_words(self, word: str) -> bool:
        starts = {0}  # where the next word of the compound may begin
        for start in range(len(word)):
            if start not in starts:
                continue
            for end in range(start + SHORTEST, len(word) + 1):
                if word[start:end] in self.listed:
                    if end == len(word):
                        return True
                    starts |= {end + len(joint) for joint in JOINTS if word.startswith(joint, end)}
        return False


def lexicon_of(folder: Path) -> Lexicon:
    """The words that the model in a folder learned from."""
    listed, english = (frozenset((folder / file).read_text(encoding="utf-8").split()) for file in (WORDS, READ))
    return Lexicon(listed, english)
