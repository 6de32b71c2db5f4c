"""A sentence through a model as in training: with its dropout on."""

import copy

import numpy as np
import torch

from experiments.passes import Ids
from experiments.training.losses import costs_of_all
from model.files.loaded_model import Array, LoadedModel
from model.text.tokenizer import SOS_ID


@torch.inference_mode()
def probabilities_with_dropout(loaded: LoadedModel, src: Ids, labels: Ids, seed: int, is_on: bool = True) -> Array:
    """The probability of each label (T), given those before it, while dropout sets random numbers to 0.

    Args:   src (S) ids, `<eos>` last; labels (T) ids, read by teacher forcing; seed: which numbers are set to 0
            is_on: if not, no number is
    Source: Srivastava et al. 2014; Vaswani et al. 2017, §5.4
    """
    shared = {id(one): one for one in (*loaded.model.parameters(), *loaded.model.buffers())}
    # A network of its own, with the same weights: the model itself serves others, too.
    network = copy.deepcopy(loaded.model, shared).train(is_on)
    device = loaded.device.torch
    src_ids, tgt_ids = (torch.tensor([[*ids]], device=device) for ids in (src, (SOS_ID, *labels[:-1])))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        logits = network(src_ids, tgt_ids)[0].cpu().numpy()
    return np.exp(-costs_of_all(logits)[np.arange(len(labels)), list(labels)])
