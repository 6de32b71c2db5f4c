"""A part computes what torch's own module does."""

import copy

import pytest
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


@pytest.mark.parametrize("hook", ["forward_hook", "forward_pre_hook", "full_backward_hook", "full_backward_pre_hook"])
def test_a_hook_that_would_never_be_called_is_refused(hook: str) -> None:
    with pytest.raises(TypeError, match=r"^Scaled calls no hooks: hand a tap to its forward"):
        getattr(Scaled(), f"register_{hook}")(print)


def test_what_is_exchanged_or_taken_away_is_not_found_again() -> None:
    """A weight and a part are found where torch keeps them and as an attribute: both are always the same object."""
    part = Scaled()
    part.inner, part.weight = nn.Linear(2, 3), nn.Parameter(torch.zeros(5))
    part.register_parameter("bias", None)
    assert part.bias is None
    part.inner, part.weight = nn.Linear(3, 2), nn.Parameter(torch.ones(5))
    for one in (part, copy.deepcopy(part).double(), copy.deepcopy(part)):
        assert dict(one.named_parameters())["weight"] is one.weight
        assert dict(one.named_modules())["inner"] is one.inner
        assert one.weight.sum() == 5
    part.set_submodule("inner", nn.Linear(7, 2))
    assert part.inner.in_features == 7
    del part.inner, part.weight
    assert not hasattr(part, "inner")
    assert not hasattr(part, "weight")


def test_dropout_is_torchs_in_training_and_nothing_otherwise() -> None:
    ours, theirs, x = Dropout(0.3), nn.Dropout(0.3), torch.ones(7, 11)
    torch.manual_seed(5)
    dropped = ours(x)
    torch.manual_seed(5)
    assert_close(dropped, theirs(x))
    assert 0 < (dropped == 0).sum() < dropped.numel()
    assert ours.eval()(x) is x
