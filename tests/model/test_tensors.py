"""Every tensor of a translation against the oracle's own pass; what lessons show starts from these."""

import numpy as np
import pytest

from tests.oracle.passes.forward import Forward, source_ids, weights
from ui import engine

SENTENCES = (
    "I ate an apple",
    "Go",  # one token
    "The animal didn't cross the street because it was too wide.",
    "The black cat fights the white cat.",
    "Zoë und Jürgen mögen süße Äpfel aus Österreich.",
    "I like dogs 🐶 and pizza 🍕.",
    "ฉันชอบสุนัข",
    "My neighbour's cat sleeps on the sofa all day long. " * 12,  # more than the model takes
    "<b>$x_1$</b> ‘curly’ *stars* | 3 : 4",
    "We sat on the bank of the river.",
)


@pytest.mark.parametrize("sentence", SENTENCES, ids=range(len(SENTENCES)))
def test_every_tensor_of_a_sentence(sentence: str) -> None:
    trace = engine.trace(sentence)
    assert [token.id for token in trace.src] == source_ids(sentence)
    oracle = Forward(source_ids(sentence), [token.id for token in trace.labels])
    assert oracle.is_greedy()
    for name, tensor in trace.tensors.items():
        if not name.endswith("mask"):
            true = oracle[name]
            assert tensor.shape == true.shape, name
            assert np.array_equal(np.isfinite(tensor), np.isfinite(true)), name
            assert np.allclose(tensor, true, atol=2e-4, rtol=2e-4), name


def test_the_weights_that_the_app_shows_are_the_shipped_ones() -> None:
    shown = engine.model().weights
    assert shown.keys() == weights().keys()
    for name, true in weights().items():
        assert np.array_equal(shown[name], true), name
