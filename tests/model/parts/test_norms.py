"""Our norm against torch's."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from model.parts.norms import RMSNorm


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_rms_norm_is_torchs(size: float) -> None:
    ours, x = RMSNorm(13, 1e-5), torch.randn(2, 7, 13) * size
    nn.init.normal_(ours.weight)
    theirs = nn.RMSNorm(13, 1e-5)
    theirs.load_state_dict(ours.state_dict())
    assert_close(ours(x), theirs(x), atol=1e-6, rtol=1e-6)
    assert not ours(torch.zeros(3, 13)).any()
    by_hand = RMSNorm(2, 0.0)(torch.tensor([[3.0, 4.0]]))  # the mean of the squares is 12.5
    assert_close(by_hand, torch.tensor([[3.0, 4.0]]) / 12.5**0.5)
