"""What the files of the shipped models hold, by a model's name."""

import functools
import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

MODELS = Path(__file__).parents[3] / "assets" / "models"
GPU = "TESTED_GPU"  # a setting of the tests: the name of the GPU that they were told to use


def device() -> str:
    """Where the page says that the model runs."""
    name = os.environ.get(GPU)
    return f"GPU · {name}" if name else f"CPU · {platform.machine()}"


@functools.cache
def config(name: str) -> dict[str, Any]:
    return json.loads((MODELS / name / "config.json").read_text())


@functools.cache
def everyday(name: str = "translator") -> tuple[str, ...]:
    """Sentences that show how a model does every day."""
    return tuple(json.loads((MODELS / name / "about.json").read_text(encoding="utf-8"))["everyday"])


@functools.cache
def metrics(name: str, file: str = "metrics.json") -> dict[str, Any]:
    return json.loads((MODELS / name / file).read_text(encoding="utf-8"))


@functools.cache
def weights(name: str, kind: str = "float64") -> dict[str, np.ndarray]:
    """The learned matrices. torch keeps a linear layer's W transposed, (out, in)."""
    own = {key: w.astype(kind) for key, w in load_file(MODELS / name / "model.safetensors").items()}
    if not (other := config(name).get("rest_of")):
        return own
    rest = weights(other, kind)  # of a table that is shared the own rows come last
    return rest | own | {"embedding.matrix.weight": np.concatenate([w["embedding.matrix.weight"] for w in (rest, own)])}


def n_parameters(name: str) -> int:
    return sum(w.size for w in weights(name).values())


@functools.cache
def tokenizer(name: str) -> Tokenizer:
    return Tokenizer.from_file(str(MODELS / name / "tokenizer.json"))
