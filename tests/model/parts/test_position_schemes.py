"""The two schemes that add to the scores for distance, T5's and ALiBi, beside the code that was published."""

import pytest
import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

from model.parts.positions import alibi_slopes, relative_bucket


@pytest.mark.parametrize("causal", [False, True])
def test_buckets_are_those_of_t5(causal: bool) -> None:
    offset = torch.arange(-300, 301)
    theirs = T5Attention._relative_position_bucket(offset, not causal, num_buckets=32, max_distance=128)
    assert relative_bucket(offset, causal).tolist() == theirs.tolist()


@pytest.mark.parametrize("n_heads", [1, 2, 3, 4, 7, 8, 12])
def test_slopes_are_those_of_bloom(n_heads: int) -> None:
    theirs = build_alibi_tensor(torch.ones(1, 5), n_heads, torch.float32)  # slope · position
    assert alibi_slopes(n_heads) == pytest.approx(theirs[:, 0, 1].tolist(), rel=1e-6)
