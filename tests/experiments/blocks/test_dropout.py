"""Dropout as in training, and nothing of it left behind."""

import numpy as np
import pytest
import torch

from experiments.blocks.dropout import probabilities_with_dropout
from ui import engine

NAME = "plain-1@6000"


@pytest.fixture
def sentence() -> tuple[tuple[int, ...], tuple[int, ...]]:
    trace = engine.trace("The cat sleeps.", name=NAME)
    return trace.src_ids, trace.label_ids


def test_a_seed_says_which_numbers_are_dropped(sentence: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    model = engine.model(NAME)
    one, same, other = (probabilities_with_dropout(model, *sentence, seed) for seed in (1, 1, 2))
    assert (one == same).all()
    assert np.abs(one - other).max() > 0.01


def test_off_it_is_the_model_as_it_always_is(sentence: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    off = probabilities_with_dropout(engine.model(NAME), *sentence, 3, is_on=False)
    assert off == pytest.approx(engine.trace("The cat sleeps.", name=NAME).probabilities, abs=1e-6)


def test_neither_the_model_nor_torchs_random_numbers_notice(sentence: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    model, before = engine.model(NAME), torch.get_rng_state()
    probabilities_with_dropout(model, *sentence, 4)
    assert not model.model.training
    assert not any(one.training for one in model.model.modules())
    assert torch.equal(before, torch.get_rng_state())


def test_on_average_the_logits_hardly_move(sentence: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """What is kept is divided by 1 − rate: the mean over many draws is near the probabilities without dropout."""
    model = engine.model(NAME)
    off = probabilities_with_dropout(model, *sentence, 0, is_on=False)
    mean = np.mean([probabilities_with_dropout(model, *sentence, seed) for seed in range(40)], axis=0)
    assert np.abs(mean - off).mean() < 0.15
