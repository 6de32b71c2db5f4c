"""The published figures of language models."""

import pytest

from experiments.family.language_models import published
from model.files.checkpoint import CheckpointError


def test_figures_that_are_missing_are_named() -> None:
    with pytest.raises(CheckpointError, match=r"nobody.metrics\.json"):
        published("nobody")
