"""The same numbers normalised per word and per feature: layer norm and batch norm, side by side."""

import torch
from torch.nn import functional

from model.files.loaded_model import Array


def per_word(rows: Array) -> Array:
    """Layer norm: each row (one word) gets mean 0 and standard deviation 1. It needs no other row.

    Args:    rows (N,D): all words of a batch, padding left out; γ = 1 and β = 0
    Source:  Ba et al. 2016
    """
    return functional.layer_norm(torch.tensor(rows), rows.shape[-1:]).numpy()


def per_word_rms(rows: Array) -> Array:
    """RMS norm: each row (one word) is divided by the root of the mean of its squares.

    Args:    rows (N,D); γ = 1
    Source:  Zhang and Sennrich 2019, Eq. 4, with the ε of `per_word`
    """
    return functional.rms_norm(torch.tensor(rows), rows.shape[-1:], eps=1e-5).numpy()


def per_feature(rows: Array) -> Array:
    """Batch norm: each column (one feature) gets mean 0 and standard deviation 1, over all words of the batch.

    Args:    rows (N,D): all words of a batch, padding left out, N > 1; γ = 1 and β = 0
    Source:  Ioffe and Szegedy 2015, as in training, without running averages
    """
    return functional.batch_norm(torch.tensor(rows), None, None, training=True).numpy()
