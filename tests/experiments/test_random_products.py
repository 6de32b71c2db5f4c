"""The spread of random products, against what the sum of independent numbers gives: √d_k."""

import math

import pytest

from experiments.attention.random_products import PAIRS, spreads
from model.families.encoder_decoder import EncoderDecoder
from model.text.tokenizer import Tokenizer
from tests.small import small_loaded


def test_the_spread_grows_with_the_root_of_the_size(model: EncoderDecoder, tokenizer: Tokenizer) -> None:
    """The standard deviation of N numbers is itself uncertain by about one part in √(2N), more where tails are long."""
    sizes = (1, 2, 7, 64, 256)
    found = spreads(small_loaded(model, tokenizer), sizes)
    assert found.tolist() == pytest.approx([math.sqrt(size) for size in sizes], rel=6 / math.sqrt(2 * PAIRS))
