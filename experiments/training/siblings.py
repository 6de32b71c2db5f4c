"""The small translators of one recipe, compared: what was measured of each, and what is chance.

`training.publish.siblings` writes the figures. A sibling that does not come with the app has no row.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.files import checkpoint
from model.files.loaded_model import MODELS, sibling_names

METRICS, SPEED = "metrics.json", "speed.json"
PLAIN = "plain"  # how the names of those begin that differ in their random numbers alone
T_95 = (12.706, 4.303, 3.182, 2.776, 2.571)  # by degrees of freedom, from 1; of more the last is a little too large

# In which part one differs, by what its name says.
DIFFERS = {
    "positions-learned": "a learned vector for each position",
    "positions-relative": "relative positions, as in T5",
    "positions-rotary": "rotary positions",
    "positions-alibi": "ALiBi in place of positions",
    "positions-none": "no positions",
    "norm-place-pre": "a norm before each sub-layer",
    "norm-place-sandwich": "a norm before and after each sub-layer",
    "norm-place-deep": "DeepNorm",
    "norm-rms": "RMSNorm",
    "activation-gelu": "GELU",
    "activation-gelu-tanh": "GELU, approximated with tanh",
    "activation-silu": "Swish (SiLU)",
    "activation-swiglu": "SwiGLU",
    "activation-geglu": "GEGLU",
    "attention-grouped-query": "two heads share keys and values (GQA)",
    "attention-multi-query": "all heads share keys and values (MQA)",
    "attention-latent": "keys and values from one small row (MLA)",
    "experts-balanced": "four experts, one a piece, balanced",
    "experts-free": "four experts, one a piece, not balanced",
    "experts-two": "four experts of half size, two a piece, balanced",
    "plain-1": "the parts of 2017, first seed",
    "plain-2": "the parts of 2017, second seed",
    "plain-3": "the parts of 2017, third seed",
}


@dataclass(frozen=True)
class Sibling:
    """What was measured of one of them.

    loss: on the validation pairs, in nats a token
    bleu, chrf: of its greedy translations of `sentences` test sentences
    longer: loss at positions of texts that are longer than any in training, by span like "65–96"; None where it has no
            positions so far; speed: tokens written a second, over those of the first plain one; None if not measured
    """

    name: str
    loss: float
    bleu: float
    chrf: float
    sentences: int
    parameters: int
    longer: Mapping[str, float | None]
    speed: float | None

    @property
    def is_plain(self) -> bool:
        return self.name.startswith(PLAIN)


def load_siblings(root: Path = MODELS) -> tuple[Sibling, ...]:
    """All that come with the app and have figures, by name.

    Raises: CheckpointError, naming the file and the repair
    """
    speeds = checkpoint.read_figures(root / SPEED).get("ratios", {}) if (root / SPEED).exists() else {}
    names = [name for name in sibling_names(root) if (root / name / METRICS).exists()]
    return tuple(_sibling(name, root / name / METRICS, speeds.get(name)) for name in names)


def _sibling(name: str, path: Path, speed: float | None) -> Sibling:
    data = checkpoint.read_figures(path)
    try:
        test, longer = data["test"]["greedy"], data["longer"]["loss"].items()
        return Sibling(
            name,
            loss=float(data["training"]["validation_loss"]),
            bleu=float(test["bleu"]),
            chrf=float(test["chrf"]),
            sentences=int(test["sentences"]),
            parameters=int(data["parameters"]),
            longer={span: None if loss is None else float(loss) for span, loss in longer},
            speed=None if speed is None else float(speed),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise checkpoint.broken(path, error) from error


def of_part(siblings: Sequence[Sibling], part: str) -> tuple[Sibling, ...]:
    """Those that differ in a part, as their names begin ("" for all), and the plain ones; the lowest loss first."""
    shown = (one for one in siblings if one.name.startswith(part) or one.is_plain)
    return tuple(sorted(shown, key=lambda one: (one.loss, one.name)))


@dataclass(frozen=True)
class Noise:
    """What chance does to a measurement: that of the plain siblings, which differ in their random numbers alone.

    mean: of theirs; spread: the largest of theirs minus the smallest
    t: how many standard deviations 95% of all lie within, as far as so few can tell
    margin: how far from the mean one more of their kind would lie, 95 times in 100
    """

    mean: float
    spread: float
    t: float
    margin: float

    def explains(self, value: float) -> bool:
        """Whether a value is no further from the mean of the plain ones than one more of them might be."""
        return abs(value - self.mean) <= self.margin


def noise(plain: Sequence[float]) -> Noise | None:
    """Of what was measured of the plain siblings; None of fewer than two, which say nothing about chance.

    Source: the prediction interval of one further observation, from Student's t with N - 1 degrees of freedom
    """
    n = len(plain)
    if n < 2:
        return None
    t = T_95[min(n - 1, len(T_95)) - 1]
    margin = t * statistics.stdev(plain) * math.sqrt(1 + 1 / n)
    return Noise(statistics.fmean(plain), max(plain) - min(plain), t, margin)
