"""A language model with linear attention reads a text as a recurrence; the same numbers come from the whole square."""

import math
from dataclasses import dataclass

import torch

from experiments.family.language_models import read_text
from experiments.training.losses import LOSSES
from model.files.loaded_model import Array, LoadedModel
from model.parts.efficient_attention import causal_linear_as_matrix, exponential, features
from model.trace import Trace

LINEAR = "gpt-linear"  # the small GPT that was trained with it


@dataclass(frozen=True)
class TwoWays:
    """What a model with linear attention makes of a text.

    perplexity: of the text's pieces, without `<eos>`
    apart:      for each layer, the largest difference between what its heads return as a recurrence and as a matrix
    kept:       numbers that all layers hold after the last piece: the states and the sums of keys
    pieces:     how many it has read
    """

    perplexity: float
    apart: tuple[float, ...]
    kept: int
    pieces: int


def read_two_ways(loaded: LoadedModel, text: str) -> TwoWays:
    """Raises: KeyError if its attention keeps no state"""
    reading = read_text(loaded, text)
    paths = [attention.removesuffix(".state") for attention in reading.tensors if attention.endswith(".state")]
    apart = tuple(float(abs(as_matrix(reading, path) - reading.tensors[f"{path}.heads"]).max()) for path in paths)
    last = sum(reading.tensors[f"{path}.{name}"][:, -1].size for path in paths for name in ("state", "total"))
    losses = reading.tensors[LOSSES][:-1, 0]
    return TwoWays(math.exp(float(losses.mean())), apart, last, len(reading.tgt))


def as_matrix(reading: Trace, path: str) -> Array:
    """What the heads of one layer (H,T,d_k) return, from the queries, keys and values that it had."""
    q, k, v = (torch.tensor(reading.tensors[f"{path}.{name}"])[None] for name in "qkv")
    made_by = reading.model.anatomy.tensors[f"{path}.features_q"].operation
    phi = exponential if made_by == "exponential" else features
    return causal_linear_as_matrix(q, k, v, phi=phi)[0].numpy()
