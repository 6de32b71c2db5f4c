"""A deep stack with its norms at four places, against a pass forward and back by hand, and what was proved of it."""

import numpy as np
import pytest

from experiments.blocks.deep_stack import MAX_DEPTH
from experiments.blocks.norm_places import encoder_constants, place_run
from tests.oracle.passes import norm_places as oracle

PLACES = dict(zip(oracle.PLACES, ("post", "pre", "sandwich", "deep"), strict=True))


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize(("depth", "step", "seed"), [(1, 1e-3, 0), (5, 1e-4, 2)])
def test_gradients_and_a_step_as_by_hand(name: str, depth: int, step: float, seed: int) -> None:
    run, (gradients, moved) = place_run(PLACES[name], depth, step, seed), oracle.place_run(name, depth, step, seed)
    assert np.allclose(run.gradients, gradients, rtol=1e-5)
    assert run.moved == pytest.approx(moved, rel=1e-5)


def test_a_small_step_moves_the_output_in_proportion() -> None:
    one, two = (place_run("pre", 3, step).moved for step in (1e-8, 2e-8))
    assert two == pytest.approx(2 * one, rel=1e-4)


def test_the_last_gradient_shrinks_with_depth_in_pre_norm_but_not_in_post_norm() -> None:
    """Xiong et al. 2020, Theorem 1: at the last layer O(1/√L) in pre-norm; in post-norm it does not depend on L."""
    last = {place: [place_run(place, depth, 1e-4).gradients[-1] for depth in (4, 24)] for place in ("pre", "post")}
    assert 0.3 < last["pre"][1] / last["pre"][0] < 0.6  # 1/√6 = 0.41
    assert 0.7 < last["post"][1] / last["post"][0] < 1.4


def test_constants_for_an_encoder_alone() -> None:
    """Worked out by hand for 8 layers: α = 16^¼, β = 64^−¼."""
    alpha, beta = encoder_constants(8)
    assert alpha == pytest.approx(2)
    assert beta == pytest.approx(8**-0.5)


@pytest.mark.parametrize("depth", [0, MAX_DEPTH + 1])
def test_a_depth_that_cannot_be_is_refused(depth: int) -> None:
    with pytest.raises(ValueError, match=f"depth={depth} is not between 1 and {MAX_DEPTH}"):
        place_run("post", depth, 1e-4)
