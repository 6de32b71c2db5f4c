"""The small translators that were trained alike, compared: what was measured of each, and what is chance.

`training.publish_siblings` writes the figures. A sibling that does not come with the app has no row.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model import checkpoint
from model.loaded import MODELS, sibling_names

METRICS, SPEED = "metrics.json", "speed.json"
PLAIN = "plain"  # how the names of those begin that differ in their random numbers alone

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
    "plain-1": "the parts of 2017, first seed",
    "plain-2": "the parts of 2017, second seed",
    "plain-3": "the parts of 2017, third seed",
}


@dataclass(frozen=True)
class Sibling:
    """What was measured of one of them.

    loss: on the validation pairs, in nats a token; bleu, chrf: of its greedy translations of the test sentences
    longer: loss at positions of texts that are longer than any in training, by span like "65–96"; None where it has no
            positions so far; speed: tokens written a second, over those of the first plain one; None if not measured
    """

    name: str
    loss: float
    bleu: float
    chrf: float
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
    speeds = _read(root / SPEED).get("ratios", {}) if (root / SPEED).exists() else {}
    names = [name for name in sibling_names(root) if (root / name / METRICS).exists()]
    return tuple(_sibling(name, root / name / METRICS, speeds.get(name)) for name in names)


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(data, dict):
            raise ValueError(f"expected names with values, got {str(data)[:40]}")
    except (OSError, ValueError) as error:
        raise checkpoint.broken(path, error) from error
    return data


def _sibling(name: str, path: Path, speed: float | None) -> Sibling:
    data = _read(path)
    try:
        test = data["test"]["greedy"]
        return Sibling(
            name,
            loss=float(data["training"]["validation_loss"]),
            bleu=float(test["bleu"]),
            chrf=float(test["chrf"]),
            parameters=int(data["parameters"]),
            longer={span: None if one is None else float(one) for span, one in data["longer"]["loss"].items()},
            speed=None if speed is None else float(speed),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise checkpoint.broken(path, error) from error


@dataclass(frozen=True)
class Difference:
    """How far a value is from those of the plain siblings.

    by: from their mean; spread: the largest of theirs minus the smallest
    """

    by: float
    spread: float

    @property
    def is_noise(self) -> bool:
        """The plain ones, which differ in their random numbers alone, differ as much."""
        return abs(self.by) <= self.spread


def difference(value: float, plain: Sequence[float]) -> Difference | None:
    """From the plain ones; None where there are not two of them, so that nothing is known of the noise."""
    if len(plain) < 2:
        return None
    return Difference(value - sum(plain) / len(plain), max(plain) - min(plain))
