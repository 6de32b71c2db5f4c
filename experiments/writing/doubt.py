"""Whether a translation is likely to be bad: by its probabilities, its words, and what is missing from it.

How often that is right was measured on sentences that people translated too: `training.measure.doubt`.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from experiments.attention.head_roles import fingerprint
from experiments.writing.lexicon import READ, WORDS, Lexicon, lexicon_of, words_of
from experiments.writing.numbers import missing_numbers
from figures.grouping import Group, words
from model.files.checkpoint import SHIPPED, WEIGHTS, broken
from model.text.tokenizer import EOS_ID
from model.trace import Trace

FILE = "doubt.json"  # in a model's folder
BAD = 40.0  # chrF below which a translation is called bad


@dataclass(frozen=True)
class Counts:
    """What doubting does on sentences that people translated.

    sentences, bad: all, and those translated badly; doubted, rightly: those doubted, and the bad ones of them
    word, words:    in how many of the doubted translations the word named stands in no translation by people; the same
                    share of all their words, from 0 to 1
    """

    sentences: int
    bad: int
    doubted: int
    rightly: int
    word: int
    words: float


Why = Literal["unsure", "unread", "invented", "number", "name", "capitals", "german"]


@dataclass(frozen=True)
class Finding:
    """Why a translation is doubted.

    why:     its pieces were improbable; `typed` was hardly read in training; `word` is no German; the number or the
             name `typed` is not in it; the sentence is in capitals; it is German, not English
    word:    the one of the translation to look at, if there is one
    """

    why: Why
    word: Group | None = None
    typed: str = ""


@dataclass(frozen=True)
class Doubt:
    """bound: of `certainty`, below which a translation is doubted; validation: where it was chosen; test: checked

    lexicon: the words of the German that the model learned from, and of the English
    """

    bound: float
    validation: Counts
    test: Counts
    lexicon: Lexicon

    def of(self, trace: Trace) -> Finding | None:
        """Why a translation is doubted, or None if it is not."""
        return found_in(trace, self.lexicon) or (unsure(trace) if certainty(trace) < self.bound else None)


def certainty(trace: Trace) -> float:
    """The mean probability of the pieces written, `<eos>` not counted where there are others."""
    chances = [p for p, token in zip(trace.probabilities, trace.labels, strict=True) if token.id != EOS_ID]
    return math.fsum(chances) / len(chances) if chances else trace.probabilities[0]


def probability(trace: Trace, word: Group) -> float:
    """The product of its pieces' probabilities."""
    return math.prod(trace.probabilities[n] for n in word.pieces)


def written(trace: Trace) -> list[Group]:
    return words([token.text for token in trace.labels], [token.word for token in trace.labels])


def lettered(trace: Trace) -> list[Group]:
    """The words written that are of letters alone."""
    return [word for word in written(trace) if word.label.isalpha()]


def least_likely(trace: Trace, *among: Sequence[Group]) -> Group | None:
    """The least likely word of the first that has any."""
    return min(next(filter(None, among), []), key=lambda word: probability(trace, word), default=None)


def unsure(trace: Trace) -> Finding:
    return Finding("unsure", least_likely(trace, lettered(trace)))


def found_in(trace: Trace, lexicon: Lexicon) -> Finding | None:
    """What the sentence and the translation show without any probability, if there is something to doubt."""
    letters = lettered(trace)
    if lexicon.is_german(trace.text):
        return Finding("german")
    if trace.text.isupper() and len([word for word in words_of(trace.text) if len(word) > 1]) > 1:
        return Finding("capitals")
    if numbers := missing_numbers(trace.text, trace.translation):
        typed = set(re.findall(r"\d+", trace.text))
        others = [word for word in written(trace) if set(re.findall(r"\d+", word.label)) - typed]
        return Finding("number", least_likely(trace, others, letters), numbers[0])
    if names := lexicon.missing_names(trace.text, trace.translation):
        strange = [word for word in letters if not lexicon.knows(word.label)]
        return Finding("name", least_likely(trace, strange, letters), names[0])
    invented = lexicon.invented(trace.text, [word.label for word in letters])
    if word := least_likely(trace, [word for word in letters if word.label in invented]):
        return Finding("invented", word)
    unread = lexicon.unread(trace.text, trace.translation)
    return Finding("unread", least_likely(trace, letters), unread[0]) if unread else None


def load_doubt(folder: Path = SHIPPED) -> Doubt:
    """What was measured on the model in this folder.

    Raises: CheckpointError, naming the file and the repair, if it is missing, damaged, or of other weights or words
    """
    file = folder / FILE
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        for name, other in (("model", WEIGHTS), ("german", WORDS), ("english", READ)):
            if found[name]["sha256"] != fingerprint(folder / other):
                raise ValueError(f"it was measured with another {other}: run python -m training.measure.doubt")
        counted = Counts(**found["validation"]), Counts(**found["test"])
        return Doubt(float(found["bound"]), *counted, lexicon_of(folder))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise broken(file, error) from error
