"""Which words are German: by a list of words, by compounds of them, and by the English that was translated."""

import re
from collections.abc import Iterable, Set
from pathlib import Path

from model.text.tokenizer import normalise

JOINTS = ("", "s", "n", "en", "es", "e", "er")  # what German puts between the words of a compound
SHORTEST = 4  # letters of a compound's words: with three, too much that is no word falls into words
LONGEST = 60  # letters of a compound


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text)


def listed_words(files: Iterable[Path]) -> set[str]:
    """Lower-case words of the German in files: lines of `English<TAB>German`, of German, or of one word."""
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    return {word for line in lines for word in words_of(normalise(line.rpartition("\t")[2]).lower())}


class Lexicon:
    """Which words are German, by a list and by compounds of its words."""

    def __init__(self, listed: Set[str]) -> None:
        self.listed = listed

    def knows(self, word: str) -> bool:
        lower = word.lower()
        return lower in self.listed or (len(lower) <= LONGEST and self._falls_into_words(lower))

    def invented(self, english: str, words: Iterable[str]) -> list[str]:
        """Those of a translation's words that are no German and not in the English either, with an s at most."""
        given = {form for word in words_of(english.lower()) for form in (word, f"{word}s")}
        return [word for word in words if word.lower() not in given and not self.knows(word)]

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
