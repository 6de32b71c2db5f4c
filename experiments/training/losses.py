"""What training makes small, for one sentence: the loss of each right token, plain and with label smoothing."""

from dataclasses import replace

import numpy as np

from model.anatomy.structure import Made
from model.files.loaded_model import Array
from model.trace import Trace

LOSSES, SMOOTHED = "losses", "smoothed_losses"


def with_losses(read: Trace, label_smoothing: float = 0.0) -> Trace:
    """The trace with two more tensors (T,1), in nats a token: the cross-entropy of its labels, and the smoothed one.

    Source: Szegedy et al. 2016, §7: the right token counts 1 − ε, and ε is shared by all V tokens alike
    """
    labels = tuple(float(id) for id in read.label_ids)
    axes = ("labels", "one")
    made = {
        LOSSES: Made("cross_entropy", ("logits",), (), axes, labels),
        SMOOTHED: Made("smoothed_cross_entropy", ("logits",), (), axes, (label_smoothing, *labels)),
    }
    costs = costs_of_all(read.tensors["logits"])
    plain = costs[np.arange(len(labels)), list(read.label_ids)]
    smoothed = (1 - label_smoothing) * plain + label_smoothing * costs.mean(1)
    anatomy = replace(read.model.anatomy, tensors={**read.model.anatomy.tensors, **made})
    tensors = {**read.tensors, LOSSES: plain[:, None], SMOOTHED: smoothed[:, None]}
    return replace(read, model=replace(read.model, anatomy=anatomy), tensors=tensors)


def costs_of_all(logits: Array) -> np.ndarray:
    """−ln P of every token in every row (T,V), in float64."""
    wide = logits.astype(np.float64)
    shifted = wide - wide.max(1, keepdims=True)
    return np.log(np.exp(shifted).sum(1, keepdims=True)) - shifted
