"""A deep stack with its norms at four places: what was proved of it. Its numbers are claimed by the oracle."""

import pytest

from experiments.blocks.deep_stack import MAX_DEPTH
from experiments.blocks.norm_places import place_run


def test_the_last_gradient_shrinks_with_depth_in_pre_norm_but_not_in_post_norm() -> None:
    """Xiong et al. 2020, Theorem 1: at the last layer O(1/√L) in pre-norm; in post-norm it does not depend on L."""
    last = {place: [place_run(place, depth, 1e-4).gradients[-1] for depth in (4, 24)] for place in ("pre", "post")}
    assert 0.3 < last["pre"][1] / last["pre"][0] < 0.6  # 1/√6 = 0.41
    assert 0.7 < last["post"][1] / last["post"][0] < 1.4


@pytest.mark.parametrize("depth", [0, MAX_DEPTH + 1])
def test_a_depth_that_cannot_be_is_refused(depth: int) -> None:
    with pytest.raises(ValueError, match=f"depth={depth} is not between 1 and {MAX_DEPTH}"):
        place_run("post", depth, 1e-4)
