"""What transformers counts in a model exported from here and this project does not, and the other way round."""

from typing import NamedTuple

import torch

from hub.export.folder import format_of
from model.files.loaded_model import LoadedModel

STACKS = 2  # of Marian: each has a table of positions of its own, with the same sines


class Counted(NamedTuple):
    """Numbers that only one of the two counts; the library's total is ours + tables + zeros − left_out.

    tables:   of sines and cosines, which are computed and not learned
    zeros:    in biases that the library's architecture has and ours has not
    left_out: in heads of ours that the library's class for this kind of model does not have
    """

    tables: int
    zeros: int
    left_out: int


def counted(loaded: LoadedModel) -> Counted:
    """Raises: ValueError if its family has no format"""
    config, form = loaded.config, format_of(loaded.config)
    # Where all our weights are ones, what is zero in the export was added by it.
    ones = {name: torch.ones(weight.shape, dtype=torch.bool) for name, weight in loaded.weights.items()}
    exported = form.weights(ones, config)
    zeros = sum(weight.numel() for weight in exported.values() if not weight.any())
    tables = STACKS * config.max_len * config.d_model if config.positions == "sinusoidal" else 0
    left_out = sum(weight.size for name, weight in loaded.weights.items() if name.startswith(form.left_out))
    return Counted(tables, zeros, left_out)
