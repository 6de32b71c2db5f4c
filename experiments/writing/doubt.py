"""Whether a translation is likely to be bad, by what the model itself shows: the probabilities of the pieces it wrote.

The bound, and how often it is right, were measured on sentences that people translated too: `training.measure.doubt`.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.attention.head_roles import fingerprint
from figures.grouping import Group, words
from model.files.checkpoint import SHIPPED, WEIGHTS, broken
from model.trace import Trace

FILE = "doubt.json"  # in a model's folder
BAD = 40.0  # chrF below which a translation is called bad


@dataclass(frozen=True)
class Counts:
    """What the bound does on sentences that people translated.

    sentences, bad: all, and those translated badly; doubted, rightly: all below the bound, and the bad ones of them
    word, words:    in how many of the doubted translations the least likely word stands in no translation by people;
                    the same share of all their words, from 0 to 1
    """

    sentences: int
    bad: int
    doubted: int
    rightly: int
    word: int
    words: float


@dataclass(frozen=True)
class Doubt:
    """bound: of `certainty`, below which a translation is doubted; validation: where it was chosen; test: checked"""

    bound: float
    validation: Counts
    test: Counts


def certainty(trace: Trace) -> float:
    """The mean probability of the pieces written, `<eos>` counted."""
    return math.fsum(trace.probabilities) / len(trace.probabilities)


def least_likely_word(trace: Trace) -> Group | None:
    """The written word with the lowest probability, the product of its pieces'; None where no word has letters."""
    written = words([token.text for token in trace.labels], [token.word for token in trace.labels])
    lettered = [word for word in written if word.label.isalpha()]
    return min(lettered, key=lambda word: math.prod(trace.probabilities[n] for n in word.pieces), default=None)


def load_doubt(folder: Path = SHIPPED) -> Doubt:
    """What was measured on the model in this folder.

    Raises: CheckpointError, naming the file and the repair, if it is missing, damaged, or of other weights
    """
    file = folder / FILE
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if found["model"]["sha256"] != fingerprint(folder / WEIGHTS):
            raise ValueError("it was measured with other weights: run python -m training.measure.doubt")
        return Doubt(float(found["bound"]), Counts(**found["validation"]), Counts(**found["test"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise broken(file, error) from error
