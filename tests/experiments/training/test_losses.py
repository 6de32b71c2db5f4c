"""The loss of each token of a sentence, against torch's own."""

import torch

from experiments.training.losses import LOSSES, costs_of_all, with_losses
from ui import engine


def test_the_trace_itself_stays_as_it_was() -> None:
    trace = engine.trace("I ate an apple")
    read = with_losses(trace, 0.1)
    assert LOSSES not in trace.tensors
    assert LOSSES not in trace.model.anatomy.tensors
    assert read.tensors["logits"] is trace.tensors["logits"]


def test_costs_stay_finite_where_logits_are_large() -> None:
    costs = costs_of_all(torch.tensor([[1e4, 0.0, -1e4]]).numpy())
    assert costs.tolist() == [[0, 1e4, 2e4]]
