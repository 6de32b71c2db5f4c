"""The oracle's random weights, by what Xavier's rule promises of them."""

import math

from tests.oracle.passes.forward import config, weights
from tests.oracle.passes.untrained import random_weights


def test_the_random_weights_have_the_names_and_the_sizes_of_those_learned() -> None:
    made = random_weights(**config())
    assert {name: w.shape for name, w in made.items()} == {name: w.shape for name, w in weights().items()}


def test_a_matrix_is_uniform_up_to_xaviers_limit() -> None:
    made, (d, d_ff) = random_weights(**config()), (config()["d_model"], config()["d_ff"])
    for name, fan in (("self_attn.w_q", 2 * d), ("feed_forward.w_1", d + d_ff)):
        matrix, limit = made[f"encoder.layers.0.{name}.weight"], math.sqrt(6 / fan)
        assert 0.99 * limit < abs(matrix).max() <= limit
        assert abs(matrix.std() * math.sqrt(3) / limit - 1) < 0.02
