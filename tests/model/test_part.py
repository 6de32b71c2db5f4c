"""A part computes what torch's own module does."""

import torch
from torch import Tensor, nn
from torch.testing import assert_close

from model.parts.base_module import Dropout, Part


class Scaled(Part):
    def forward(self, x: Tensor, by: float = 2.0) -> Tensor:
        return x * by


def test_a_call_is_forward_with_all_that_it_is_given() -> None:
    x = torch.arange(5.0)
    assert torch.equal(Scaled()(x), 2 * x)
    assert torch.equal(Scaled()(x, by=3.0), 3 * x)


def test_dropout_is_torchs_in_training_and_nothing_otherwise() -> None:
    ours, theirs, x = Dropout(0.3), nn.Dropout(0.3), torch.ones(7, 11)
    torch.manual_seed(5)
    dropped = ours(x)
    torch.manual_seed(5)
    assert_close(dropped, theirs(x))
    assert 0 < (dropped == 0).sum() < dropped.numel()
    assert ours.eval()(x) is x
