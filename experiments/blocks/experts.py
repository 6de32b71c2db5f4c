"""Whom the pieces ask in a model with experts: of one text, and as measured on many."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from experiments.family.language_models import published
from model.files.checkpoint import broken
from model.files.loaded_model import MODELS, Array, LoadedModel
from model.parts.experts import MixtureOfExperts
from model.trace import Trace

FILE = "routing.json"  # in the model's folder, written by training.measure.experts


@dataclass(frozen=True)
class Routing:
    """Of one layer, over test sentences.

    work: each expert's part of all asking, adding up to 1
    bits: of the choice of an expert, and how many of them are known from how common a piece is (`common`) and, in the
          encoder, from its word class (`classes`), and from the word class of some other piece (`shuffled`)
    """

    work: tuple[float, ...]
    bits: float
    common: float
    classes: float | None = None
    shuffled: float | None = None

    @property
    def busiest(self) -> float:
        """How many times its even share the busiest expert does."""
        return max(self.work) * len(self.work)


@dataclass(frozen=True)
class Measured:
    """pairs, sentences: how many were read, and how many with word classes; layers: by path of their network"""

    pairs: int
    sentences: int
    layers: Mapping[str, Routing]


def networks(loaded: LoadedModel) -> tuple[str, ...]:
    """Paths of the networks that have experts, as those of a sub-layer."""
    return tuple(name.removesuffix(".gates") for name in loaded.anatomy.tensors if name.endswith(".gates"))


def measured(name: str) -> Measured:
    """Raises: CheckpointError, naming the file and the repair"""
    data = published(name, FILE)
    try:
        layers = {at: Routing(**{**one, "work": tuple(one["work"])}) for at, one in data["layers"].items()}
        return Measured(int(data["pairs"]), int(data["sentences"]), layers)
    except (ValueError, KeyError, TypeError) as error:
        raise broken(MODELS / name / FILE, error) from error


def gates(trace: Trace, network: str) -> Array:
    """(T,E): what each row gives an expert that it asks; 0 for the others."""
    return trace.tensors[f"{network}.gates"]


def parameters(loaded: LoadedModel) -> tuple[int, int]:
    """How many a model stores, and how many work for one piece."""
    stored, n_experts = loaded.n_parameters, loaded.config.n_experts
    asked = next(module.asked for module in loaded.model.modules() if isinstance(module, MixtureOfExperts))
    experts = sum(one.size for name, one in loaded.weights.items() if ".experts." in name)
    return stored, stored - experts * (n_experts - asked) // n_experts


def information(asked: np.ndarray, classes: np.ndarray) -> float:
    """How many bits of whom a piece asks are known from its class (mutual information).

    Args: asked, classes (N), whole numbers from 0
    """
    counts = np.zeros((asked.max() + 1, classes.max() + 1))
    np.add.at(counts, (asked, classes), 1)
    return entropy(counts.sum(1)) + entropy(counts.sum(0)) - entropy(counts)


def entropy(counts: np.ndarray) -> float:
    """In bits."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
