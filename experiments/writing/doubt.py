"""Whether a translation is likely to be bad: by the probabilities of its pieces, and by words that are no German.

How often that is right was measured on sentences that people translated too: `training.measure.doubt`.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.attention.head_roles import fingerprint
from experiments.writing.lexicon import Lexicon
from figures.grouping import Group, words
from model.files.checkpoint import SHIPPED, WEIGHTS, broken
from model.trace import Trace

FILE, WORDS = "doubt.json", "german_words.txt"  # in a model's folder
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


@dataclass(frozen=True)
class Finding:
    """Why a translation is doubted. word: the one to look at, if there is one; unknown: whether it is no German"""

    word: Group | None
    unknown: bool


@dataclass(frozen=True)
class Doubt:
    """bound: of `certainty`, below which a translation is doubted; validation: where it was chosen; test: checked

    lexicon: the words of the German that the model learned from
    """

    bound: float
    validation: Counts
    test: Counts
    lexicon: Lexicon

    def of(self, trace: Trace) -> Finding | None:
        """Why a translation is doubted, or None if it is not."""
        return found_in(trace, self.lexicon) or (
            Finding(least_likely(trace, lettered(trace)), False) if certainty(trace) < self.bound else None
        )


def certainty(trace: Trace) -> float:
    """The mean probability of the pieces written, `<eos>` counted."""
    return math.fsum(trace.probabilities) / len(trace.probabilities)


def probability(trace: Trace, word: Group) -> float:
    """The product of its pieces' probabilities."""
    return math.prod(trace.probabilities[n] for n in word.pieces)


def lettered(trace: Trace) -> list[Group]:
    """The words written that are of letters alone."""
    written = words([token.text for token in trace.labels], [token.word for token in trace.labels])
    return [word for word in written if word.label.isalpha()]


def least_likely(trace: Trace, among: Sequence[Group]) -> Group | None:
    return min(among, key=lambda word: probability(trace, word), default=None)


def found_in(trace: Trace, lexicon: Lexicon) -> Finding | None:
    """The least likely of the words that are no German, if there is one."""
    invented = lexicon.invented(trace.text, [word.label for word in lettered(trace)])
    word = least_likely(trace, [word for word in lettered(trace) if word.label in invented])
    return Finding(word, True) if word else None


def load_doubt(folder: Path = SHIPPED) -> Doubt:
    """What was measured on the model in this folder.

    Raises: CheckpointError, naming the file and the repair, if it is missing, damaged, or of other weights or words
    """
    file = folder / FILE
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        for name, other in (("model", WEIGHTS), ("words", WORDS)):
            if found[name]["sha256"] != fingerprint(folder / other):
                raise ValueError(f"it was measured with another {other}: run python -m training.measure.doubt")
        listed = frozenset((folder / WORDS).read_text(encoding="utf-8").split())
        counted = Counts(**found["validation"]), Counts(**found["test"])
        return Doubt(float(found["bound"]), *counted, Lexicon(listed))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise broken(file, error) from error
