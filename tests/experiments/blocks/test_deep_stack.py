"""The deep stack: what the lesson says of it. Its numbers are claimed by the oracle."""

import pytest

from experiments.blocks.deep_stack import JOINTS, MAX_DEPTH, deep_run


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(9))
def test_what_the_lesson_says_holds_for_every_draw(seed: int) -> None:
    runs = {joint: deep_run(joint, MAX_DEPTH, seed) for joint in JOINTS}
    assert 0.01 < runs["Add & Norm"].gradients[0] < 100
    assert runs["neither"].gradients[0] < 1e-5
    assert runs["Add alone"].gradients[0] > 1e4
    assert runs["Norm alone"].alike[3] > 0.95
    assert runs["Add & Norm"].alike[3] < 0.8
