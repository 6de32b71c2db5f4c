"""Bits for each byte, and the published figures of language models."""

import math

import numpy as np
import pytest

from experiments.family.language_models import bits_per_byte, published
from model.files.checkpoint import CheckpointError


def test_bits_per_byte_by_hand() -> None:
    assert bits_per_byte(np.array([math.log(2), 3 * math.log(2)]), "é!") == pytest.approx(4 / 3)


def test_figures_that_are_missing_are_named() -> None:
    with pytest.raises(CheckpointError, match=r"nobody.metrics\.json"):
        published("nobody")
