"""The loss of each token of a sentence, against torch's own."""

import pytest
import torch

from experiments.training.losses import LOSSES, SMOOTHED, costs_of_all, with_losses
from ui import engine


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_losses_are_torchs_cross_entropy(smoothing: float) -> None:
    trace = engine.trace("I ate an apple")
    read = with_losses(trace, smoothing)
    logits, labels = torch.tensor(trace.tensors["logits"]).double(), torch.tensor(trace.label_ids)
    for name, epsilon in ((LOSSES, 0.0), (SMOOTHED, smoothing)):
        losses = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=epsilon, reduction="none")
        assert read.tensors[name][:, 0] == pytest.approx(losses.numpy(), rel=1e-9)


def test_the_trace_itself_stays_as_it_was() -> None:
    trace = engine.trace("I ate an apple")
    read = with_losses(trace, 0.1)
    assert LOSSES not in trace.tensors
    assert LOSSES not in trace.model.anatomy.tensors
    assert read.tensors["logits"] is trace.tensors["logits"]


def test_costs_stay_finite_where_logits_are_large() -> None:
    costs = costs_of_all(torch.tensor([[1e4, 0.0, -1e4]]).numpy())
    assert costs.tolist() == [[0, 1e4, 2e4]]
