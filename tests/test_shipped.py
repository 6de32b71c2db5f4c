"""The model as shipped, beside a second computation from its file (tests/oracle.py)."""

import numpy as np
import pytest

from tests.oracle import Oracle
from ui import engine


@pytest.mark.parametrize("sentence", ["I ate an apple", "My neighbour's cat doesn't like the rain, does it?"])
def test_the_app_and_the_oracle_agree_on_every_head(sentence: str) -> None:
    trace, oracle = engine.trace(sentence), Oracle(sentence)
    assert [t.id for t in trace.src] == oracle.src
    assert [t.id for t in trace.labels] == oracle.labels
    assert trace.translation == oracle.translation
    for kind in ("encoder", "decoder", "cross"):
        for layer in range(3):
            for what, expected in oracle.attention(kind, layer).items():
                assert np.allclose(trace.attention(kind, layer, what), expected.numpy(), atol=1e-4), (kind, layer, what)


@pytest.mark.parametrize("sentence", ["I ate an apple", "I ate an apple."])
def test_the_standing_example_translates_correctly(sentence: str) -> None:
    assert engine.trace(sentence).translation in ("Ich habe einen Apfel gegessen.", "Ich aß einen Apfel.")
