"""A model with linear attention: its recurrence against the square of all pairs, and what it keeps."""

import numpy as np
import pytest

from experiments.attention.two_ways import as_matrix, read_two_ways
from experiments.family.language_models import read_text
from tests.family import small

TEXT = "The cat sat on the mat."


def test_both_ways_return_the_same_and_the_state_does_not_grow() -> None:
    loaded = small("gpt-linear")
    short, long = read_two_ways(loaded, TEXT), read_two_ways(loaded, f"{TEXT} {TEXT}")
    config = loaded.config
    assert short.kept == long.kept == config.n_layers * config.n_heads * (config.d_k**2 + config.d_k)
    assert long.pieces == 2 * short.pieces - 1
    assert len(short.apart) == config.n_layers
    assert 0 < max(*short.apart, *long.apart) < 1e-5


def test_the_perplexity_is_that_of_its_losses_but_the_last() -> None:
    loaded = small("gpt-linear")
    losses = read_text(loaded, TEXT).tensors["losses"][:-1]
    assert read_two_ways(loaded, TEXT).perplexity == pytest.approx(float(np.exp(losses.mean())))


def test_a_recurrence_that_goes_wrong_is_seen() -> None:
    """What is compared is computed from queries, keys and values alone, not from the states."""
    reading = read_text(small("gpt-linear"), TEXT)
    path = "decoder.layers.0.self_attn"
    heads = as_matrix(reading, path)
    assert heads.shape == reading.tensors[f"{path}.heads"].shape
    assert abs(heads - reading.tensors[f"{path}.v"]).max() > 0.1
