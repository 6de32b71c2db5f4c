"""What size buys: a line through the losses of GPTs of several sizes, and a task told in the text alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.family.fill_in import left_alone
from experiments.family.language_models import published
from model.config import NARROWER, narrow
from model.files.checkpoint import PROJECT, read_figures
from model.files.loaded_model import LoadedModel
from model.trace import most_tokens

KEPT = PROJECT / "assets" / "labelled" / "sizes.json"  # the figures of `training.measure.sizes`
SIZES = (*map(narrow, NARROWER), "gpt-mini")  # alike but for their width
VERDICTS = (" good", " bad")  # one piece each
EXAMPLES = (
    ("A warm and funny film with a clever story.", 0),
    ("It is dull from the first scene to the last.", 1),
    ("The actors are wonderful, and so is the music.", 0),
    ("A waste of time, with a plot that makes no sense.", 1),
)  # a text, and which of the verdicts fits it

Ids = tuple[int, ...]


@dataclass(frozen=True)
class PowerLaw:
    """loss = e^start · N^slope, a line where both axes are logarithms. fit: R² there"""

    slope: float
    start: float
    fit: float

    def at(self, n: float) -> float:
        return float(np.exp(self.start + self.slope * np.log(n)))


def power_law(numbers: Sequence[float], losses: Sequence[float]) -> PowerLaw:
    """The line that least squares draw through the logarithms of sizes and losses.

    Source: Kaplan et al. 2020, §1.2, Eq. 1.1. Differs: all parameters count, with the embeddings; all models took the
            same steps
    """
    x, y = np.log(np.asarray(numbers, dtype=float)), np.log(np.asarray(losses, dtype=float))
    slope, start = np.polyfit(x, y, 1)
    left = y - (start + slope * x)
    return PowerLaw(float(slope), float(start), float(1 - (left**2).sum() / ((y - y.mean()) ** 2).sum()))


def numbers_of(name: str) -> int:
    """How many numbers a model learned. Raises: CheckpointError"""
    return int(published(name)["parameters"])


def loss_of(name: str) -> float:
    """On texts that it did not learn from, in nats a piece. Raises: CheckpointError"""
    return float(published(name)["training"]["validation_loss"])


def law(*names: str) -> PowerLaw:
    """The line through the losses of some of the sizes."""
    return power_law([numbers_of(name) for name in names], [loss_of(name) for name in names])


def prompt(text: str, n_examples: int) -> str:
    """A text that asks for a verdict on another, after so many examples with theirs.

    A full stop ends the text if no mark does.
    """
    told = [f"{one} This is{VERDICTS[right]}." for one, right in EXAMPLES[:n_examples]]
    end = "" if text.rstrip().endswith((".", "!", "?")) else "."
    return " ".join([*told, f"{text}{end} This is"])


def verdict_chances(loaded: LoadedModel, text: str, n_examples: int) -> tuple[float, float]:
    """How likely a decoder alone finds each of the VERDICTS behind a prompt, of which it reads as much of the end as
    it can.

    Source: Brown et al. 2020 (GPT-3), §2: zero-, one- and few-shot
    """
    ids = loaded.tokenizer.encode(prompt(text, n_examples))[-most_tokens(loaded) :]
    said = left_alone(loaded, tuple(ids))
    good, bad = (float(said[loaded.tokenizer.encode(one.strip())[0]]) for one in VERDICTS)
    return good, bad


def size_figures() -> dict[str, Any]:
    """The line of all sizes, and how often each tells a review right behind 0 to 4 examples. Raises: CheckpointError"""
    return read_figures(KEPT)
