"""The log of a training that a model brings along: what `training.siblings` wrote while it learned."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.files.checkpoint import broken
from model.files.loaded_model import MODELS

FILE = "log.json"


@dataclass(frozen=True)
class TrainingLog:
    """Numbers of a training at some of its steps.

    steps, losses, gradient_norms, learning_rates: N each; the loss is that of one batch, before the update
    validation_steps, validation_losses: M each; of the running average of the weights, without smoothing and dropout
    """

    steps: tuple[int, ...]
    losses: tuple[float, ...]
    gradient_norms: tuple[float, ...]
    learning_rates: tuple[float, ...]
    validation_steps: tuple[int, ...]
    validation_losses: tuple[float, ...]


def load_log(name: str, root: Path = MODELS) -> TrainingLog:
    """The log of a model. Raises: CheckpointError, naming the file and the repair, if it is missing or damaged"""
    path = root / name / FILE
    try:
        data: dict[str, list[dict[str, Any]]] = json.loads(path.read_text(encoding="utf-8"))
        rows, validation = data["steps"], data["validation"]
        return TrainingLog(
            steps=tuple(int(row["step"]) for row in rows),
            losses=tuple(float(row["loss"]) for row in rows),
            gradient_norms=tuple(float(row["gradient_norm"]) for row in rows),
            learning_rates=tuple(float(row["learning_rate"]) for row in rows),
            validation_steps=tuple(int(row["step"]) for row in validation),
            validation_losses=tuple(float(row["loss"]) for row in validation),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise broken(path, error) from error
