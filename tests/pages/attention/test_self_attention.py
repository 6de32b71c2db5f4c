"""What self-attention says of its two hard sentences, were the weights others than they are."""

import pytest

from pages.attention.self_attention import coreference


@pytest.mark.parametrize(
    ("averages", "said"),
    [
        (((0.2, 0.1), (0.1, 0.2)), "changes over with the meaning"),
        (((0.2, 0.1), (0.2, 0.1)), "On average the street gets more **both times**"),
        (((0.1, 0.2), (0.1, 0.2)), "On average the animal gets more **both times**"),
        (((0.1, 0.2), (0.2, 0.1)), "the wrong way round"),
    ],
)
def test_the_verdict_follows_the_numbers(averages: tuple[tuple[float, float], ...], said: str) -> None:
    assert said in coreference.verdict(averages)
