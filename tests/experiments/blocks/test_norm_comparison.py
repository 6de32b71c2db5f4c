"""Layer norm and batch norm on the same rows, against NumPy."""

import numpy as np
import pytest

from experiments.blocks.norm_comparison import per_feature, per_word

ROWS = np.random.default_rng(5).normal(3, 7, size=(11, 5)).astype(np.float32)


def normal(rows: np.ndarray, axis: int) -> np.ndarray:
    return (rows - rows.mean(axis, keepdims=True)) / np.sqrt(rows.var(axis, keepdims=True) + 1e-5)


def test_per_word_and_per_feature() -> None:
    assert per_word(ROWS) == pytest.approx(normal(ROWS.astype(float), 1), abs=1e-5)
    assert per_feature(ROWS) == pytest.approx(normal(ROWS.astype(float), 0), abs=1e-5)


def test_only_batch_norm_notices_the_others() -> None:
    assert per_word(ROWS[:4]) == pytest.approx(per_word(ROWS)[:4], abs=1e-6)
    assert np.abs(per_feature(ROWS[:4]) - per_feature(ROWS)[:4]).max() > 0.1
